// @shares
/** A server that warms up before it listens: its calls to itself show in no count. */
import { readFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import { waitFor } from '../../library/until.js'
import { adminOf } from '../../service/adminClient.js'
import { startKeyedDemo } from '../../service/keyedDemo.js'
import { writeConfig } from '../../service/program.js'
import { serveDemo } from '../../service/servedDemo.js'
import { type Service, startService } from '../../service/service.js'
import { startCollector } from '../../unit/serving/traces/collector.js'
import { forwardTo, WeatherNode } from '../../upstream/weatherNode.js'

/** A time in which a busy machine gives some answers. An idle one needs a tenth for all. */
const limits = { warmUpMs: 10_000 }
const balance = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'eth_getBalance',
  params: [`0x${'0'.repeat(40)}`, 'latest'],
})

interface LogLine {
  readonly msg?: string
  readonly answers?: number
  readonly method?: string
}

function logOf({ said }: Service): LogLine[] {
  const lines = said.err.split('\n').filter((line) => line.startsWith('{') && line.endsWith('}'))
  return lines.map((line) => JSON.parse(line))
}

/** The numbers of answers that edges gave themselves, once all have logged them. */
async function warmUpsOf(t: Test, service: Service, edges: number): Promise<void> {
  const answers = await waitFor('the log of the warm-up', () => {
    const found = logOf(service).filter(({ msg }) => msg === 'warmed up')
    return found.length === edges && found.map(({ answers }) => answers ?? 0)
  })
  t.ok(
    answers.every((count) => count > 0),
    `answers: ${answers.join(', ')}`,
  )
}

for (const edges of process.platform === 'linux' ? [1, 2] : [1]) {
  t.test(`${edges} edges: users find no trace of it in counts, keys, logs and traces`, async (t) => {
    const collector = await startCollector(t)
    const { service, keys } = await startKeyedDemo(t, ['alice'], {
      edges,
      limits: { ...limits, keyUnitsPerSecond: 10_000 },
      logLevel: 'debug',
      logSample: 1,
      traces: { endpoint: collector.endpoint, sample: 1 },
    })
    t.teardown(() => service.stop())
    await warmUpsOf(t, service, edges)
    const { spawnargs } = service.process
    const { dataDir } = JSON.parse(
      readFileSync(spawnargs[spawnargs.indexOf('--config') + 1] as string, 'utf8'),
    )
    const admin = await adminOf(service, dataDir)
    const counted = async (name: RegExp) =>
      [...(await admin.metrics())].filter(([metric, value]) => name.test(metric) && value !== 0)
    const counters = /^tidegate_(rpc_|rejections|key_|cache_|pool_(finished|failed|refused|cpu))/
    t.strictSame(await counted(counters), [])
    const lists = JSON.parse((await admin.get('/api/state')).text)
    for (const name of ['topKeys', 'refusedKeys', 'slowCalls', 'failedCalls'])
      t.strictSame(lists[name], [], name)
    t.strictSame(JSON.parse((await admin.get('/api/usage?to=9999-12-31')).text).rows, [])
    t.strictSame(
      logOf(service).filter(({ msg, method }) => method !== undefined || msg === 'request refused'),
      [],
    )
    t.strictSame(collector.spans(), [])

    const [key = ''] = keys
    t.equal((await service.post(`/v3/${key}`, balance)).status, 200)
    const calls = await waitFor('the count of a call', async () => {
      const found = await counted(/^tidegate_rpc_calls_total/)
      return found.length > 0 && found
    })
    t.strictSame(
      calls.map(([, value]) => value),
      [1],
    )
    await waitFor('the span of this call', () => collector.spans().length > 0)
    t.equal(collector.spans().length, 1)
    t.strictSame(logOf(service).filter(({ method }) => method !== undefined).length, 1)
  })
}

/** Calls that a gateway sends to its nodes for users, and never by itself. */
const ofUsers = ['eth_getProof', 'eth_call', 'eth_getLogs', 'eth_gasPrice', 'eth_getTransactionReceipt']

t.test('the nodes of a gateway get no question for it', async (t) => {
  const { service: archive } = await serveDemo(t)
  const node = new WeatherNode(forwardTo(`${archive.origin}/`))
  await node.start()
  t.teardown(() => node.stop())
  const folder = t.testdir()
  const networks = [{ name: 'main', kind: 'gateway', upstreams: [node.url] }]
  const config = writeConfig(folder, { dataDir: folder, networks, logLevel: 'debug', limits })
  const gateway = await startService(['--config', config, '--no-auth'])
  t.teardown(() => gateway.stop())
  await warmUpsOf(t, gateway, 1)
  const asked = () => node.calls.map(({ method }) => method).filter((method) => ofUsers.includes(method))
  t.strictSame(asked(), [])
  t.match((await gateway.post('/', balance)).text, '"result"')
  t.ok(asked().includes('eth_getProof'), 'a question of a user is seen')
})
