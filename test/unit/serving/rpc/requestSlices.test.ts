/** Long batches and long bodies go on in later turns, and answer as they would have at once. */
import t from 'tap'
import { RequestContext } from '../../../../src/serving/rpc/contexts/requestContext.js'
import { turnMsDefault } from '../../../../src/serving/rpc/contexts/requestSlices.js'
import { bodyText, call, createTestEndpoint, type TestNetwork } from './testMethods.js'

const batchOf = (count: number, make: (id: number) => string) =>
  `[${Array.from({ length: count }, (_, id) => make(id)).join()}]`
const counts = (count: number) => batchOf(count, (id) => call('test_count', '[]', String(id)))

/** A caller with room for `room` waiting calls. It may disconnect. */
class TestCaller extends RequestContext {
  admitted = 0
  released = 0
  constructor(readonly room = Number.POSITIVE_INFINITY) {
    super()
  }
  override admit(): boolean {
    if (this.admitted - this.released >= this.room) return false
    this.admitted++
    return true
  }
  override release(): void {
    this.released++
  }
}

t.test('others are answered between the calls of a long batch, whose answer is the same', async (t) => {
  const { endpoint, ask, network } = createTestEndpoint({ turnMsMax: 0 })
  const atOnce = createTestEndpoint()
  const kinds = [
    (id: string) => call('test_echo', `[${id}]`, id),
    (id: string) => call('test_fault', '[]', id),
    (id: string) => call('test_bytes', '["0x3"]', id),
    (id: string) => call('test_none', '[]', id),
    () => '5',
    () => '{"jsonrpc":"2.0","method":"test_echo"}',
    (id: string) => `{"jsonrpc":"2.0","id":${id},"method":"test_echo","at":"latest"}`,
  ]
  const body = batchOf(70, (id) => kinds[id % kinds.length]?.(String(id)) ?? '')
  const asked = endpoint.handle(Buffer.from(body))
  let isDone = false
  let between = 0
  const answer = Promise.resolve(asked).finally(() => {
    isDone = true
  })
  while (!isDone) {
    await new Promise((resolve) => setImmediate(resolve))
    const runs = network.runs
    t.equal(ask(call('test_count', '[]', '"other"')), `{"jsonrpc":"2.0","id":"other","result":${runs + 1}}`)
    between++
  }
  t.ok(between >= 50, `${between} others`)
  t.equal(bodyText(await answer), atOnce.ask(body))
})

t.test('a batch that is done within its turn is answered at once', async (t) => {
  const { ask } = createTestEndpoint({ turnMsMax: Number.POSITIVE_INFINITY })
  t.equal(JSON.parse(ask(counts(1_000))).length, 1_000)
})

t.test('time ends a turn, and no call is cut', async (t) => {
  const { askLater, network } = createTestEndpoint({ turnMsMax: turnMsDefault })
  const asked = askLater(batchOf(10, (id) => call('test_spin', `[${turnMsDefault / 2}]`, String(id))))
  const turns: number[] = []
  let isDone = false
  void asked.finally(() => {
    isDone = true
  })
  while (!isDone) {
    turns.push(network.runs)
    await new Promise((resolve) => setImmediate(resolve))
  }
  t.ok(new Set(turns).size >= 4, `after each turn of the loop so many were run: ${turns}`)
  t.equal(JSON.parse(await asked).length, 10)
})

t.test('several batches take turns, one in each turn of the loop', async (t) => {
  const { askLater, network } = createTestEndpoint({ turnMsMax: 0 })
  const all = Array.from({ length: 5 }, () => askLater(counts(10)))
  t.equal(network.runs, 1, 'the first alone begins at once')
  let runs = network.runs
  while (runs < 50) {
    await new Promise((resolve) => setImmediate(resolve))
    t.ok(network.runs - runs <= 1)
    runs = network.runs
  }
  const answers = (await Promise.all(all)).map((text) =>
    (JSON.parse(text) as { result: number }[]).map(({ result }) => result),
  )
  t.same(answers[0], [1, 2, 7, 12, 17, 22, 27, 32, 37, 42])
  t.same(answers[4], [6, 11, 16, 21, 26, 31, 36, 41, 46, 50])
})

/** A caller with a key. */
class KeyedCaller extends RequestContext {
  constructor(id: string) {
    super(undefined, { key: { id } })
  }
}

/** Number of calls run in each turn of the loop until all of `asked` are answered. */
async function runsByTurn(network: TestNetwork, asked: readonly unknown[]): Promise<number[]> {
  const runs: number[] = []
  let isDone = false
  void Promise.all(asked).finally(() => {
    isDone = true
  })
  let before = 0
  while (!isDone) {
    runs.push(network.runs - before)
    before = network.runs
    await new Promise((resolve) => setImmediate(resolve))
  }
  return runs
}

