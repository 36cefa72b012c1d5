// @alone it closes the pool of the demo network, which its support module opens once
/**
 * Calls that are recognised by their layout, and read from their bytes, get the same answers as parsed calls. Sends the
 * same requests in random spellings to both, over sockets as well. Compares payments, counts, logs, traces, limits and
 * turns. SEED repeats a run.
 */
import t, { type Test } from 'tap'
import { allotCounts, EdgeCounts } from '../../../../src/serving/metrics/edgeCounts.js'
import type { Answer } from '../../../../src/serving/rpc/answers/answer.js'
import { type Identity, RequestContext } from '../../../../src/serving/rpc/contexts/requestContext.js'
import { createDispatcher } from '../../../../src/serving/rpc/dispatch/dispatch.js'
import type { Endpoint } from '../../../../src/serving/rpc/dispatch/endpoint.js'
import type { Method } from '../../../../src/serving/rpc/method.js'
import type { Network } from '../../../../src/serving/rpc/network.js'
import { methods } from '../../../../src/serving/rpc/registry.js'
import type { HttpLimits, HttpServerOptions } from '../../../../src/serving/transport/http.js'
import type { RequestLine, TraceContext } from '../../../../src/serving/transport/requestLog.js'
import { requestsOfKeyMax } from '../../../../src/serving/transport/requestsPerTurn.js'
import { Dice, runsFactor } from '../../../library/property.js'
import { blockAt, examples, quantity, unknownHash } from '../../../rpc/demoChain.js'
import { test } from '../../../transport/eachTransport.js'
import { wideDispatchLimits } from '../../../transport/serverLimits.js'
import { opened } from '../../../unit/serving/rpc/demoRig.js'
import { bodyText } from '../../../unit/serving/rpc/testMethods.js'
import { RawClient, rawPost } from '../../../unit/serving/transport/rawClient.js'
import { accepted, withServer } from '../../../unit/serving/transport/testServer.js'

const seed = process.env.SEED === undefined ? Date.now() & 0x7fffffff : Number(process.env.SEED)
console.log(`# seed ${seed} (repeat with SEED=${seed})`)
const dice = new Dice(seed)

const isIn = (chance: number) => dice.throw(chance) === 0
const oneOf = <T>(values: readonly T[]): T => values[dice.throw(values.length)] as T

const numbers = [0, 1, 14, 45, 84, 148, 200, 264, 265, 9_999]
const hashes = [...numbers.slice(1, 8).map((number) => blockAt(number).hash), unknownHash]
const addresses = [...examples.accounts, ...examples.contracts].map(({ address }) => address)
const slots = [...examples.slots.map(({ slot }) => slot), '0x0', '0', '', '0x', '0x01', `0x${'f'.repeat(64)}`]
const tags = ['latest', 'earliest', 'pending', 'safe', 'finalized', 'Latest', 'late']

/** A text in letters of another case, cut, made longer, or with a sign that does not belong there; mostly as it is. */
function respelt(text: string): string {
  const at = dice.throw(text.length + 1)
  const other = oneOf(['g', '0', ' ', '\\u0031', '\\"', 'é', 'X', '"'])
  const spellings = [
    text.toUpperCase(),
    text.replace(/[a-f]/g, (digit) => (isIn(2) ? digit.toUpperCase() : digit)),
    text.slice(0, at),
    text.slice(0, at) + other + text.slice(at),
    text.slice(0, at) + other + text.slice(at + 1),
    text.replace('0x', oneOf(['', '0X', '0x0', '0x00'])),
  ]
  return isIn(4) ? oneOf(spellings) : text
}

const text = (value: string) => (isIn(40) ? value : `"${respelt(value)}"`)
const odd = () =>
  oneOf(['null', 'true', 'false', '0', '1', '-1', '1.5', '{}', '[]', '[1]', '""', 'nul', '1e400'])
