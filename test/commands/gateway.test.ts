/** A gateway before an archive of the same chain, as processes. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { readQuestions } from '../rpc/readQuestions.js'
import { fixtureDir, recordings, type Service, startService, withoutRecordings } from '../service.js'

const archive = await startService()
t.teardown(() => archive.stop())

/** Methods that answer from what one process or its configuration has. */
const ownMethods: readonly string[] = [
  'rpc_discover',
  'eth_capabilities',
  'tidegate_getHeaderProof',
  'tidegate_readVariable',
]

/** A gateway to an archive. */
function startGateway(data: string, { origin: upstream }: Service): Promise<Service> {
  return startService(['--network', 'main', '--upstream', upstream, '--data', data, '--no-auth'])
}

function isWrong(answer: string): boolean {
  return answer.includes('internal error')
}

t.test('every read is answered as the archive answers it, with upstreams and without', async (t) => {
  const data = t.testdir()
  const gateway = await startGateway(data, archive)
  t.teardown(() => gateway.stop())
  const asked: { readonly body: string; readonly expected: string }[] = []
  for (const [method, list] of Object.entries(readQuestions)) {
    if (ownMethods.includes(method)) continue
    for (const params of list ?? []) {
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
      const { text: expected } = await archive.post('/', body)
      const { text } = await gateway.post('/', body)
      if (text === expected && !isWrong(text)) t.pass()
      else t.equal(text, expected, body)
      asked.push({ body, expected })
    }
  }
  t.equal(gateway.said.err.includes('internal error'), false)
})

t.test('recorded exchanges come out as from an archive', { skip: withoutRecordings }, async (t) => {
  const recorded = await startService(['--data', fixtureDir, '--network', 'recorded', '--no-auth'])
  t.teardown(() => recorded.stop())
  const gateway = await startGateway(t.testdir(), recorded)
  t.teardown(() => gateway.stop())
  for (const folder of readdirSync(recordings, { withFileTypes: true })) {
    if (!folder.isDirectory()) continue
    for (const file of readdirSync(join(recordings, folder.name))) {
      const request = /^>> (.*)$/m.exec(readFileSync(join(recordings, folder.name, file), 'utf8'))?.[1]
      if (request === undefined || ownMethods.includes(folder.name)) continue
      const { text: expected } = await recorded.post('/', request)
      const { text } = await gateway.post('/', request)
      if (text === expected) t.pass()
      else t.equal(text, expected, `${folder.name}/${file}`)
    }
  }
})