t.test('of long requests that arrive together one is worked on in each turn of the loop', async (t) => {
  const pad = ' '.repeat(100_000)
  for (const body of [
    call('test_count', `[${pad}]`),
    call('test_items', `[[${'0,'.repeat(60_000)}0]]`),
    `[${call('test_count')}${pad}]`,
  ]) {
    const { endpoint, network } = createTestEndpoint({ turnMsMax: 0 })
    const asked = Array.from({ length: 16 }, () => endpoint.handle(Buffer.from(body)))
    const runs = await runsByTurn(network, asked)
    t.equal(Math.max(...runs), 1, runs.join())
    t.equal(network.runs, 16)
  }
})

t.test('jobs are handed over in turns, and keys take turns', async (t) => {
  const { endpoint, ask, network } = createTestEndpoint({ turnMsMax: 0 })
  const job = Buffer.from(call('test_later'))
  const busy = new KeyedCaller('a')
  const asked = Array.from({ length: 16 }, () => endpoint.handle(job, busy))
  asked.push(endpoint.handle(job, new KeyedCaller('b')))
  t.equal(network.runs, 1, 'the first alone begins at once')
  t.match(ask(call('test_echo', '[1]')), /result/, 'a short call waits for none of them')
  const runs = await runsByTurn(network, asked)
  t.ok(Math.max(...runs.slice(1)) <= 1, runs.join())
  t.equal(network.runs, 18)
})

t.test('short requests that cost much share a turn as well, and others do not wait for them', async (t) => {
  const { endpoint, ask, network } = createTestEndpoint({ turnMsMax: 0 })
  const asked = Array.from({ length: 16 }, (_, id) =>
    endpoint.handle(Buffer.from(call('test_dear', `[${id}]`))),
  )
  t.equal(network.runs, 1)
  t.equal(ask(call('test_count')), '{"jsonrpc":"2.0","id":1,"result":2}')
  t.equal(Math.max(...(await runsByTurn(network, asked)).slice(1)), 1)
  t.equal(network.runs, 17)
  const gone = new TestCaller()
  void endpoint.handle(Buffer.from(call('test_dear', '["a"]')), gone)
  const unread = endpoint.handle(Buffer.from(call('test_dear', '["b"]')), gone)
  gone.finish()
  await unread
  t.equal(network.runs, 18, 'nor is anything done for who has gone')
  t.match(gone, { admitted: 1, released: 1 })
})

t.test("one key's long requests do not delay another's first", async (t) => {
  const { endpoint, network } = createTestEndpoint({ turnMsMax: 0 })
  const body = Buffer.from(call('test_count', `[${' '.repeat(20_000)}]`))
  const resultOf = async (answer: ReturnType<typeof endpoint.handle>): Promise<number> =>
    JSON.parse(bodyText(await answer)).result
  const attacker = new KeyedCaller('attacker')
  const flood = Array.from({ length: 100 }, () => endpoint.handle(body, attacker))
  const victims = Array.from({ length: 5 }, (_, at) =>
    resultOf(endpoint.handle(body, new KeyedCaller(`victim${at}`))),
  )
  const places = await Promise.all(victims)
  t.ok(Math.max(...places) <= 100 / 4, `run as ${places.join()} of 105`)
  await Promise.all(flood)
  t.equal(network.runs, 105)
})

t.test('a neighbour waits for one body of 5 MiB at most, however many another key sends', async (t) => {
  const { endpoint } = createTestEndpoint({ turnMsMax: 0 })
  const padding = ' '.repeat(5 * 2 ** 20 - 200)
  const attacker = new KeyedCaller('attacker')
  const single = Buffer.from(call('test_count', `[${padding}]`))
  const batch = Buffer.from(`[${call('test_count')},${call('test_count')}${padding}]`)
  const flood = [single, single, batch, single, batch].map((body) => endpoint.handle(body, attacker))
  const short = Buffer.from(call('test_count', `[${' '.repeat(20_000)}]`))
  const answer = await endpoint.handle(short, new KeyedCaller('victim'))
  // The first one may begin at once, and one may come before the neighbour.
  const { result } = JSON.parse(bodyText(answer))
  t.ok(result <= 3, `run as number ${result} of 8`)
  await Promise.all(flood)
})

t.test('a key that has too much waiting loses its newest, and no other key does', async (t) => {
  const { endpoint, network } = createTestEndpoint({ turnMsMax: 0 })
  const body = Buffer.from(call('test_count', `[${' '.repeat(4 * 2 ** 20)}]`))
  const attacker = new KeyedCaller('attacker')
  const flood = Array.from({ length: 40 }, async () => bodyText(await endpoint.handle(body, attacker)))
  const victims = Array.from({ length: 5 }, async (_, at) =>
    bodyText(await endpoint.handle(body, new KeyedCaller(`victim${at}`))),
  )
  for (const answer of await Promise.all(victims)) t.match(answer, '"result"')
  const answers = await Promise.all(flood)
  const busy = answers.map((answer) => answer.includes('server busy'))
  t.notOk(busy[0])
  t.ok(busy.at(-1))
  t.equal(network.runs, 45 - busy.filter(Boolean).length)
})