const address = () => text(oneOf(addresses))
const slot = () => text(oneOf(slots))
const hash = () => text(oneOf(hashes))
const number = () => text(isIn(8) ? `0x${'1'.repeat(dice.throw(20))}` : quantity(oneOf(numbers)))
const transaction = () => text(oneOf(examples.transactions).hash)
const flag = () => oneOf(['true', 'false', 'true', 'false', 'True', '1'])
const block = () => {
  const object = () => `{"${oneOf(['blockHash', 'blockNumber'])}":${isIn(2) ? hash() : number()}}`
  return oneOf([number, number, () => text(oneOf(tags)), () => '"latest"', () => '"latest"', hash, object])()
}
const index = () => text(quantity(dice.throw(4)))

const params: readonly (readonly [method: string, ...(() => string)[]])[] = [
  ['eth_getStorageAt', address, slot, block],
  ['eth_getStorageAt', address, slot, block],
  ['eth_getBalance', address, block],
  ['eth_getTransactionCount', address, block],
  ['eth_getCode', address, block],
  ['eth_getBlockByNumber', block, flag],
  ['eth_getBlockByHash', hash, flag],
  ['eth_getHeaderByNumber', block],
  ['eth_getTransactionByBlockNumberAndIndex', block, index],
  ['eth_getTransactionByBlockHashAndIndex', hash, index],
  ['eth_getTransactionByHash', transaction],
  ['eth_getTransactionReceipt', transaction],
  ['eth_getBlockReceipts', block],
  ['eth_getUncleCountByBlockNumber', block],
  ['erigon_getHeaderByNumber', block],
  ['eth_blockNumber'],
  ['eth_chainId'],
  ['eth_getStorageA', address],
]

function listOf(makers: readonly (() => string)[]): string {
  const values = makers.map((make) => (isIn(25) ? odd() : make()))
  if (isIn(12)) values.length = dice.throw(values.length + 1)
  if (isIn(25)) values.push(oneOf(['null', '"latest"', odd()]))
  const space = () => (isIn(20) ? oneOf([' ', '\n', '\t ', '\u00a0']) : '')
  const list = `[${space()}${values.map((value) => space() + value + space()).join(',')}]`
  return isIn(60) ? oneOf(['{}', 'null', '"x"', '[1],"extra":[2]', list.slice(0, -1), `${list}]`]) : list
}

const id = () =>
  oneOf([
    () => String(dice.throw(2 ** 31)),
    () => String(dice.throw(100)),
    () => `"${dice.throw(1e9).toString(36)}"`,
    () => oneOf(['0', '-1', '-0', '01', '1.0', '1e3', 'null', '"a\\nb"', '"é"', '""', '{}', '9'.repeat(30)]),
  ])()

const orders = [
  ['jsonrpc', 'id', 'method', 'params'],
  ['jsonrpc', 'id', 'method', 'params'],
  ['jsonrpc', 'method', 'params', 'id'],
  ['method', 'params', 'id', 'jsonrpc'],
  ['id', 'jsonrpc', 'method', 'params'],
  ['params', 'id', 'method', 'jsonrpc'],
  ['jsonrpc', 'method', 'id', 'params'],
]

/** The same call twice. The second has one more member, which only the general reader accepts. */
function callTexts(): [string, string] {
  const [method, ...makers] = oneOf(params)
  const members: Record<string, string> = {
    jsonrpc: isIn(50) ? '"1.0"' : '"2.0"',
    id: id(),
    method: `"${method}"`,
    params: listOf(makers),
  }
  const names = oneOf(orders).filter((name) => name === 'jsonrpc' || !isIn(60))
  const [before, after] = isIn(5) ? [oneOf(['', ' ', '\n  ']), oneOf(['', ' '])] : ['', '']
  const written = names.map((name) => `${before}"${name}"${after}:${after}${members[name]}${after}`)
  return [`{${written.join(',')}${before}}`, `{${[...written, '"x":0'].join(',')}${before}}`]
}

