/**
 * Every method over every transport, edge and origin of a network's chain. The answer equals that of the first edge of
 * an archive over HTTP. A new method without an example fails the test.
 */
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { methods } from '../../../src/serving/rpc/registry.js'
import { rollupMethods } from '../../../src/serving/rpc/rollup/rollupRegistry.js'
import { startPostgres, withoutPostgres } from '../../feed/postgres.js'
import { makeFolder } from '../../library/folder.js'
import { oneIn, thirdOf } from '../../library/property.js'
import { waitFor } from '../../library/until.js'
import { startSequencer } from '../../rollup/sequencer.js'
import { devnetDir, genesisPath, headBlock } from '../../rpc/demoChain.js'
import { allEntries, examplesOf } from '../../rpc/examplesOf.js'
import { type AnyMethod, type Call, type Example, idOfFirst, type Kind } from '../../rpc/methodEntry.js'
import { invokeChain } from '../../rpc/rollupMethodTable.js'
import { post } from '../../service/httpClient.js'
import { copyDemoStore, writeConfig } from '../../service/program.js'
import { type Service, startService } from '../../service/service.js'
import { EdgeAgent } from '../../transport/edgeConnections.js'
import { SocketClient } from '../../transport/socketClient.js'

const skip = process.platform !== 'linux' && 'edges share a port on Linux alone'

/** A longer answer is long. */
const longBytesMin = 2 ** 20

/** Ways to ask: over HTTP, over a WebSocket, in a batch, pinned to the head. */
type Way = 'http' | 'socket' | 'batch' | 'pinned'

/**
 * The calls for each edge of a kind, and the transports. Edges are alike, and so are the kinds with a store of their
 * own. For other transports, the first edge of an archive gives the expected answers.
 */
const waysOf: Readonly<Record<Kind, readonly (readonly Way[])[]>> = {
  archive: [['batch'], ['socket', 'http', 'batch', 'pinned']],
  follower: [['http'], ['pinned']],
  replica: [['batch'], ['socket']],
  gateway: [
    ['http', 'batch'],
    ['socket', 'pinned'],
  ],
}
const edges = waysOf.archive.length
/** Edges that get calls with long answers, which take most of the time, over their first transport. */
const longEdges: Readonly<Record<Kind, readonly number[]>> = {
  archive: [0, 1],
  follower: [],
  replica: [1],
  gateway: [1],
}

/** Calls one edge over one transport. Returns the text of each answer, in the form of a single call with the id 1. */
type Ask = (network: string, calls: readonly Call[]) => Promise<readonly string[]>

function bodyOf([method, params]: Call, id = 1): string {
  return JSON.stringify({ jsonrpc: '2.0', id, method, params })
}

/** The transports to one edge of a service. */
function waysTo(t: Test, service: Service, edge: number): Readonly<Record<Way, Ask>> {
  const agent = new EdgeAgent(t, service, edge)
  const sockets = new Map<string, Promise<SocketClient>>()
  const single =
    (headers: Readonly<Record<string, string>>): Ask =>
    (network, calls) =>
      Promise.all(
        calls.map(
          async (call) => (await post(`${service.origin}/${network}`, bodyOf(call), headers, agent)).text,
        ),
      )
  const connect = async (network: string) => {
    const client = await SocketClient.connect(`${service.origin.replace('http', 'ws')}/${network}/ws`, {
      // A connection of its own: one that is kept may have been closed, and an upgrade is not sent twice.
      agent: new EdgeAgent(t, service, edge),
    })
    t.teardown(() => client.cut())
    return client
  }
  return {
    http: single({}),
    pinned: single({ 'tidegate-at': headBlock.hash }),
    async socket(network, calls) {
      const opening = sockets.get(network) ?? connect(network)
      sockets.set(network, opening)
      const client = await opening
      const answers: string[] = []
      for (const call of calls) {
        client.send(bodyOf(call))
        let text = await client.next()
        // Events come between answers.
        while (text?.startsWith('{"jsonrpc":"2.0","method":')) text = await client.next()
        answers.push(text ?? 'the connection ended')
      }
      return answers
    },
    async batch(network, calls) {
      const body = `[${calls.map((call, id) => bodyOf(call, id)).join(',')}]`
      const { text } = await post(`${service.origin}/${network}`, body, {}, agent)
      const answers = JSON.parse(text) as { id: number }[]
      return calls.map((_, id) =>
        JSON.stringify({ ...answers[id], id: answers[id]?.id === id ? 1 : 'another' }),
      )
    },
  }
}

