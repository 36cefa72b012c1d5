/** The charges of calls, for all outcomes, and the outcome of a call that cannot be paid. */
import t from 'tap'
import { bytesToHex } from '../../../../src/primitives/bytes.js'
import { Allowances } from '../../../../src/serving/access/allowances.js'
import { Meter } from '../../../../src/serving/access/meter.js'
import { bytesPerUnit, priceOf, unitsMax } from '../../../../src/serving/rpc/contexts/price.js'
import { RequestContext } from '../../../../src/serving/rpc/contexts/requestContext.js'
import { defineMethod } from '../../../../src/serving/rpc/method.js'
import { bodyText, createTestEndpoint, type TestEndpoint, testHash } from './testMethods.js'

const call = (method: string, params = '[]', id = 1) =>
  `{"jsonrpc":"2.0","id":${id},"method":"${method}","params":${params}}`
const notification = '{"jsonrpc":"2.0","method":"test_dear"}'

interface Metered extends TestEndpoint {
  readonly clock: { ms: number }
  caller(): RequestContext
  pay(body: string, at?: string): Promise<string>
}

/** An endpoint whose only caller has 100 units and gets 10 a second. */
function createMetered(): Metered {
  const made = createTestEndpoint()
  const clock = { ms: 1_000 }
  const meter = new Meter(undefined, () => clock.ms)
  const id = '0123456789ab'
  const identity = {
    key: { id },
    allowance: new Allowances(meter, { unitsPerSecond: 10, unitsBurst: 100 }).of(id),
  }
  const caller = () => new RequestContext(undefined, identity)
  const pay: Metered['pay'] = async (body, at) =>
    bodyText(await made.endpoint.handle(Buffer.from(body), caller(), at))
  return { ...made, clock, caller, pay }
}

/** The rest of the caller's units, by the wait that a call of 202 units would have. */
async function unitsLeft({ pay }: Metered): Promise<number> {
  const answer = JSON.parse(await pay(call('test_items', `[[${Array(200).fill(0).join()}]]`)))
  return 202 - answer.error.data.retryAfterMs / 100
}

t.test('every call is charged its price once', async (t) => {
  const deeds: [string, number, string?][] = [
    [call('test_echo'), 1],
    [call('test_dear'), 30],
    [call('test_items', '[[1,2,3]]'), 5],
    [`[${call('test_dear')},${call('test_echo')},${call('test_items', '[[]]')}]`, 33],
    [notification, 30],
    [call('test_later'), 1],
    [call('test_fault'), 1],
    [call('test_defect'), 1],
    // Members that are no calls, or that fail before they run.
    [call('test_none'), 1],
    [call('test_items', '[5]'), 1],
    [call('test_dear', '[1,2]'), 1],
    [call('test_dear', '[]'), 1, '0x12'],
    [`[1,{},${call('test_none')}]`, 3],
    ['{"jsonrpc":"1.0"}', 1],
    ['{', 1],
    ['[]', 1],
    [`[${'1,'.repeat(1000)}1]`, 1],
  ]
  for (const [body, price, at] of deeds) {
    const metered = createMetered()
    await metered.pay(body, at)
    t.equal(await unitsLeft(metered), 100 - price, body.slice(0, 100))
  }
})

t.test('what a call takes of a thread beyond its price is owed', async (t) => {
  const deeds: [string, number][] = [
    [call('test_work', '["0x5"]'), 30],
    [call('test_work', '["0x1e"]'), 30],
    [call('test_work', '["0x32"]'), 50],
    // The parts of one request are counted together.
    [`[${call('test_work', '["0x32"]')},${call('test_dear')}]`, 60],
    [`[${call('test_work', '["0x28"]')},${call('test_work', '["0x1e"]')}]`, 70],
  ]
  for (const [body, price] of deeds) {
    const metered = createMetered()
    await metered.pay(body)
    t.equal(await unitsLeft(metered), 100 - price, body)
  }
})