/** A body as both roads get it. */
function bodies(): [lean: Buffer, general: Buffer] {
  const isBatch = isIn(6)
  const calls = isBatch ? dice.times(dice.throw(5), callTexts) : [callTexts()]
  const whole = (which: 0 | 1) => {
    const joined = calls.map((call) => call[which]).join(',')
    return Buffer.from(isBatch ? `[${joined}]` : joined)
  }
  if (!isIn(10)) return [whole(0), whole(1)]
  const body = whole(0)
  const at = dice.throw(body.length + 1)
  const inserted = Buffer.from(oneOf(['', '"', '\\', '}', ']', ',', ' ', 'é', '\0']))
  const broken = Buffer.concat([body.subarray(0, at), inserted, body.subarray(at + dice.throw(3))])
  return [broken, broken]
}

const { address: owner, slot: place } = examples.slots[0] as (typeof examples.slots)[number]
const slotCall = `{"jsonrpc":"2.0","id":1,"method":"eth_getStorageAt","params":["${owner}","${place}","latest"]}`

const all = Object.values(methods) as readonly Method<Network>[]
/** Methods whose parameters are not read from bytes. */
const parsed = all.map((method) => ({
  ...method,
  params: method.params.map(({ read: _, ...param }) => param),
}))

interface Road {
  readonly endpoint: Endpoint
  readonly counts: EdgeCounts
  /** The usage of keys, in order. */
  readonly usage: unknown[][]
}

function roadOf(methods: readonly Method<Network>[], memoBytesMax: number): Road {
  const names = all.map(({ name }) => name)
  const counts = new EdgeCounts(allotCounts(names, 1), names, 0)
  const usage: unknown[][] = []
  const count = (...counted: unknown[]) => usage.push(counted)
  const { endpoint } = createDispatcher<Network>({
    methods,
    limits: { ...wideDispatchLimits, memoBytesMax },
    log: ({ error }) => t.fail(String(error)),
    counts,
    usageOf: () => ({
      count,
      noteSlow: () => undefined,
      noteFailed: () => undefined,
      refused: () => undefined,
    }),
  })
  return { endpoint: endpoint(opened), counts, usage }
}

/** A caller with these chances: some may not call all methods, some cannot pay each call. */
function callerOf(refused: number, isScoped: boolean): RequestContext {
  const allows = (name: string) => name.startsWith('eth_getB')
  let charges = 0
  const identity: Identity = {
    key: { id: '0123456789ab' },
    allowance: {
      unitsPerSecond: 10,
      charge: () => (++charges === refused ? 700 : 0),
      debit: () => undefined,
    },
    ...(isScoped && { methods: { allows, text: 'eth_getB*' } }),
  }
  return new RequestContext(undefined, identity)
}

function shown({ body, result: _, isKept: __, ...answer }: Answer): string {
  return JSON.stringify({ ...answer, text: bodyText({ body }) })
}

/** All counts, except times. */
function counted({ counts }: Road): unknown {
  const ofMethods = counts
    .readMethods()
    .map(({ durationSeconds: _, durations: __, repeated: ___, ...each }) => each)
  return [ofMethods, [...counts.readErrors()]]
}

t.test('answers, payments and counts are the same, whatever reads a request', async (t) => {
  const roads = [roadOf(all, 2 ** 20), roadOf(parsed, 0)] as const
  const runs = Math.ceil(2_000 * runsFactor)
  let results = 0
  for (let run = 0; run < runs; run++) {
    const texts = bodies()
    const at = isIn(8) ? oneOf([...hashes, 'latest', '0x1']) : undefined
    const refused = isIn(8) ? 1 + dice.throw(3) : 0
    const isScoped = isIn(8)
    const repeated = 1 + dice.throw(3)
    for (let times = 0; times < repeated; times++) {
      const answers: string[] = []
      for (const [which, { endpoint }] of roads.entries()) {
        const caller = callerOf(refused, isScoped)
        const answer = shown(await endpoint.handle(texts[which as 0 | 1], caller, at))
        answers.push(`${answer} for ${caller.spentUnits} units`)
      }
      if (answers[0] !== answers[1]) throw new Error(`${answers.join('\nbut\n')}\nto\n${texts[0]}\nat ${at}`)
      if (answers[0]?.includes('result')) results++
    }
  }
  t.ok(results > runs / 4, `${results} results`)
  t.same(counted(roads[0]), counted(roads[1]))
  t.same(roads[0].usage, roads[1].usage)
})