/** The answers to each step of each example; ids that are new each time are replaced. */
async function run(ask: Ask, network: string, examples: readonly Example[]): Promise<string[][]> {
  const answers: string[][] = examples.map(() => [])
  const ids: (string | undefined)[] = []
  for (let step = 0; ; step++) {
    const asked = examples.flatMap((example, at) => {
      const call = example[step]
      if (call === undefined) return []
      const [method, params] = call
      return [
        {
          at,
          call: [method, JSON.parse(JSON.stringify(params).replace(idOfFirst, ids[at] ?? '0x2'))] as Call,
        },
      ]
    })
    if (asked.length === 0) return answers
    const texts = await ask(
      network,
      asked.map(({ call }) => call),
    )
    for (const [index, { at, call }] of asked.entries()) {
      const text = texts[index] ?? ''
      const id = allEntries[call[0]].givesId ? /"result":"(\w+)"/.exec(text)?.[1] : undefined
      if (id !== undefined) ids[at] = id
      answers[at]?.push(id === undefined ? text : text.replace(id, idOfFirst))
    }
  }
}

const rollupReads: ReadonlySet<string> = new Set<AnyMethod>([
  'rollupx_blockNumber',
  'rollupx_getBlockWithTxs',
  'rollupx_estimateFee',
  'rollupx_getClassAt',
  'rollupx_getNonce',
  'rollupx_getTransactionReceipt',
])

const networkOf = (method: string) => (method in methods ? 'demo' : rollupReads.has(method) ? 'gate' : 'roll')

const allMethods = Object.keys({ ...methods, ...rollupMethods }) as AnyMethod[]

interface Served {
  readonly kind: Kind
  readonly service: Service
  readonly networks: readonly string[]
}

interface Cut {
  readonly network: string
  readonly examples: readonly Example[]
}

/** Examples of some methods, by the network that they are for. */
const cuts: readonly Cut[] = ['demo', 'roll', 'gate'].map((network) => ({
  network,
  examples: oneIn(
    5,
    allMethods.filter((method) => networkOf(method) === network),
  ).flatMap(examplesOf),
}))

const longExamples = thirdOf(
  Object.entries(allEntries).flatMap(([method, { longCall }]): Example[] =>
    longCall === undefined ? [] : [[[method as AnyMethod, longCall]]],
  ),
)

async function serve(t: Test, kind: Kind, networks: readonly Record<string, unknown>[]): Promise<Served> {
  const folder = makeFolder(t)
  if (kind === 'archive') copyDemoStore(join(folder, 'data'), 'demo')
  const config = writeConfig(folder, {
    dataDir: 'data',
    edges,
    logSample: 1,
    // Some kinds repeat stored answers, and some make each again.
    limits: { ...((kind === 'archive' || kind === 'follower') && { memoBytes: 0 }) },
    networks,
  })
  const service = await startService(['--config', config, '--no-auth'])
  t.teardown(() => service.stop())
  await waitFor(`the ${kind} to have block ${headBlock.number}`, async () => {
    const { result } = await service.call('eth_getBlockByNumber', ['latest', false])
    return result?.hash === headBlock.hash
  })
  return { kind, service, networks: networks.map(({ name }) => String(name)) }
}

const demo = { name: 'demo', genesis: genesisPath, storageLayouts: join(devnetDir, 'layouts.json') }

async function serveArchive(t: Test): Promise<Served> {
  const sequencer = await startSequencer(t)
  const roll = { name: 'roll', kind: 'rollup', chainId: invokeChain, idempotent: true }
  const gate = { ...roll, name: 'gate', upstream: { url: sequencer.origin, prefix: 'starknet' } }
  return serve(t, 'archive', [demo, roll, gate])
}

/** An archive, a follower of it, a replica of that, and a gateway to the archive. */
async function serveAll(t: Test): Promise<Served[]> {
  const [archive, postgres] = await Promise.all([
    serveArchive(t),
    withoutPostgres === false ? startPostgres(t) : undefined,
  ])
  if (postgres === undefined) t.comment(`no replica is asked: ${withoutPostgres}`)
  const upstreams = [{ url: `${archive.service.origin}/demo`, timeoutMs: 600_000 }]
  const source = { type: 'follow', upstreams, timeoutMs: 600_000 }
  const feed = postgres && { url: postgres.url }
  const { genesis, ...shown } = demo
  const others = [
    serve(t, 'gateway', [{ ...shown, kind: 'gateway', upstreams }]),
    serve(t, 'follower', [{ ...demo, source, ...(feed && { publish: feed }) }]),
    ...(feed === undefined ? [] : [serve(t, 'replica', [{ ...demo, source: { type: 'feed', ...feed } }])]),
  ]
  return [archive, ...(await Promise.all(others))]
}