t.test('reading a long request is paid for, and one that cannot be paid is not read', async (t) => {
  const padded = (kilobytes: number) =>
    `[${call('test_echo')},${' '.repeat(kilobytes * 1_024)}${call('test_echo')}]`
  const metered = createMetered()
  t.match(await metered.pay(padded(8)), /"result".*"result"/)
  t.equal(await unitsLeft(metered), 100 - 4 - 2)
  await metered.pay(call('test_items', `[[${Array(89).fill(0).join()}]]`))
  t.same(JSON.parse(await metered.pay(padded(64))), {
    jsonrpc: '2.0',
    id: null,
    error: {
      code: -32005,
      message: 'limit exceeded: this request costs 32 compute units, 3 are left, and 10 come in a second',
      data: { limit: 10, retryAfterMs: 2_900 },
    },
  })
  t.equal(await unitsLeft(metered), 3)
})

t.test('the bytes of a request are paid also where its calls are refused, or owed', async (t) => {
  const metered = createMetered()
  const dear = (id: number) => call('test_items', `[[${Array(200).fill(0).join()}]]`, id)
  const batch = `[${dear(1)},${' '.repeat(8 * 1_024)}${dear(2)}]`
  const refused = [
    { id: 1, error: { code: -32005, message: /this call costs 202 compute units/ } },
    { id: 2, error: { code: -32005 } },
  ]
  t.match(JSON.parse(await metered.pay(batch)), refused)
  t.equal(await unitsLeft(metered), 96)
  await metered.pay(call('test_items', `[[${Array(94).fill(0).join()}]]`))
  t.equal(await unitsLeft(metered), 0)
  t.match(JSON.parse(await metered.pay(batch)), refused, 'read for the ids')
  t.equal(await unitsLeft(metered), -4)
  t.match(await metered.pay(dear(3)), 'limit exceeded')
  t.equal(await unitsLeft(metered), -4, 'a short one is refused for free')
  for (let i = 0; i < 200; i++) await metered.pay(batch)
  t.equal(await unitsLeft(metered), -600, 'a flood is not free, and a minute is the most')
})

t.test('a debt delays the next call, the cheapest too, and says for how long', async (t) => {
  const { pay, clock } = createMetered()
  t.match(await pay(call('test_work', '["0x12c"]')), '"result":true')
  t.same(JSON.parse(await pay(call('test_echo'))).error, {
    code: -32005,
    message: 'limit exceeded: this call costs 1 compute units, 0 are left, and 10 come in a second',
    data: { limit: 10, retryAfterMs: 20_100 },
  })
  clock.ms += 20_100
  t.match(await pay(call('test_echo')), '"result"')
  clock.ms += 3_000
  t.match(await pay(call('test_work', '["0xffff"]')), '"result":true')
  t.equal(JSON.parse(await pay(call('test_echo'))).error.data.retryAfterMs, 60_100, 'a minute is the most')
})

t.test('what is answered from memory takes no thread', async (t) => {
  const metered = createMetered()
  metered.clock.ms = 10_000
  const work = call('test_work', '["0x28"]')
  for (let i = 0; i < 2; i++) await metered.pay(work)
  t.equal(await unitsLeft(metered), 20)
  metered.clock.ms += 3_000
  await metered.pay(work)
  t.equal(await unitsLeft(metered), 20, '30 have come in, and 30 were its price')
})

t.test('a remembered answer costs what it did when it was made', async (t) => {
  const metered = createMetered()
  const { pay, network } = metered
  for (let id = 0; id < 3; id++) t.match(await pay(call('test_dear', '[]', id)), '"result":"dear"')
  t.equal(network.runs, 2, 'the third is a repetition')
  t.equal(await unitsLeft(metered), 10)
  t.match(await pay(call('test_dear', '[]', 3)), 'limit exceeded')
  t.match(await pay(`[${call('test_dear', '[]', 4)},${call('test_echo')}]`), /limit exceeded.*"result"/)
  t.equal(network.runs, 3)
})

