/** A gateway before an archive of the same chain, as processes. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { makeFolder } from '../../library/folder.js'
import { Dice, propertyRuns, someOf, thirdOf } from '../../library/property.js'
import { waitFor } from '../../library/until.js'
import { bytesOf, examples, keccak, unknownHash } from '../../rpc/demoChain.js'
import { methodTable } from '../../rpc/methodTable.js'
import { adminOf } from '../../service/adminClient.js'
import { recordedConfig, recordings, withoutRecordings } from '../../service/fixtures.js'
import { writeConfig } from '../../service/program.js'
import { type Service, startService } from '../../service/service.js'
import { tellOneLie } from '../../upstream/lies.js'
import { fine, forwardTo, WeatherNode } from '../../upstream/weatherNode.js'

const archive = await startService()
t.teardown(() => archive.stop())
const askArchive = forwardTo(`${archive.origin}/`)

/** Methods that answer from data of one process or its configuration. */
const ownMethods: readonly string[] = [
  'rpc_discover',
  'eth_capabilities',
  'tidegate_getHeaderProof',
  'tidegate_readVariable',
]

/** A gateway to nodes. */
function startGateway(data: string, upstreams: readonly string[]): Promise<Service> {
  const networks = [{ name: 'main', kind: 'gateway', upstreams }]
  const config = writeConfig(data, { dataDir: data, networks })
  return startService(['--config', config, '--no-auth'])
}

/** A node that passes every call on to the archive. */
async function startNode(t: Test): Promise<WeatherNode> {
  const node = new WeatherNode(askArchive)
  await node.start()
  t.teardown(() => node.stop())
  return node
}

interface Expected {
  readonly body: string
  readonly expected: string
}

const questions = Object.entries(methodTable)
  .filter(([method]) => !ownMethods.includes(method))
  .flatMap(([method, { reads = [] }]) =>
    reads.map((params) => JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })),
  )
const syncing = '"eth_syncing"'
/** Some of them, with the archive's answers; `rpc/parity` compares all of them. */
const some: Expected[] = []
for (const body of someOf(questions, 80)) {
  some.push({ body, expected: (await archive.post('/', body)).text })
}
/** Answers about existing data, and not about the node; for anything else the gateway must ask an upstream again. */
const lasting = some.filter(
  ({ body, expected }) =>
    !body.includes(unknownHash) && !body.includes(syncing) && !/"error":|"result":null/.test(expected),
)

async function compare(t: Test, gateway: Service, asked: readonly Expected[]): Promise<void> {
  for (const { body, expected } of asked) {
    const { text } = await gateway.post('/', body)
    if (text === expected) t.pass()
    else t.equal(text, expected, body)
  }
}

t.test('reads are answered as the archive answers them, also once no upstream is there', async (t) => {
  const node = await startNode(t)
  const gateway = await startGateway(t.testdir(), [node.url])
  t.teardown(() => gateway.stop())
  await compare(t, gateway, some)
  await node.stop()
  await compare(t, gateway, lasting)
  t.notMatch(gateway.said.err, 'internal error')
})

const node = await startNode(t)
const data = makeFolder(t)
const gateway = await startGateway(data, [node.url])
t.teardown(() => gateway.stop())

t.test('code of an account that came in the proof of another is fetched', async (t) => {
  const contract = examples.contracts.find(({ name }) => name === 'Vault')?.address as string
  const { result: proof } = await archive.call('eth_getProof', [contract, [], 'latest'])
  // The leaf of this account ends the proof that an account with the same first digits is absent.
  const digits = proof.accountProof.length - 1
  const pathOf = (address: string) => keccak(bytesOf(address)).slice(2, 2 + digits)
  let absent = 1n
  const named = () => `0x${absent.toString(16).padStart(40, '0')}`
  while (pathOf(named()) !== pathOf(contract)) absent++
  t.equal((await gateway.call('eth_getBalance', [named(), 'latest'])).result, '0x0')
  const asked = [contract, 'latest']
  t.strictSame(await gateway.call('eth_getCode', asked), await archive.call('eth_getCode', asked))
})

