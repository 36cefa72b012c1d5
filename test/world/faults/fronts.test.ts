/**
 * Upstreams with the faults of real systems, by rows, and the functions that use them, by columns. No honest node is
 * called a liar, all its available data are served, and the start takes at most ten seconds if it answers.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { ForkSchedule } from '../../../src/data/chain/forks.js'
import { ChainWriter } from '../../../src/data/store/chainWriter.js'
import { type Hash32, hexToBytes } from '../../../src/primitives/bytes.js'
import { defer } from '../../../src/primitives/deferred.js'
import { OperatorError } from '../../../src/primitives/faults.js'
import type { Wanted } from '../../../src/primitives/notStored.js'
import { followChain } from '../../../src/sources/ingest/follow/followChain.js'
import { genesisOfNode } from '../../../src/sources/ingest/follow/nodeGenesis.js'
import { runGateway } from '../../../src/sources/ingest/gateway/runGateway.js'
import { chainOf } from '../../../src/sources/ingest/nodes/chainOf.js'
import type { CallAnswerer } from '../../../src/sources/ingest/thread/callAnswerer.js'
import type { BeaconPlan, IngestMessage } from '../../../src/sources/ingest/thread/messages.js'
import type { SourceHost } from '../../../src/sources/ingest/thread/runSource.js'
import { Upstream, type UpstreamOptions } from '../../../src/sources/upstream/upstream.js'
import { SignedChain } from '../../consensus/signedChain.js'
import { makeFolder } from '../../library/folder.js'
import { someOf } from '../../library/property.js'
import { inTime, waitFor } from '../../library/until.js'
import {
  addressOf,
  blockAt,
  bytesOf,
  type DemoBlock,
  examples,
  genesisPath,
  headBlock,
  keccak,
} from '../../rpc/demoChain.js'
import { answersOf, demoEndpoint, opened } from '../../unit/serving/rpc/demoRig.js'
import {
  answers,
  answersMethods,
  both,
  changesBatches,
  type Front,
  type FrontAnswer,
  type FrontCall,
  type FrontReply,
  forbids,
  html,
  json,
  openFront,
  packs,
  passes,
  refusesBatches,
  rewrites,
  rpcError,
  sometimes,
  text,
} from '../../upstream/front.js'
import { WeatherNode } from '../../upstream/weatherNode.js'

interface Row {
  readonly front: Front
  /** Data that the node cannot provide: kinds that a gateway fetches. */
  readonly lacks?: readonly Wanted['kind'][]
  /** Parts of its genesis that the node hides: only its config, or also its first block. If absent, none. */
  readonly hides?: 'config' | 'genesis'
  /** Whether the node provides no data. */
  readonly isDead?: boolean
}

const debug = /^(debug|admin|anvil|erigon)_/
/** Methods that hosted endpoints do not have. */
const unhosted =
  /^(debug|admin|anvil|erigon|trace|txpool)_|^eth_(getBlockReceipts|createAccessList|config|getHeaderBy.*)$/
const tooMany = 'Batch of more than 3 requests are not allowed on free tier'

const batchRefusals: Readonly<Record<string, FrontReply | ((calls: readonly FrontCall[]) => FrontReply)>> = {
  ...Object.fromEntries(
    [400, 403, 405, 413, 429, 500, 502].flatMap((status) => [
      [`${status} HTML`, html(status)],
      [`${status} text`, text(status, 'no')],
      [`${status} message`, json(status, { message: tooMany, code: 31 })],
    ]),
  ),
  '400 error': json(400, rpcError(-32600, 'batch requests are not supported')),
  '403 nothing': text(403, ''),
  '503 nothing': text(503, ''),
  '200 message': json(200, { message: tooMany }),
  '200 HTML': html(200),
  '200 nothing': text(200, ''),
  '200 error': json(200, rpcError(-32600, 'batch requests are not supported')),
  'one error in a list': json(200, [rpcError(-32600, 'batch too large')]),
  'an error for each': (calls) =>
    json(
      200,
      calls.map(({ id }) => rpcError(-32000, 'no batch requests', id)),
    ),
  'an empty list': json(200, []),
  null: json(200, null),
  'an error in words': json(200, { error: 'batch requests are not supported' }),
}

