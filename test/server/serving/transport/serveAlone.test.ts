/** A server that serves its own program alone before it listens. */
import { ownCallerId } from '../../../../src/serving/rpc/contexts/requestContext.js'
import type { RequestTracer } from '../../../../src/serving/transport/requestLog.js'
import { test } from '../../../transport/eachTransport.js'
import { RawClient, rawPost } from '../../../unit/serving/transport/rawClient.js'
import { call, createTestServer, echo, echoed, goodKey } from '../../../unit/serving/transport/testServer.js'

async function post(port: number, path: string, body = echo) {
  const client = await RawClient.connect(port)
  client.write(rawPost(path, body))
  const answer = await client.read()
  client.socket.destroy()
  return answer
}

/** A log and a tracer of all requests, which record their calls. */
function watching() {
  const noted: unknown[] = []
  const tracer: RequestTracer = {
    begin: () => ({ traceId: '1'.repeat(32), spanId: '2'.repeat(16), parentId: undefined }),
    end: (_context, line) => noted.push(line),
  }
  const settings = { sample: 1, isAll: true }
  const write = (line: unknown) => noted.push(line)
  return { noted, requestLog: { methods: new Set(['test_echo']), settings, write, tracer } }
}

for (const noAuth of [false, true]) {
  const title = noAuth ? 'without keys' : 'with keys'
  test(`${title}: only requests with the key of the work are admitted, as the server's own`, async (t) => {
    const { noted, requestLog } = watching()
    const spent: number[] = []
    const anonymousAllowance = {
      unitsPerSecond: 1,
      charge: (units: number) => spent.push(units) && 0,
      debit: (units: number) => void spent.push(units),
    }
    const created = createTestServer(t, {}, { requestLog, noAuth, anonymousAllowance })
    const { server, rejections } = created
    let ownPath = ''
    let ownPort = 0
    await server.serveAlone(async ({ port, key }) => {
      ownPath = `/other/v3/${key}`
      ownPort = port
      t.equal((await post(port, ownPath))?.body, echoed)
      const who = JSON.parse((await post(port, ownPath, call('test_keyId')))?.body ?? '')
      t.equal(who.result, ownCallerId)
      t.equal(rejections.length, 0)
      for (const path of [`/v3/${goodKey}`, '/', '/v3/', `${ownPath}0`, ownPath.slice(0, -1)]) {
        const answer = await post(port, path)
        t.equal(answer?.status, 503, path)
        t.match(answer?.body, 'the server is starting')
      }
      t.equal(rejections.length, 5)
    })
    t.strictSame(noted, [], 'neither logged nor traced')
    t.strictSame(spent, [], 'nobody paid')
    await t.rejects(RawClient.connect(ownPort), 'its port is closed')

    const port = await server.listen()
    t.teardown(() => server.close())
    t.equal((await post(port, `/v3/${goodKey}`))?.body, echoed)
    t.ok(noted.length > 0, 'later requests are recorded')
    const status = (await post(port, ownPath))?.status
    t.equal(status, noAuth ? 200 : 401, 'the key of the work is none of a client')
  })
}

test('work that fails rejects, and the server listens all the same', async (t) => {
  const { server } = createTestServer(t)
  const failing = server.serveAlone(async ({ port, key }) => {
    t.equal((await post(port, `/v3/${key}`))?.body, echoed)
    throw new Error('on purpose')
  })
  await t.rejects(failing, { message: 'on purpose' })
  const port = await server.listen()
  t.teardown(() => server.close())
  t.equal((await post(port, `/v3/${goodKey}`))?.body, echoed)
})