t.test('what needs to know when accounts changed is refused', async (t) => {
  const address = `0x${'5a'.repeat(20)}`
  for (const [method, ...rest] of [
    ['ots_getContractCreator'],
    ['ots_searchTransactionsBefore', 0, 25],
    ['ots_searchTransactionsAfter', 0, 25],
  ]) {
    const { error } = await gateway.call(String(method), [address, ...rest])
    t.equal(error?.message, 'this network does not hold when accounts changed')
  }
})

t.test('recorded exchanges come out as from an archive', { skip: withoutRecordings }, async (t) => {
  const recorded = await startService(['--config', recordedConfig, '--no-auth'])
  t.teardown(() => recorded.stop())
  const gateway = await startGateway(t.testdir(), [recorded.origin])
  t.teardown(() => gateway.stop())
  for (const folder of readdirSync(recordings, { withFileTypes: true })) {
    if (!folder.isDirectory()) continue
    for (const file of thirdOf(readdirSync(join(recordings, folder.name)))) {
      const request = /^>> (.*)$/m.exec(readFileSync(join(recordings, folder.name, file), 'utf8'))?.[1]
      if (request === undefined || ownMethods.includes(folder.name)) continue
      const { text: expected } = await recorded.post('/', request)
      const { text } = await gateway.post('/', request)
      if (text === expected) t.pass()
      else t.equal(text, expected, `${folder.name}/${file}`)
    }
  }
})

t.test('a node that lies is named, and its lies are told to nobody', async (t) => {
  const dice = new Dice(propertyRuns(1).seed as number)
  const liar = await startNode(t)
  const honest = await startNode(t)
  const gateway = await startGateway(t.testdir(), [liar.url, honest.url])
  t.teardown(() => gateway.stop())
  let hasLied = false
  liar.answer = async (call) => {
    const answer = await askArchive(call)
    hasLied ||= 'result' in answer
    return 'result' in answer ? { result: tellOneLie(answer.result, dice).lie } : answer
  }
  // The other node does not answer until then, so that the lying one is asked.
  honest.weather = () => (hasLied ? fine : { kind: 'status', status: 503 })
  await compare(t, gateway, some)
  t.match(gateway.said.err, /127\.0\.0\.1:\d+ lied: .*; it is not asked for 5 s/)
})

t.test('metrics tell what upstreams were asked, what is kept, and the commits of the store', async (t) => {
  const admin = await adminOf(gateway, data)
  await gateway.call('eth_getBalance', [`0x${'0'.repeat(40)}`, '0x5'])
  const upstream = `network="main",upstream="${new URL(node.url).host}"`
  const found = await waitFor('figures of the fetched state', async () => {
    const metrics = await admin.metrics()
    return (metrics.get('tidegate_gateway_kept_total{network="main",kind="state"}') ?? 0) > 0 && metrics
  })
  t.ok((found.get(`tidegate_upstream_exchanges_total{${upstream},outcome="answered"}`) ?? 0) > 0)
  t.ok((found.get(`tidegate_upstream_answer_seconds_total{${upstream}}`) ?? 0) > 0)
  t.equal(found.get(`tidegate_upstream_lies_total{${upstream}}`), 0)
  t.equal(found.get(`tidegate_upstream_answering{${upstream}}`), 1)
  t.ok((found.get(`tidegate_upstream_head_number{${upstream}}`) ?? 0) > 0)
  t.ok((found.get('tidegate_chain_commits_total{network="main"}') ?? 0) > 0)
  t.ok((found.get('tidegate_source_heap_bytes{network="main"}') ?? 0) > 0)
})