const reversed = <T>(list: readonly T[]) => [...list].reverse()

const methodRefusals: Readonly<Record<string, (methods: RegExp) => Front>> = {
  ...Object.fromEntries(
    [400, 401, 402, 403, 404, 405, 410, 451, 500, 501, 502].map((status) => [
      String(status),
      (methods: RegExp) => forbids(methods, html(status)),
    ]),
  ),
  '403 message': (methods) => forbids(methods, json(403, { message: 'Forbidden' })),
  '403 error': (methods) => forbids(methods, json(403, rpcError(-32052, 'access denied'))),
  '200 words': (methods) => forbids(methods, json(200, { error: 'Unauthorized' })),
  ...Object.fromEntries(
    [
      [-32601, 'the method does not exist'],
      [-32004, 'method not supported'],
      [-32000, 'this call is not available on your plan'],
      [-32000, 'not whitelisted'],
      [-32603, 'Internal error'],
      [-32602, 'unsupported'],
      [4200, 'something else'],
    ].map(([code, message]) => [
      `${code} ${message}`,
      (methods: RegExp) => answersMethods(methods, { error: { code, message } }),
    ]),
  ),
  null: (methods) => answersMethods(methods, { result: null }),
}

const pruned = { error: { code: 4444, message: 'pruned history unavailable' } }
const isFirst = ({ method, params }: FrontCall) =>
  /^eth_get(Block|Header)ByNumber$/.test(method) && params[0] === '0x0'

/** The answer with its head. */
const whole = (line: string, headers: Readonly<Record<string, string>>, body: string) => ({
  body: [line, ...Object.entries(headers).map((each) => each.join(': ')), '', body].join('\r\n'),
  isWhole: true,
})

const jsonHead = { 'content-type': 'application/json' }
const chunk = (bytes: string) => `${Buffer.byteLength(bytes).toString(16)}\r\n${bytes}\r\n`
const quantities =
  /"(number|gas\w*|timestamp|value|difficulty|size|baseFee\w*|max\w+|\w+Index|blockNumber|chainId|balance|type)":"0x(?=[0-9a-f])/g

/** Leaves out the members of these names, or those of them that are `value`. */
const without = (names: RegExp, value?: unknown) => (body: string) =>
  JSON.stringify(
    JSON.parse(body, (name, each) =>
      names.test(name) && (value === undefined || each === value) ? undefined : each,
    ),
  )

/** Returns this answer for each question the first time. */
function failsFirst(answer: FrontAnswer): Front {
  const asked = new Set<string>()
  const isFirstTime = ({ method, params }: FrontCall) => {
    const question = JSON.stringify([method, params])
    return !asked.has(question) && asked.add(question).size > 0
  }
  return ({ calls, ...request }, pass) => {
    const first = new Set(calls.filter(isFirstTime))
    return answers(
      (call) => first.has(call),
      () => answer,
    )({ calls, ...request }, pass)
  }
}

/** Changes of fronts to each answer that keep its meaning. */
const rewritings: Readonly<
  Record<string, (body: string, reply: FrontReply) => string | Partial<FrontReply>>