/** Answers to the examples, by network. */
type Answers = ReadonlyMap<string, readonly string[][]>

async function answersOf(ask: Ask, networks: readonly string[]): Promise<Answers> {
  const answers = new Map<string, string[][]>()
  for (const { network, examples } of cuts) {
    if (networks.includes(network)) answers.set(network, await run(ask, network, examples))
  }
  return answers
}

/** A gateway would have to fetch this account by account, which takes minutes. */
const slowOfGateway: ReadonlySet<string> = new Set<AnyMethod>(['trace_filter'])

interface Difference {
  readonly call: string
  readonly got: string
  readonly want: string
}

const excerpt = (text = 'no answer') => text.slice(0, 300)

/** The calls that were answered otherwise than they should be. */
function differencesOf(
  examples: readonly Example[],
  got: readonly string[][],
  want: readonly string[][],
  kind: Kind = 'archive',
): Difference[] {
  return examples.flatMap((example, at) =>
    example.flatMap(([method, params], step) => {
      const found = got[at]?.[step]
      const wanted = want[at]?.[step]
      const isRight =
        allEntries[method].ownAnswers?.[kind]?.test(found ?? '') ?? (found !== undefined && found === wanted)
      const call = JSON.stringify([method, params])
      return isRight ? [] : [{ call: excerpt(call), got: excerpt(found), want: excerpt(wanted) }]
    }),
  )
}

t.test('every method has an example', async (t) => {
  for (const method of allMethods) t.ok(examplesOf(method).length > 0, method)
})

t.test('every kind answers alike in every way, and so do its edges', { skip }, async (t) => {
  const served = await serveAll(t)
  const [archive] = served as [Served]
  const first = waysTo(t, archive.service, 0)
  // So that the queue has it at every later call.
  await run(first.http, 'roll', examplesOf('rollupx_addInvokeTransaction'))
  const plain = await answersOf(first.http, archive.networks)
  const wanted: Readonly<Record<Way, Answers>> = {
    http: plain,
    batch: plain,
    socket: await answersOf(first.socket, archive.networks),
    pinned: await answersOf(first.pinned, archive.networks),
  }
  for (const { network, examples } of cuts) {
    const differences = (way: Way, isAlike: (example: Example) => boolean) => {
      const at = [...examples.keys()].filter((index) => isAlike(examples[index] ?? []))
      const pick = (answers: Answers) => at.map((index) => answers.get(network)?.[index] ?? [])
      return differencesOf(
        at.map((index) => examples[index] ?? []),
        pick(wanted[way]),
        pick(plain),
      )
    }
    // Only a WebSocket takes subscriptions.
    t.strictSame(
      differences('socket', (example) => !/subscribe/.test(JSON.stringify(example))),
      [],
      `${network} socket`,
    )
    // Every tag means the block of the pin; a rollup has no blocks.
    t.strictSame(
      differences(
        'pinned',
        (example) => network === 'demo' && !/"(earliest|pending)"/.test(JSON.stringify(example)),
      ),
      [],
      `${network} pinned`,
    )
  }
  const long = await run(first.http, 'demo', longExamples)
  for (const [at, [text = '']] of long.entries()) {
    t.ok(
      text.length > longBytesMin && text.includes('"result"'),
      `${longExamples[at]?.[0]?.[0]}: ${text.length}`,
    )
  }
  const check = async ({ kind, service, networks }: Served) => {
    for (const [edge, waysThere] of waysOf[kind].entries()) {
      const asks = waysTo(t, service, edge)
      for (const way of waysThere) {
        const where = `${kind}, edge ${edge}, ${way}`
        for (const [network, answers] of await answersOf(asks[way], networks)) {
          const examples = cuts.find((each) => each.network === network)?.examples ?? []
          t.strictSame(
            differencesOf(examples, answers, wanted[way].get(network) ?? [], kind),
            [],
            `${where}, ${network}`,
          )
        }
        if (way !== waysThere[0] || !longEdges[kind].includes(edge)) continue
        for (const [at, example] of longExamples.entries()) {
          const method = example[0]?.[0] ?? ''
          if (kind === 'gateway' && slowOfGateway.has(method)) continue
          const answers = await run(asks[way], 'demo', [example])
          t.strictSame(
            differencesOf([example], answers, [long[at] ?? []], kind),
            [],
            `${where}, long ${method}`,
          )
        }
      }
    }
  }
  await Promise.all(served.map(check))
})