t.test(
  'a long answer is paid by its bytes, made or remembered, and what exceeds the price is owed',
  async (t) => {
    const long = Math.ceil((40 * bytesPerUnit) / 2)
    for (const asked of [1, 3]) {
      const metered = createMetered()
      for (let id = 0; id < asked; id++) {
        metered.clock.ms += 60_000
        const answer = await metered.pay(call('test_bytes', `["0x${long.toString(16)}"]`, id))
        t.ok(answer.length > long)
      }
      t.equal(await unitsLeft(metered), 60, `${asked} times`)
    }
    const metered = createMetered()
    const [three, silent] = [
      Array.from({ length: 3 }, (_, id) => call('test_bytes', `["0x${long.toString(16)}"]`, id)),
      call('test_bytes', `["0x${long.toString(16)}"]`).replace('"id":1,', ''),
    ]
    await metered.pay(`[${three.join()}]`)
    t.match(await metered.pay(call('test_echo')), 'limit exceeded')
    metered.clock.ms += 60_000
    await metered.pay(silent)
    t.equal(await unitsLeft(metered), 60, 'an answer that nobody wants was made as well')
  },
)

t.test('a call that cannot be paid does not run, and says when it could be', async (t) => {
  const { pay, network, clock } = createMetered()
  await pay(`[${[1, 2, 3].map((id) => call('test_dear', '[]', id)).join()}]`)
  const runs = network.runs
  t.same(JSON.parse(await pay(call('test_dear', '["x"]', 4))), {
    jsonrpc: '2.0',
    id: 4,
    error: {
      code: -32005,
      message: 'limit exceeded: this call costs 30 compute units, 10 are left, and 10 come in a second',
      data: { limit: 10, retryAfterMs: 2_000 },
    },
  })
  t.equal(await pay(notification), '')
  t.equal(network.runs, runs)
  clock.ms += 1_999
  t.match(await pay(call('test_dear', '["x"]')), '"retryAfterMs":1')
  clock.ms += 1
  t.match(await pay(call('test_dear', '["x"]')), '"result":"dear"')
})

t.test('of a batch only what cannot be paid is refused, and the rest is answered in order', async (t) => {
  const { pay } = createMetered()
  const names = ['test_dear', 'test_dear', 'test_dear', 'test_dear', 'test_later', 'test_echo']
  const answers = JSON.parse(await pay(`[${names.map((name, id) => call(name, '[]', id)).join()}]`))
  t.match(answers, [
    { id: 0, result: 'dear' },
    { id: 1, result: 'dear' },
    { id: 2, result: 'dear' },
    { id: 3, error: { code: -32005, data: { limit: 10, retryAfterMs: 2_000 } } },
    { id: 4, result: 1 },
    { id: 5, result: [null, null] },
  ])
})

t.test('whoever has nothing left gets no other error for free', async (t) => {
  const { pay } = createMetered()
  await pay(call('test_items', `[[${Array(98).fill(0).join()}]]`))
  for (const body of ['{', '[]', call('test_none'), call('test_items', '[5]'), '{"id":1}', '5']) {
    t.match(await pay(body), 'limit exceeded', body)
  }
  t.match(await pay(call('test_dear', '[]'), '0x12'), 'limit exceeded')
})

t.test('reading what is refused is paid for, and what is long and cannot be paid is not read', async (t) => {
  const metered = createMetered()
  const refuse = (bytes: number) => {
    const body = Buffer.from(call('test_echo', `[]${' '.repeat(bytes)}`, 7))
    return bodyText(metered.endpoint.refuse(body, { kind: 'ServerBusy', retryAfterMs: 5 }, metered.caller()))
  }
  t.match(refuse(0), '"id":7')
  t.equal(await unitsLeft(metered), 99)
  t.match(refuse(100 * 1_024), '"id":7')
  t.equal(await unitsLeft(metered), 49)
  t.match(refuse(100 * 1_024), '"id":null')
  t.match(refuse(10 * 1_024), '"id":7')
  t.equal(await unitsLeft(metered), 44)
  await metered.pay(call('test_items', `[[${Array(42).fill(0).join()}]]`))
  t.match(refuse(10 * 1_024), '"id":7')
  t.equal(await unitsLeft(metered), -5, 'owed')
})