t.test('a long batch is answered from the head at its arrival, remembered answers too', async (t) => {
  const { ask, endpoint, network } = createTestEndpoint({ turnMsMax: 0 })
  const body = batchOf(200, (id) => call('test_block', `[]${' '.repeat(200)}`, String(id)))
  const asked = endpoint.handle(Buffer.from(body))
  network.head.generation++
  // The new head's answer becomes known while the batch is still being read.
  for (let i = 0; i < 3; i++) {
    t.equal(ask(call('test_block', `[]${' '.repeat(200)}`)), '{"jsonrpc":"2.0","id":1,"result":2}')
  }
  const answer = await asked
  const results = (JSON.parse(bodyText(answer)) as { result: number }[]).map(({ result }) => result)
  t.same(results, Array(200).fill(1))
  t.match(answer.block, /^1 /)
})

t.test('a batch ends when its client goes away', async (t) => {
  const { endpoint, network } = createTestEndpoint({ turnMsMax: 0 })
  const caller = new TestCaller()
  const asked = endpoint.handle(Buffer.from(counts(100)), caller)
  for (let turn = 0; turn < 1_000 && network.runs < 10; turn++) {
    await new Promise((resolve) => setImmediate(resolve))
  }
  caller.finish()
  await asked
  t.equal(network.runs, 10)
  t.match(caller, { admitted: 1, released: 1 })
})

t.test('a batch that may not wait is answered as far as its first turn goes', async (t) => {
  const { endpoint, network } = createTestEndpoint({ turnMsMax: 0 })
  const caller = new TestCaller(0)
  const answer = endpoint.handle(Buffer.from(counts(4)), caller)
  if (answer instanceof Promise) return t.fail('it waited')
  const answers: { result?: number; error?: { code: number } }[] = JSON.parse(bodyText(answer))
  t.same(
    answers.map(({ result, error }) => result ?? error?.code),
    [1, -32005, -32005, -32005],
  )
  t.equal(network.runs, 1)
})

t.test('a batch that takes longer than a request may is answered so from there on', async (t) => {
  const { askLater } = createTestEndpoint({ turnMsMax: 0, requestMsMax: 20 })
  const answers: { error?: { code: number } }[] = JSON.parse(
    await askLater(batchOf(1_000, (id) => call('test_spin', '[5]', String(id)))),
  )
  const codes = answers.map(({ error }) => error?.code)
  t.equal(codes[0], undefined)
  t.equal(codes.at(-1), -32002)
})

t.test('a long body is read in many turns and not kept from its owner', async (t) => {
  const { endpoint, ask, network } = createTestEndpoint({ turnMsMax: 0 })
  const text = 'é'.repeat(100_000)
  const calls = (count: number, last: string) =>
    Buffer.from(
      `[${batchOf(count, (id) => call('test_echo', `["${text}"]`, String(id))).slice(1, -1)},${last}]`,
    )
  const body = calls(20, call('test_count'))
  const asked = endpoint.handle(body)
  t.ok(asked instanceof Promise)
  t.equal(network.runs, 0, 'nothing runs before all is read')
  // The test overwrites the body, as uWebSockets.js reuses its memory.
  body.fill(0)
  t.match(ask(call('test_echo')), /result/)
  const answers: { id: number; result: unknown }[] = JSON.parse(bodyText(await asked))
  t.equal(answers.length, 21)
  t.ok(answers.slice(0, 20).every(({ id, result }, i) => id === i && (result as string[])[0] === text))
  network.runs = 0
  t.match(bodyText(await endpoint.handle(calls(20, '{"id":]'))), /parse error/)
  t.equal(network.runs, 0, 'bad JSON at the end, and nothing runs')
  const gone = new TestCaller()
  const unread = endpoint.handle(calls(20, call('test_count')), gone)
  gone.finish()
  await unread
  t.equal(network.runs, 0)
  t.match(gone, { admitted: 1, released: 1 })
  t.match(bodyText(await endpoint.handle(calls(20, '1'), new TestCaller(0))), /server busy/)
})

t.test('of long requests that are refused one is read in each turn of the loop', async (t) => {
  const { endpoint } = createTestEndpoint({ turnMsMax: 0 })
  const idOf = (padding: number) => {
    const body = Buffer.from(call('test_count', `[${' '.repeat(padding)}]`))
    return JSON.parse(bodyText(endpoint.refuse(body, { kind: 'ServerBusy', retryAfterMs: 5 }))).id
  }
  // A turn in which nothing was done yet.
  await new Promise((resolve) => setImmediate(resolve))
  t.same([idOf(20_000), idOf(20_000), idOf(0)], [1, null, 1])
  await new Promise((resolve) => setImmediate(resolve))
  t.equal(idOf(20_000), 1)
})