t.test('a call with any byte changed, left out or put in is answered the same', async (t) => {
  const roads = [roadOf(all, 2 ** 20), roadOf(parsed, 0)] as const
  const { address } = examples.accounts[0] as { readonly address: string }
  const { hash } = examples.transactions[0] as { readonly hash: string }
  const calls: readonly (readonly [method: string, params: string])[] = [
    ['eth_getStorageAt', `["${address}","0x0","latest"]`],
    ['eth_getBalance', `["${address}","0x10"]`],
    ['eth_getTransactionByHash', `["${hash}"]`],
    ['eth_getTransactionByBlockNumberAndIndex', '["0x10","0x0"]'],
    ['eth_getBlockByHash', `["${blockAt(1).hash}",false]`],
  ]
  const differing: string[] = []
  let results = 0
  const ask = async (body: Buffer) => {
    const [lean, general] = await Promise.all(
      roads.map(async ({ endpoint }) => shown(await endpoint.handle(body, callerOf(0, false), undefined))),
    )
    if (lean !== general) differing.push(`${body}: ${lean} but ${general}`)
    if (lean?.includes('result')) results++
  }
  for (const [method, params] of calls) {
    const body = Buffer.from(`{"jsonrpc":"2.0","id":1,"method":"${method}","params":${params}}`)
    await ask(body)
    for (let at = 0; at < body.length; at++) {
      const before = body.subarray(0, at)
      const behind = body.subarray(at + 1)
      await ask(Buffer.concat([before, behind]))
      await ask(Buffer.concat([before, Buffer.from('"'), body.subarray(at)]))
      for (const other of '\\"01x,]} ') await ask(Buffer.concat([before, Buffer.from(other), behind]))
    }
  }
  t.strictSame(differing, [])
  t.ok(results > 500, `${results} results`)
})

/** A server with both roads, of which `wrap` may make other endpoints. */
async function bothRoads(
  t: Test,
  limits: Partial<HttpLimits> = {},
  options: Partial<HttpServerOptions> = {},
  wrap = (endpoint: Endpoint) => endpoint,
) {
  const roads = [roadOf(all, 2 ** 20), roadOf(parsed, 0)]
  const routes = roads.map(({ endpoint }, road) => {
    return { name: `road${road}`, endpoint: wrap(endpoint), hosts: [] }
  })
  return await withServer(t, limits, { routes, authorize: (key) => accepted(String(key)), ...options })
}

test('answers to requests that come together, and in pieces, are the same', async (t) => {
  const { port } = await bothRoads(t)
  const runs = Math.ceil(30 * runsFactor)
  for (let run = 0; run < runs; run++) {
    const together = dice.times(1 + dice.throw(8), bodies)
    const requests = (which: number) =>
      together.map((texts) => {
        const body = (texts[which] as Buffer).toString('latin1')
        return rawPost(`/road${which}/v3/key`, body, { 'content-length': String(body.length) })
      })
    const answers = await Promise.all([0, 1].map((which) => askTogether(port, requests(which))))
    t.same(answers[0], answers[1])
  }
  await everyCut(t, port)
})