> = {
  'a byte order mark': (body) => `\ufeff${body}`,
  'space around answers': (body) => `\r\n  ${body}\n\n`,
  'chunks with trailers': (body) =>
    whole(
      'HTTP/1.1 200 OK',
      { ...jsonHead, 'transfer-encoding': 'chunked', trailer: 'x-sum', connection: 'close' },
      `${chunk(body.slice(0, 7))}${chunk(body.slice(7))}0\r\nx-sum: 1\r\n\r\n`,
    ),
  'HTTP/1.0': (body) => whole('HTTP/1.0 200 OK', jsonHead, body),
  'a status without words': (body) =>
    whole(
      'HTTP/1.1 200 ',
      { ...jsonHead, 'content-length': `${Buffer.byteLength(body)}`, connection: 'close' },
      body,
    ),
  'a connection for each answer': () => ({ headers: { ...jsonHead, connection: 'close' } }),
  'connections that end unannounced': () => ({ isCut: true }),
  'informational answers': () => ({ isAnnounced: true }),
  'plain text': () => ({ headers: { 'content-type': 'text/html; charset=iso-8859-1' } }),
  'status 202': () => ({ status: 202 }),
  'gzip in name alone': () => ({ headers: { ...jsonHead, 'content-encoding': 'gzip' } }),
  'a coding that is none': () => ({ headers: { ...jsonHead, 'content-encoding': 'utf-8' } }),
  'no jsonrpc member': (body) => body.replaceAll('"jsonrpc":"2.0",', ''),
  'ids as fractions': (body) => body.replace(/"id":(\d+)/g, '"id":$1.0'),
  'an error of null': (body) => body.replace(/"id":(\d+)/g, '"id":$1,"error":null'),
  'a result of null beside errors': (body) => body.replaceAll('"error":{', '"result":null,"error":{'),
  'upper case': (body) => body.replace(/"0x([0-9a-f]+)"/g, (_, digits) => `"0x${digits.toUpperCase()}"`),
  'leading zeros': (body) => body.replace(quantities, '"$1":"0x00'),
  'more members': (body) =>
    body.replace(/"(parentHash|blockHash|accountProof)":/g, '"l1Fee":"0x0","extra":{"a":[1]},"$1":'),
  'errors with status 400': (body) => (/"error":\{/.test(body) ? { status: 400 } : body),
  'errors with status 500': (body) => (/"error":\{/.test(body) ? { status: 500 } : body),
  'null with status 404': (body) => (/"result":null/.test(body) ? { status: 404 } : body),
  'no parity beside v': without(/^yParity$/),
  'data in place of input': (body) => body.replaceAll('"input":', '"data":'),
  'data beside input': (body) => body.replace(/"input":("0x[0-9a-f]*")/g, '"input":$1,"data":$1'),
  'nothing in place of null': without(/^(to|contractAddress|blob.*|maxFeePerBlobGas|root)$/, null),
  'transactions without chain ids': (body) => body.replace(/,"chainId":"0x[0-9a-f]+"/g, ''),
  'receipts without prices': without(/^(effective|blob)GasPrice$/),
  'logs without times': without(/^blockTimestamp$/),
  'no uncles': without(/^uncles$/),
  'lists of null': (body) =>
    body.replace(/"(uncles|accessList|blobVersionedHashes|storageProof)":\[\]/g, '"$1":null'),
  'no total difficulty, no sizes': without(/^(totalDifficulty|size)$/),
}

const chainIds: Readonly<Record<string, FrontAnswer>> = {
  'a number': { result: Number(examples.chainId) },
  'decimal text': { result: String(Number(examples.chainId)) },
  'leading zeros': { result: `0x000${Number(examples.chainId).toString(16)}` },
  null: { result: null },
  'empty text': { result: '' },
  '-32601': { error: { code: -32601, message: 'the method does not exist' } },
  '-32000 in words of its own': { error: { code: -32000, message: 'we would rather not' } },
}

/** Time at which the newest block is available by its hash, which is a second after the first request. */
let newestAt: number | undefined
const newestFrom = () => (newestAt ??= performance.now() + 1_000)

const rows: Readonly<Record<string, Row>> = {
  'as it is': { front: passes },
  ...Object.fromEntries(
    Object.entries(batchRefusals).map(([name, reply]) => [
      `batches: ${name}`,
      { front: refusesBatches(reply) },
    ]),
  ),
  'batches of 3': { front: refusesBatches(json(500, { message: tooMany, code: 31 }), 3) },
  'batches of 7': { front: refusesBatches(json(200, rpcError(-32600, 'too many')), 7) },
  'batches: 429, of 10': { front: refusesBatches(text(429, ''), 10) },
  'answers of the first alone': { front: changesBatches(([first]) => first) },
  'answers: a list of one': { front: changesBatches((list) => list.slice(0, 1)) },
  'answers: a shorter list': { front: changesBatches((list) => list.slice(0, -1)) },
  'answers reversed': { front: changesBatches(reversed) },
  'answers with ids as text': {
    front: changesBatches((list) => list.map((each) => ({ ...each, id: `${each.id}` }))),
  },
  'answers without ids': { front: changesBatches((list) => list.map((each) => ({ ...each, id: null }))) },
  'one of a batch is busy': {
    front: changesBatches(([first, ...others]) => [
      { ...rpcError(-32005, 'limit exceeded'), id: first?.id },
      ...others,
    ]),
  },
  ...Object.fromEntries(
    Object.entries(methodRefusals).map(([name, refuses]) => [
      `debug_*: ${name}`,
      { front: refuses(debug), hides: 'config' },
    ]),
  ),
  ...Object.fromEntries(
    ['403', '500', '-32601 the method does not exist', '-32000 not whitelisted', 'null'].map((name) => [
      `hosted: ${name}`,
      { front: methodRefusals[name]?.(unhosted) as Front, hides: 'config' },
    ]),
  ),
  'hosted, no batches': {
    front: both(refusesBatches(html(403)), forbids(unhosted, html(403))),
    hides: 'config',
  },
  'no proofs: 403': { front: forbids(/^eth_getProof$/, html(403)), lacks: ['state', 'code'] },
  'no code: -32601': {
    front: answersMethods(/^eth_getCode$/, { error: { code: -32601, message: 'no' } }),
    lacks: ['code'],
  },
  'pruned, with headers': {
    front: answers(
      (call) => isFirst(call) && call.method === 'eth_getBlockByNumber',
      () => pruned,
    ),
  },
  'pruned, without headers': { front: answers(isFirst, () => pruned), hides: 'genesis' },
  'pruned: null': { front: answers(isFirst, () => ({ result: null })), hides: 'genesis' },
  'pruned: 403': {
    front: ({ calls }, pass) => (calls.some(isFirst) ? html(403) : pass()),
    hides: 'genesis',
  },
  'refuses who says no User-Agent': {
    front: ({ headers }, pass) => (headers['user-agent'] === undefined ? html(403) : pass()),
  },
  'gzip unasked': { front: packs },
  'a redirect': { front: () => text(301, '', { location: 'https://elsewhere.example/KEY' }), isDead: true },
  'one byte a second': { front: async (_, pass) => ({ ...(await pass()), isSlow: true }), isDead: true },
  'a third of all answers 429': { front: sometimes(3, text(429, '')) },
  'a third of all answers 502': { front: sometimes(3, html(502)) },
  'a third of all answers 502, no batches': {
    front: both(refusesBatches(html(400)), sometimes(3, html(502))),
  },
  'a third of all answers 403': { front: sometimes(3, html(403)) },
  'a third of all answers 429, back in an hour': {
    front: sometimes(3, text(429, '', { 'retry-after': '3600' })),
  },
  'a third of all answers 503, back in an hour': {
    front: sometimes(3, text(503, '', { 'retry-after': '3600' })),
  },
  'a third of all answers 204': { front: sometimes(3, text(204, '')) },
  'a third of all answers a login page': { front: sometimes(3, html(200)) },
  'a third of all answers cut short': {
    front: sometimes(3, {
      ...whole('HTTP/1.1 200 OK', { 'content-length': '999' }, '{"jsonrpc":'),
      status: 200,
    }),
  },
  'a third of all answers too long': {
    front: sometimes(3, {
      ...whole('HTTP/1.1 200 OK', { 'content-length': '2' }, '{"jsonrpc":"2.0"}'),
      status: 200,
    }),
  },
  'a third of all answers -32700': { front: sometimes(3, json(200, rpcError(-32700, 'parse error'))) },
  'a third of all calls -32000 rate limit': {
    front: answers(
      ({ id }) => Number(id) % 3 === 0,
      () => ({ error: { code: -32000, message: 'rate limit exceeded, retry in 10s' } }),
    ),
  },
  ...Object.fromEntries(
    [
      [-32000, 'something went wrong'],
      [-32603, 'Internal error'],
    ].map(([code, message]) => [
      `the first answer to each question ${code}`,
      { front: failsFirst({ error: { code, message } }) },
    ]),
  ),
  ...Object.fromEntries(
    Object.entries(rewritings).map(([name, change]) => [name, { front: rewrites(change) }]),
  ),
  'tags: latest alone': {
    front: answers(
      ({ params }) => /^(safe|finalized|pending|earliest)$/.test(String(params[0])),
      () => ({ error: { code: -32602, message: 'invalid argument 0: hex string without 0x prefix' } }),
    ),
  },
  'tags: null but for latest': {
    front: answers(
      ({ params }) => /^(safe|finalized)$/.test(String(params[0])),
      () => ({ result: null }),
    ),
  },
  'proofs of one key': {
    front: answers(
      ({ method, params }) => method === 'eth_getProof' && (params[1] as unknown[]).length > 1,
      () => ({ error: { code: -32602, message: 'too many keys' } }),
    ),
  },
  ...Object.fromEntries(
    [
      [-32602, 'invalid argument 2: hex string without 0x prefix'],
      [-32602, 'Invalid params'],
      [-32000, 'json: cannot unmarshal object into Go value of type string'],
      [-32600, 'unsupported block parameter'],
    ].map(([code, message]) => [
      `state: numbers alone, ${code} ${message}`,
      {
        front: answers(
          ({ method, params }) =>
            /^eth_(get(Proof|Code)|createAccessList)$/.test(method) &&
            !/^0x[0-9a-f]{1,16}$/.test(String(params.at(-1))),
          () => ({ error: { code, message } }),
        ),
      },
    ]),
  ),
  'a balancer over nodes with two heads': {
    front: ({ calls }, pass) => {
      const isBehind = Math.floor(performance.now() / 150) % 2 === 1
      const behind = (params: readonly unknown[]) =>
        params[0] === 'latest' ? ['0x106', ...params.slice(1)] : params
      return pass(isBehind ? calls.map((call) => ({ ...call, params: behind(call.params) })) : calls)
    },
  },
  'batches in lines': {
    front: async ({ calls }, pass) => {
      const reply = await pass()
      if (calls.length < 2) return reply
      const list: FrontAnswer[] = JSON.parse(String(reply.body))
      return { ...reply, body: list.map((each) => JSON.stringify(each)).join('\n') }
    },
  },
  'batches: 204': { front: refusesBatches(text(204, '')) },
  'block receipts: null': { front: answersMethods(/^eth_getBlockReceipts$/, { result: null }) },
  'no block receipts, no raw ones: 404': {
    front: forbids(/^(eth_getBlockReceipts|debug_getRaw.*)$/, html(404)),
  },
  'the newest block comes a second after its number': {
    front: answers(
      ({ method, params }) =>
        /ByHash$|getRaw/.test(method) && params[0] === headBlock.hash && performance.now() < newestFrom(),
      ({ method }) =>
        method.startsWith('debug_') ? { error: { code: -32000, message: 'not found' } } : { result: null },
    ),
  },
  'a redirect to a path beside it': {
    front: ({ path }, pass) => (path === '/' ? text(307, '', { location: '/v2/' }) : pass()),
  },
  ...Object.fromEntries(
    Object.entries(chainIds).map(([name, answer]) => [
      `chain id: ${name}`,
      { front: answersMethods(/^eth_chainId$/, answer) },
    ]),
  ),
  'chain id: 401': { front: forbids(/^eth_chainId$/, html(401)) },
  'chain id and network id: 403': { front: forbids(/^(eth_chainId|net_version)$/, html(403)) },
  'hosted, chain id: 401': {
    front: both(forbids(/^eth_chainId$/, html(401)), methodRefusals['403']?.(unhosted) as Front),
    hides: 'config',
  },
  'pruned, chain id: -32601': {
    front: both(
      answers(isFirst, () => pruned),
      answersMethods(/^eth_chainId$/, { error: { code: -32601, message: 'no' } }),
    ),
    hides: 'genesis',
  },
  'a key that expired': { front: () => html(401), isDead: true },
}

const answerOf = answersOf(demoEndpoint(opened))

async function startNode(answer: WeatherNode['answer']): Promise<WeatherNode> {
  const node = new WeatherNode(answer)
  node.hasSockets = false
  await node.start()
  t.teardown(() => node.stop())
  return node
}

const archive = await startNode(answerOf)
/** The same chain up to a lower head, which takes a follower less time. */
const low = 36
const lowArchive = await startNode(({ method, params }) => {
  const isNamed = method === 'eth_getBlockByNumber' && /latest|safe|finalized/.test(String(params[0]))
  return answerOf({ method, params: isNamed ? [`0x${low.toString(16)}`, ...params.slice(1)] : params })
})

/** Limit on an idle machine; the first row, without a front, measures how slow this machine is. */
let startMsMax = 10_000
const plainStartMs = 1_500
/** Time in which a node without data must produce no message. */
const deadMs = 1_500
const genesis = { text: readFileSync(genesisPath, 'utf8'), path: genesisPath }

const upstreamAt = (url: string): UpstreamOptions => ({ url, timeoutMs: 5_000, answerBytesMax: 2 ** 26 })

/** A source on this thread, and its messages. */
class Run {
  readonly messages: IngestMessage[] = []
  readonly began = performance.now()
  readonly ready = defer<CallAnswerer>()
  #serial = 0

  constructor(t: Test, run: (host: SourceHost) => Promise<void>) {
    const stop = new AbortController()
    const ended = run({
      report: (message) => void this.messages.push(message),
      signal: stop.signal,
      onReady: (calls) => this.ready.resolve(calls),
    })
    ended.catch((error) => stop.signal.aborted || t.fail(String(error)))
    t.teardown(async () => {
      stop.abort()
      await ended.catch(() => undefined)
    })
  }

  get said(): string {
    return this.messages.flatMap((message) => (message.type === 'said' ? [message.text] : [])).join('\n')
  }

  /** Resolves once `isThere`; then the start is over. */
  async starts(t: Test, isThere: () => boolean): Promise<number> {
    await waitFor(
      `the start; ${this.said}`,
      () => isThere() || performance.now() - this.began > 3 * startMsMax,
    )
    t.ok(isThere(), `it starts: ${this.said}`)
    const ms = performance.now() - this.began
    t.ok(ms < startMsMax, `at once: ${ms} ms`)
    return ms
  }

  async fetch(wanted: Wanted): Promise<unknown> {
    const serial = ++this.#serial
    ;(await this.ready.promise).take({ type: 'call', serial, name: 'fetch', args: [wanted] })
    const isAnswer = (message: IngestMessage) => 'serial' in message && message.serial === serial
    const answer = await waitFor('what is fetched', () => this.messages.find(isAnswer))
    return answer.type === 'answered' ? answer.answer : answer
  }
}

const hash = (block: DemoBlock) => hexToBytes(block.hash) as Hash32
const withTransactions = [264, 263, 262].map(blockAt)
const vault = bytesOf(addressOf('Vault'))
const codeOfVault = (await answerOf({ method: 'eth_getCode', params: [addressOf('Vault'), 'latest'] })) as {
  readonly result: string
}
const slot = bytesOf(examples.slots.find(({ contract }) => contract === 'Vault')?.slot as string)

const stateAt = (block: DemoBlock): Wanted => ({
  kind: 'state',
  block: hash(block),
  stateRoot: Uint8Array.from(block.header[3] as Uint8Array) as Hash32,
  address: vault,
  slots: [slot],
})

/** Data that a gateway fetches: each in its head's chain, or below its headers. */
const wanted: readonly Wanted[] = [
  stateAt(headBlock),
  { kind: 'code', hash: bytesOf(keccak(bytesOf(codeOfVault.result))) as Hash32 },
  ...withTransactions.map((block): Wanted => ({ kind: 'body', hash: hash(block) })),
  {
    kind: 'receipts',
    hash: hash(withTransactions[1] as DemoBlock),
    others: [hash(withTransactions[2] as DemoBlock)],
  },
  { kind: 'location', hash: bytesOf(withTransactions[0]?.transactions[0]?.hash as string) as Hash32 },
  { kind: 'location', hash: bytesOf(blockAt(30).transactions[0]?.hash as string) as Hash32 },
  { kind: 'canonical', number: 60 },
  { kind: 'body', hash: hash(blockAt(60)) },
  { kind: 'receipts', hash: hash(blockAt(60)) },
  stateAt(blockAt(200)),
]

const gatewayTask = (t: Test, url: string, beacon?: BeaconPlan) => ({
  storePath: join(makeFolder(t), 'gateway.mdb'),
  mapBytes: 2 ** 30,
  genesis,
  network: 'main',
  forks: {},
  chainId: undefined,
  upstreams: [upstreamAt(url)],
  quorum: 1,
  pollMs: 100,
  historyBlocks: 24,
  fetchMsMax: 20_000,
  beacon,
})

/** A column gets a row and the URL of its front before the archive. */
type Column = (
  t: Test,
  row: Row,
  frontOf: (node: { readonly url: string }) => Promise<string>,
) => Promise<string>

const columns: Readonly<Record<string, Column>> = {
  async gateway(t, { lacks = [], isDead }, frontOf) {
    const run = new Run(t, async (host) => runGateway(gatewayTask(t, await frontOf(archive)), host))
    if (isDead === true) return staysAway(run)
    await run.starts(t, () => run.messages.some(({ type }) => type === 'opened'))
    for (const each of wanted) {
      const answer = await run.fetch(each)
      if (lacks.includes(each.kind)) t.match(answer, { type: 'refused' }, each.kind)
      else t.equal(answer, false, `${each.kind} ${JSON.stringify(answer)}`)
    }
    return run.said
  },

  async follower(t, { isDead }, frontOf) {
    const follow = {
      pollMs: 100,
      timeoutMs: 20_000,
      reorgDepthMax: 128,
      revertAfterMs: 5_000,
      quorum: 1,
      upstreams: [upstreamAt(await frontOf(lowArchive))],
    }
    const store = { storePath: join(makeFolder(t), 'chain.mdb'), mapBytes: 2 ** 30, genesis }
    const run = new Run(t, (host) => followChain({ ...store, follow }, host))
    if (isDead === true) return staysAway(run)
    await run.starts(t, () => run.messages.some(({ type }) => type === 'head'))
    return run.said
  },

  async 'light client'(t, { isDead }, frontOf) {
    const signed = new SignedChain()
    const server = await signed.server(t)
    const final = blockAt(250)
    const checkpoint = signed.checkpoint(final)
    signed.sign(headBlock, final)
    const { nodes: _, ...plan } = signed.config([server], checkpoint)
    const beacon = { ...plan, nodes: [upstreamAt(await frontOf(server))] } as BeaconPlan
    const run = new Run(t, async (host) => runGateway(gatewayTask(t, await frontOf(archive), beacon), host))
    if (isDead === true) return staysAway(run)
    const isSigned = (message: IngestMessage) =>
      message.type === 'upstream' && message.state.signed?.slot !== undefined
    await run.starts(t, () =>
      ['opened', 'head'].every((each) => run.messages.some(({ type }) => type === each)),
    )
    await waitFor('the signed head', () => run.messages.some(isSigned))
    return run.said
  },

  async 'genesis discovery'(t, { hides, isDead }, frontOf) {
    const said: string[] = []
    const options = upstreamAt(await frontOf(archive))
    const upstream = new Upstream(options, undefined, (line) => said.push(line))
    t.teardown(() => upstream.close())
    const began = performance.now()
    const deadline = began + (isDead === true ? deadMs : 20_000)
    const learn = () => chainOf(upstream, deadline, () => undefined)
    // A gateway asks again if it gets no answer.
    const chain = learn().catch((error) =>
      error instanceof OperatorError || isDead === true ? Promise.reject(error) : learn(),
    )
    if (isDead === true) {
      await t.rejects(chain)
      return said.join('\n')
    }
    const store = ChainWriter.openForWriting({ path: join(makeFolder(t), 'chain.mdb'), mapBytes: 2 ** 30 })
    t.teardown(() => store.close())
    const signal = new AbortController().signal
    const notice = (line: string) => void said.push(line)
    const found = genesisOfNode(undefined, '', store, [options], { notice, signal })
    if (hides !== undefined) {
      // If the rules of a chain are unknown, its blocks are only reported, because execution needs the rules.
      const [gateway, follower] = await Promise.allSettled([chain, found])
      const { genesisHash } = examples
      const refused = { status: 'rejected', reason: { name: 'OperatorError', message: /--genesis/ } }
      const proves = { status: 'fulfilled', value: { genesisHash, family: 'other' } }
      t.match(gateway, hides === 'genesis' ? refused : proves)
      t.match(follower, refused)
    } else {
      t.equal((await chain).genesisHash, examples.genesisHash)
      t.equal((await found)?.identity.genesisHash, examples.genesisHash)
      t.same(ForkSchedule.of(await chain).config, ForkSchedule.of((await found)?.identity as never).config)
    }
    t.ok(performance.now() - began < startMsMax, `at once: ${performance.now() - began} ms`)
    return said.join('\n')
  },
}

/** Waits for messages of a run whose node provides no data. */
async function staysAway(run: Run): Promise<string> {
  await waitFor('the time', () => performance.now() - run.began > deadMs)
  return run.said
}

/** `ROW` and `COLUMN` name parts of the rows and columns that are run; if absent, all. */
const { ROW = '', COLUMN = '' } = process.env

t.test('how slow this machine is', async (t) => {
  const measured = async (times: number) => {
    const run = new Run(t, (host) => runGateway(gatewayTask(t, archive.url), host))
    // A busy machine has no limit here: this measures how slow it is.
    t.ok(await waitFor('the start', () => run.messages.some(({ type }) => type === 'opened')))
    const ms = performance.now() - run.began
    if (times === 1) startMsMax *= Math.max(1, ms / plainStartMs)
  }
  for (const times of [0, 1]) await measured(times)
})

/**
 * The columns of a row: all if `KILLS` or `ROW` ask for more, else two, in turn. Rows that hide a part of the genesis
 * have the column that asks for it. Rows that lack data have the column that fetches it.
 */
function columnsOf({ hides, lacks }: Row, at: number): [string, Column][] {
  const all = Object.entries(columns)
  if (process.env.KILLS !== undefined || ROW !== '') return all
  const others = all.slice(0, -1)
  const discovery = all.slice(-1)
  if (hides !== undefined) return [...others.slice(at % others.length).slice(0, 1), ...discovery]
  return lacks !== undefined || at % 2 === 0 ? all.slice(0, 2) : all.slice(2)
}

/** The first measures how slow the machine is. */
const [plain, ...others] = [...Object.entries(rows).entries()]
const isWhole = process.env.KILLS !== undefined || ROW !== ''
for (const [at, [name, row]] of [plain as (typeof others)[0], ...(isWhole ? others : someOf(others, 12))]) {
  if (!new RegExp(ROW).test(name)) continue
  t.test(name, async (t) => {
    const frontOf = (node: { readonly url: string }) => openFront(t, node.url, row.front)
    const cells = columnsOf(row, at).filter(([column]) => column.includes(COLUMN))
    for (const [column, ask] of cells) {
      await t.test(column, async (t) => {
        const said = await inTime(column, ask(t, row, frontOf))
        t.notMatch(said, / lied|defect/, said)
      })
    }
  })
}