/** The charges of a caller for calls that end early. */
function chargedCaller(hasRoom: boolean) {
  const charged: number[] = []
  let places = 0
  class Caller extends RequestContext {
    override admit(): boolean {
      if (hasRoom) places++
      return hasRoom
    }
    override release(): void {
      places--
    }
  }
  const allowance = {
    unitsPerSecond: 1,
    charge: (units: number) => {
      charged.push(units)
      return 0
    },
    debit: () => t.fail('nothing ran'),
  }
  const context = new Caller(undefined, { key: { id: '0123456789ab' }, allowance })
  return { charged, context, places: () => places }
}

t.test(
  'a call that finds no room to wait in is charged as one that is refused, wherever it would run',
  async (t) => {
    const ofPool = createTestEndpoint()
    const views = { fetchMissing: () => Promise.reject(new Error('nothing is fetched')) }
    const ofGateway = createTestEndpoint({}, views)
    const relayed = { passes: (name: string) => name === 'test_relayed', ask: async () => '1' }
    const ofRelay = createTestEndpoint({}, { relay: relayed })
    const cases = [
      [ofPool, 'test_job'],
      [ofGateway, 'test_echo'],
      [ofRelay, 'test_relayed'],
    ] as const
    for (const [{ endpoint }, method] of cases) {
      const { charged, context } = chargedCaller(false)
      t.match(bodyText(await endpoint.handle(Buffer.from(call(method)), context)), 'busy', method)
      t.strictSame(charged, [1], method)
    }
  },
)

t.test('a relayed call that does not come so far costs the least, and keeps no place', async (t) => {
  const relayed = { passes: () => true, ask: async () => '1' }
  const { endpoint } = createTestEndpoint({}, { relay: relayed })
  const cases: readonly [string, string | undefined, number][] = [
    [call('other_method', '5'), undefined, 1],
    [call('other_method'), bytesToHex(testHash(1)), 1],
    [call('other_method'), undefined, 50],
  ]
  for (const [body, at, units] of cases) {
    const { charged, context, places } = chargedCaller(true)
    await endpoint.handle(Buffer.from(body), context, at)
    t.strictSame(charged, [units], body)
    await new Promise(setImmediate)
    t.equal(places(), 0)
  }
})

t.test('members of a batch that are not begun are charged and counted as refused', async (t) => {
  const ended: (readonly [slot: number, code: number | undefined])[] = []
  const counts = {
    slotsFrom: () => 0,
    slotOf: (method: string) => method.length,
    begin: () => 0,
    beginStored: () => 0,
    repeated: () => undefined,
    ended: (slot: number, _isJob: boolean, _startedMs: number, _bytes: unknown, code?: number) => {
      ended.push([slot, code])
      return 0
    },
  }
  const { endpoint } = createTestEndpoint({ batchBytesMax: 1_000 }, {}, counts as never)
  const { charged, context } = chargedCaller(true)
  const long = call('test_bytes', '["0x400"]')
  const batch = `[${long},${call('test_echo')},{"jsonrpc":"2.0","method":"test_count"},${call('test_dear')},5]`
  const answers = JSON.parse(bodyText(await endpoint.handle(Buffer.from(batch), context)))
  t.ok(
    answers.slice(1).every(({ error }: { error?: { code: number } }) => error?.code === -32003),
    JSON.stringify(answers),
  )
  t.strictSame(charged, [1, 1, 1, 1, 1], 'the first one, and each that came after')
  t.equal(ended.length, 5)
  t.strictSame(
    ended.slice(1).map(([slot, code]) => [slot, code]),
    [
      ['test_echo'.length, -32003],
      ['test_count'.length, -32003],
      ['test_dear'.length, -32003],
      [0, -32003],
    ],
  )
})

t.test('no call costs more than a bucket holds at least', async (t) => {
  const { price } = defineMethod({
    name: 'test_endless',
    params: [],
    cost: 'inline',
    price: () => 10 * unitsMax,
    memo: 'never',
    run: () => '1',
  })
  t.equal(priceOf(price, []), unitsMax)
})