test('what is logged and traced of a request is the same', async (t) => {
  const written: { line: RequestLine; context?: TraceContext }[] = []
  const requestLog = {
    methods: new Set(all.map(({ name }) => name)),
    settings: { sample: 0, isAll: true },
    write: (line: RequestLine) => written.push({ line }),
    tracer: {
      begin: (parentId: string) => ({ traceId: parentId, spanId: '1', parentId }),
      end: (context: TraceContext, line: RequestLine) => written.push({ line, context }),
    },
  }
  const { post } = await bothRoads(t, {}, { requestLog })
  const runs = Math.ceil(100 * runsFactor)
  for (let run = 0; run < runs; run++) {
    const texts = bodies()
    const headers = { 'x-request-id': `request-${run}`, traceparent: `trace-${run}` }
    const reported: unknown[] = []
    for (const road of [0, 1] as const) {
      await (await post(`/road${road}/v3/0123456789ab`, texts[road].toString('latin1'), headers)).text()
      reported.push(
        written.splice(0).map(({ line: { network, microseconds, ...line }, context }) => {
          t.equal(network, `road${road}`)
          t.ok(Number.isInteger(microseconds))
          return { ...line, context }
        }),
      )
    }
    t.same(reported[0], reported[1])
    t.match(reported[0], [{ request: `request-${run}` }, { context: { parentId: `trace-${run}` } }])
  }
})

test('a body has the same limit', async (t) => {
  const bodyBytesMax = 1_000
  const { post } = await bothRoads(t, { bodyBytesMax })
  for (const length of [bodyBytesMax - 1, bodyBytesMax, bodyBytesMax + 1]) {
    const answers = await Promise.all(
      [0, 1].map(async (road) => {
        const answer = await post(`/road${road}/v3/key`, slotCall.padEnd(length))
        return { status: answer.status, body: await answer.text() }
      }),
    )
    t.same(answers[0], answers[1])
    t.equal(answers[0]?.status, length > bodyBytesMax ? 413 : 200)
  }
})

test('a key that sends thousands of requests at once has the same share of a turn', async (t) => {
  for (const road of [0, 1]) {
    let runs = 0
    const counting = (endpoint: Endpoint): Endpoint => ({
      refuse: (...request) => endpoint.refuse(...request),
      handle(...request) {
        runs++
        return endpoint.handle(...request)
      },
    })
    const { port, post } = await bothRoads(t, {}, {}, counting)
    const asksModestly = async () => {
      t.match(await (await post(`/road${road}/v3/modest`, slotCall)).text(), '"result":"0x')
    }
    await asksModestly()
    let most = 0
    let last = runs
    let isOver = false
    const look = () => {
      most = Math.max(most, runs - last)
      last = runs
      if (!isOver) setImmediate(look)
    }
    look()
    const client = await RawClient.connect(port)
    const requests = 3_000
    client.write(rawPost(`/road${road}/v3/greedy`, slotCall).repeat(requests))
    let answered = 0
    while (answered < requests && (await client.read()) !== undefined) answered++
    isOver = true
    client.socket.destroy()
    // Requests of a turn that are only counted in total, and one for each connection: this one, and those of fetch.
    t.ok(most > 0 && most <= requestsOfKeyMax + 63 + 8, `${most} in a turn`)
    await asksModestly()
  }
})

/** Writes requests at once; the answers. */
async function askTogether(port: number, requests: readonly string[]): Promise<unknown[]> {
  const client = await RawClient.connect(port)
  client.write(Buffer.from(requests.join(''), 'latin1'))
  const answers: unknown[] = []
  for (const _ of requests) answers.push(await readFrom(client))
  client.socket.destroy()
  return answers
}

/** The next answer without the time of day. */
async function readFrom(client: RawClient) {
  const answer = await client.read()
  const headers = new Map(answer?.headers)
  headers.delete('date')
  return answer && { ...answer, headers }
}

/** A request that arrives in two packets, cut at each byte behind its first line. */
async function everyCut(t: Test, port: number): Promise<void> {
  const request = rawPost('/road0/v3/key', slotCall)
  const client = await RawClient.connect(port)
  client.write(request)
  const whole = await readFrom(client)
  t.match(whole?.body, '"result":"0x')
  for (let cut = request.indexOf('\n') + 1; cut < request.length; cut++) {
    client.write(request.slice(0, cut))
    await new Promise((resolve) => setImmediate(resolve))
    client.write(request.slice(cut))
    t.same(await readFrom(client), whole)
  }
  client.socket.destroy()
}