t.test('callers get no address of an upstream, and operators the right reason', async (t) => {
  const first = await startNode(t)
  const second = await startNode(t)
  const urls = [first.url, second.url]
  const gateway = await startGateway(t.testdir(), urls)
  t.teardown(() => gateway.stop())
  const hosts = urls.map((url) => new URL(url).host)
  const asked = someOf(lasting, 10).map(({ body }) => body)
  const failures = async (what: string) => {
    const texts = await Promise.all(asked.map(async (body) => (await gateway.post('/', body)).text))
    for (const text of texts) {
      const isNamed = hosts.some((host) => text.includes(host)) || /127\.0\.0\.1|localhost|ECONN/.test(text)
      t.notOk(isNamed, `${what}: ${text.slice(0, 300)}`)
    }
    return texts.filter((text) => text.includes('"error"'))
  }
  const dice = new Dice(propertyRuns(1).seed as number)
  first.answer = second.answer = async (call) => {
    const answer = await askArchive(call)
    return 'result' in answer ? { result: tellOneLie(answer.result, dice).lie } : answer
  }
  await failures('lies')
  first.weather = second.weather = () => ({ kind: 'status', status: 500, body: 'no' })
  await failures('status 500')
  await first.stop()
  await second.stop()
  const texts = await failures('refused connections')
  t.ok(texts.length > 0, 'some fail')
  for (const text of texts) {
    t.match(JSON.parse(text).error, { code: -32000, message: /^(no|fewer than \d) upstreams? [^()]*$/ })
  }
  t.match(gateway.said.err, /no upstream (answered|gave) [^"]*127\.0\.0\.1:\d+: /, 'the log has the reasons')
  t.notMatch(gateway.said.err, /did not say which chain it has \([^)]*ECONN/)
})

t.test('where all nodes lie, callers get errors', async (t) => {
  const dice = new Dice(propertyRuns(1).seed as number)
  const liar = await startNode(t)
  const gateway = await startGateway(t.testdir(), [liar.url])
  t.teardown(() => gateway.stop())
  liar.answer = async (call) => {
    const answer = await askArchive(call)
    return 'result' in answer ? { result: tellOneLie(answer.result, dice).lie } : answer
  }
  let errors = 0
  for (const { body, expected } of some) {
    const { text } = await gateway.post('/', body)
    // A gateway that waits for an honest node is behind, and reports that.
    if (text === expected || body.includes(syncing)) continue
    errors++
    if (/"error":\{"code":-32000,"message":"no upstream/.test(text)) t.pass()
    else t.equal(text, expected, body)
  }
  t.ok(errors > 10, `${errors}`)
})

t.test('answers that are cut short or of another form become errors, and are never passed on', async (t) => {
  const node = await startNode(t)
  const gateway = await startGateway(t.testdir(), [node.url])
  t.teardown(() => gateway.stop())
  const forms: readonly ((text: string) => unknown)[] = [
    (text) => text.slice(0, 2 + 2 * Math.floor((text.length - 2) / 4)),
    (text) => `0xc0${text.slice(4)}`,
    (text) => text.slice(0, -1),
    (text) => text.slice(2),
    () => '0x',
    () => 7,
    () => null,
    () => ({}),
  ]
  const asked = questions.filter((body) =>
    /"(debug_executionWitness|debug_traceBlockByNumber|eth_call)"/.test(body),
  )
  const hidden = new Set(['eth_chainId', 'eth_blockNumber', 'eth_getBlockByNumber', 'eth_syncing'])
  for (const form of forms) {
    node.answer = async (call) => {
      const answer = await askArchive(call)
      if (!('result' in answer) || hidden.has(call.method)) return answer
      return { result: textsIn(answer.result, form) }
    }
    for (const body of someOf(asked, 6)) {
      const { text } = await gateway.post('/', body)
      const expected = (await archive.post('/', body)).text
      if (text !== expected) t.match(JSON.parse(text), { error: { code: Number } }, `${form}: ${body}`)
    }
  }
})

/** `value` with `form` in the place of each text of hex digits. */
function textsIn(value: unknown, form: (text: string) => unknown): unknown {
  if (typeof value === 'string') return /^0x[0-9a-f]{4,}$/.test(value) ? form(value) : value
  if (Array.isArray(value)) return value.map((each) => textsIn(each, form))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, textsIn(each, form)]))
}
