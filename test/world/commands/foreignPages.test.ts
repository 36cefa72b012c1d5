// @shares
/**
 * Access of web pages from other origins to a server without keys. They can do nothing, unless the operator names their
 * origin, or the chain is a developer chain.
 */
import t from 'tap'
import { startDeveloper } from '../../service/developerChain.js'
import { fixtureConfig } from '../../service/fixtures.js'
import { runHere } from '../../service/program.js'
import { type Service, startService } from '../../service/service.js'
import { transports } from '../../transport/eachTransport.js'
import { refusedUpgrade, SocketClient } from '../../transport/socketClient.js'

/** A sandboxed frame and a local file have the origin `null`. */
const own = 'https://app.example'
const foreign = 'https://evil.example'
const nobody = 'null'
const call = '{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":[]}'
const resource = `/block/0x${'12'.repeat(32)}`

/** Whether a page may read the answers, for each kind of request. */
async function mayAsk({ origin }: Service, page: string): Promise<boolean[]> {
  const asked = [
    fetch(origin, {
      method: 'OPTIONS',
      headers: { origin: page, 'access-control-request-method': 'POST', connection: 'close' },
    }),
    fetch(origin, {
      method: 'POST',
      headers: { origin: page, 'content-type': 'application/json', connection: 'close' },
      body: call,
    }),
    ...['/health', '/openrpc.json', resource].map((path) =>
      fetch(origin + path, { headers: { origin: page, connection: 'close' } }),
    ),
  ]
  const answers = await Promise.all(asked)
  await Promise.all(answers.map((answer) => answer.arrayBuffer()))
  const allowed = answers.map(({ headers }) => headers.get('access-control-allow-origin'))
  const url = `${origin.replace('http', 'ws')}/ws`
  const refused = await refusedUpgrade(url, { origin: page }).catch(() => undefined)
  if (refused !== undefined) {
    t.equal(refused.status, 403)
    t.match(JSON.parse(refused.text), { error: { code: -32001, message: /--cors/ } })
  }
  return [...allowed.map((value) => value === '*' || value === page), refused === undefined]
}

const none = Array(6).fill(false)
const all = Array(6).fill(true)

for (const { name } of transports) {
  t.test(`${name}: without keys`, async (t) => {
    const flags = ['--config', fixtureConfig, '--no-auth', '--transport', name]
    const closed = await startService(flags)
    t.teardown(() => closed.stop())
    for (const page of [own, foreign, nobody]) t.strictSame(await mayAsk(closed, page), none, page)
    t.match(closed.lines.join('\n'), /--cors ORIGIN/)
    const client = await SocketClient.connect(`${closed.origin.replace('http', 'ws')}/ws`)
    t.match(await client.ask(call), /"result"/, 'whoever is no browser connects')
    client.cut()

    const open = await startService([...flags, '--cors', own, '--cors', 'https://other.example'])
    t.teardown(() => open.stop())
    t.strictSame(await mayAsk(open, own), all)
    for (const page of [foreign, nobody]) t.strictSame(await mayAsk(open, page), none, page)
    t.notMatch(open.lines.join('\n'), /--cors ORIGIN/)
  })
}

t.test('an asterisk opens it to all', async (t) => {
  const service = await startService(['--config', fixtureConfig, '--no-auth', '--cors', '*'])
  t.teardown(() => service.stop())
  for (const page of [own, foreign, nobody]) t.strictSame(await mayAsk(service, page), all, page)
})

t.test('a developer chain lets pages of this machine call, and no others', async (t) => {
  const { service } = await startDeveloper(t)
  const local = ['http://localhost:3000', 'https://app.localhost', 'http://127.0.0.1:5173', 'http://[::1]']
  for (const page of local) t.strictSame(await mayAsk(service, page), all, page)
  const others = [
    'http://localhost.example',
    'http://127.0.0.1.example',
    'http://1.127.0.0',
    'http://localhost:1/x',
  ]
  for (const page of [foreign, nobody, ...others]) t.strictSame(await mayAsk(service, page), none, page)
  t.match(service.lines.join('\n'), /Only web pages of this machine get answers; --cors ORIGIN/)
})

t.test('what is no origin is refused', async (t) => {
  const { status, err } = await runHere(['config', '--cors', 'https://app.example/'])
  t.equal(status, 2)
  t.match(err, /--cors/)
  t.match(err, /expected an origin such as "https:\/\/example.org", "localhost", or "\*"/)
})
