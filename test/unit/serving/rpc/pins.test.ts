import fc from 'fast-check'
import t from 'tap'
import { RequestContext } from '../../../../src/serving/rpc/contexts/requestContext.js'
import { propertyRuns } from '../../../library/property.js'
import { bodyText, createTestEndpoint, failure, result, testHash } from './testMethods.js'

const hashText = (number: number) => `0x${Buffer.from(testHash(number)).toString('hex')}`
const unknown = `0x${'ab'.repeat(32)}`

/** A call of the form that most clients send, with further members after the id. */
const call = (method: string, id = '1', members = '') =>
  `{"jsonrpc":"2.0","id":${id},${members}"method":"${method}","params":[]}`
const pinned = (method: string, at: unknown, id = '1') => call(method, id, `"at":${JSON.stringify(at)},`)
const resultAt = (number: number, json = String(number), id = '1') =>
  `{"jsonrpc":"2.0","id":${id},"at":"${hashText(number)}","result":${json}}`
const malformed = (got: string, id = '1') =>
  failure(-32602, `invalid at: want "latest" or a block hash (0x and 64 hex digits), got ${got}`, id)

t.test('a call with `at` is answered from that block and names it, whatever comes of it', async (t) => {
  const { ask, askLater } = createTestEndpoint()
  t.equal(ask(call('test_block')), result('1'))
  t.equal(ask(pinned('test_block', hashText(7))), resultAt(7))
  t.equal(ask(pinned('test_block', 'latest')), resultAt(1))
  t.equal(ask(pinned('test_block', hashText(10).toUpperCase().replace('X', 'x'))), resultAt(10))
  t.equal(ask(pinned('test_block', hashText(7), '"\\u0041"')), resultAt(7, '7', '"\\u0041"'))
  t.equal(ask(pinned('test_block', hashText(7)).replace('"at"', '"\\u0061t"')), resultAt(7))
  t.equal(await askLater(pinned('test_later', hashText(7))), resultAt(7))
  t.equal(ask(pinned('test_bytes', hashText(7)).replace('[]', '["0x1"]')), resultAt(7, '"é"'))
  t.equal(
    ask(pinned('test_fault', hashText(7))),
    `{"jsonrpc":"2.0","id":1,"at":"${hashText(7)}","error":{"code":-32000,"message":"header not found"}}`,
  )
})

t.test('a header pins what has no `at` of its own, and leaves answers as they are', async (t) => {
  const { ask, askLater } = createTestEndpoint()
  t.equal(ask(call('test_block'), hashText(7)), result('7'))
  t.equal(ask(call('test_block'), 'latest'), result('1'))
  t.equal(await askLater(call('test_later'), hashText(7)), result('7'))
  t.equal(
    ask(
      `[${call('test_block')},${pinned('test_block', hashText(9), '2')},${pinned('test_block', 'latest', '3')}]`,
      hashText(7),
    ),
    `[${result('7')},${resultAt(9, '9', '2')},${resultAt(1, '1', '3')}]`,
    'latest is the head at the arrival, not the block of the header',
  )
})

t.test('what is no block, or an unknown one, spoils only the calls that it pins', async (t) => {
  const { ask, network } = createTestEndpoint()
  const bad: [at: unknown, got: string][] = [
    ['', '""'],
    ['Latest', '"Latest"'],
    ['safe', '"safe"'],
    ['0x1', '"0x1"'],
    [hashText(7).slice(2), JSON.stringify(hashText(7).slice(2))],
    [`${hashText(7)}0`, JSON.stringify(`${hashText(7)}0`)],
    [`0x${'g'.repeat(64)}`, `"0x${'g'.repeat(64)}"`],
    ['x'.repeat(1000), `"${'x'.repeat(80)}…"`],
    [7, 'number'],
    [null, 'null'],
    [true, 'boolean'],
    [[hashText(7)], 'array'],
    [{ blockHash: hashText(7) }, 'object'],
  ]
  for (const [at, got] of bad) t.equal(ask(pinned('test_count', at)), malformed(got))
  const notKnown = failure(-32000, 'header for hash not found')
  t.equal(ask(pinned('test_count', unknown)), notKnown)
  t.equal(network.runs, 0)
  t.equal(ask(call('test_count'), unknown), notKnown)
  t.equal(ask(call('test_count'), '0x1'), malformed('"0x1"'))
  t.equal(
    ask(
      `[${pinned('test_block', 5)},${call('test_block', '2')},${pinned('test_block', unknown, '3')},7,${pinned('test_block', hashText(7), '4')}]`,
    ),
    `[${[
      malformed('number'),
      result('1', '2'),
      failure(-32000, 'header for hash not found', '3'),
      failure(-32600, 'invalid request: a call is an object with jsonrpc, id, method and params', 'null'),
      resultAt(7, '7', '4'),
    ].join(',')}]`,
  )
  t.equal(
    ask(`[${call('test_block')},${pinned('test_block', hashText(7), '2')}]`, unknown),
    `[${notKnown},${resultAt(7, '7', '2')}]`,
  )
  t.equal(ask(pinned('nothing', 5)), failure(-32601, 'the method nothing does not exist/is not available'))
})

t.test('a pinned notification runs and gets no answer', async (t) => {
  const { ask, network } = createTestEndpoint()
  const notification = (at: unknown) => `{"jsonrpc":"2.0","method":"test_block","at":${JSON.stringify(at)}}`
  t.equal(ask(notification(hashText(7))), '')
  t.equal(network.runs, 1)
  for (const at of [unknown, 5]) t.equal(ask(notification(at)), '')
  t.equal(
    ask(`[${notification(hashText(7))},${pinned('test_block', hashText(8))},${notification(5)}]`),
    `[${resultAt(8)}]`,
  )
  t.equal(ask(`[${notification(hashText(7))}]`), '')
})

t.test('a request is answered from the head at its arrival, however far that moves meanwhile', async (t) => {
  const { askLater, ask, network, endpoint } = createTestEndpoint()
  const batch = `[${[
    call('test_block', '1'),
    call('test_job', '2'),
    ...Array.from({ length: 8 }, (_, i) => call('test_job', String(i + 3))),
    call('test_block', '11'),
    call('test_later', '12'),
    pinned('test_block', 'latest', '13'),
    pinned('test_later', hashText(40), '14'),
  ].join(',')}]`
  const asked = askLater(batch)
  const whole = endpoint.handle(Buffer.from(call('test_job')))
  network.head.generation = 2
  t.equal(ask(call('test_block')), result('2'))
  while (network.jobs.length > 0) {
    network.jobs.shift()?.resolve('"done"')
    await new Promise((resolve) => setImmediate(resolve))
  }
  const answers = JSON.parse(await asked)
  t.strictSame(
    answers.map((one: { result: unknown }) => one.result),
    [1, ...Array(9).fill('done'), 1, 1, 1, 40],
  )
  t.strictSame(
    answers.map((one: { at?: string }) => one.at),
    [...Array(12).fill(undefined), hashText(1), hashText(40)],
  )
  t.equal((await whole).block, `1 ${hashText(1)}`)
  t.equal(ask(call('test_block')), result('2'), 'nothing of the former head is remembered for the new one')
})

t.test('jobs of a batch begin as others end, and a slow one holds up no other', async (t) => {
  const { askLater, network } = createTestEndpoint()
  const calls = Array.from({ length: 30 }, (_, i) => call('test_job', String(i)))
  const asked = askLater(`[${calls.join(',')}]`)
  const slow = network.jobs.shift()
  for (let settled = 0; settled < 29; settled++) {
    t.equal(network.jobs.length, Math.min(7, 29 - settled), 'seven others wait beside the slow one')
    network.jobs.shift()?.resolve(String(settled))
    await new Promise((resolve) => setImmediate(resolve))
  }
  slow?.resolve('"slow"')
  const answers: { id: number; result: unknown }[] = JSON.parse(await asked)
  t.strictSame(
    answers.map(({ id }) => id),
    [...calls.keys()],
  )
  t.equal(answers[0]?.result, 'slow')
})

t.test('results that end before earlier ones count for the size of the answer', async (t) => {
  const { askLater, network } = createTestEndpoint({ batchBytesMax: 2_500 })
  const calls = Array.from({ length: 30 }, (_, i) => call('test_job', String(i)))
  const asked = askLater(`[${calls.join(',')}]`)
  for (const job of network.jobs.splice(1)) job.resolve(`"${'x'.repeat(600)}"`)
  await new Promise((resolve) => setImmediate(resolve))
  t.equal(network.runs, 8, 'seven results are more than fits, so no further call runs')
  network.jobs[0]?.resolve('"first"')
  const answers: { result?: string; error?: { code: number } }[] = JSON.parse(await asked)
  t.strictSame(
    answers.map(({ error }) => error?.code),
    [undefined, undefined, undefined, undefined, ...Array(26).fill(-32003)],
  )
  t.equal(answers[0]?.result, 'first')
})

/** A caller that lets `room` calls wait at a time. */
class NarrowCaller extends RequestContext {
  room = 2
  override admit(): boolean {
    if (this.room === 0) return false
    this.room--
    return true
  }
  override release(): void {
    this.room++
  }
}

t.test('calls that a transport has no room for are told so, each for itself', async (t) => {
  const { endpoint, network } = createTestEndpoint()
  const caller = new NarrowCaller()
  const body = [call('test_job', '1'), call('test_echo', '2'), call('test_job', '3'), call('test_job', '4')]
  const asked = endpoint.handle(Buffer.from(`[${body.join(',')},${call('test_block', '5')}]`), caller)
  t.equal(caller.room, 0)
  t.match(await endpoint.handle(Buffer.from(call('test_job', '6')), caller), { status: 503 })
  for (const job of network.jobs) job.resolve('true')
  const answers: { result?: unknown; error?: { code: number; message: string } }[] = JSON.parse(
    bodyText(await asked),
  )
  t.strictSame(
    answers.map(({ result, error }) => error?.message ?? result),
    [true, [null, null], true, 'server busy', 1],
  )
  t.equal(caller.room, 2, 'what was taken is given back')
  t.equal(
    bodyText(
      endpoint.refuse(Buffer.from('[{"jsonrpc":"2.0","id":7,"method":"test_count"},5]'), {
        kind: 'ServerBusy',
        retryAfterMs: 5,
      }),
    ),
    `[{"jsonrpc":"2.0","id":7,"error":{"code":-32005,"message":"server busy","data":{"retryAfterMs":5}}},${failure(-32600, 'invalid request: a call is an object with jsonrpc, id, method and params', 'null')}]`,
  )
})

const layouts = [
  '{"jsonrpc":"2.0","id":ID,AT"method":"METHOD","params":[]}',
  '{"jsonrpc":"2.0","method":"METHOD",AT"params":[],"id":ID}',
  '{"jsonrpc": "2.0", "method": "METHOD", "params": [], AT "id": ID}',
  '{AT"jsonrpc":"2.0","id":ID,"method":"METHOD"}',
]
const pin = fc.constantFrom(undefined, undefined, 'latest', hashText(3), hashText(4), hashText(1))
const question = fc.record({
  layout: fc.constantFrom(...layouts),
  method: fc.constantFrom('test_block', 'test_block', 'test_later'),
  id: fc.constantFrom('1', '2', '"a"'),
  at: pin,
})
const move = fc.record({
  request: fc.array(question, { minLength: 1, maxLength: 4 }),
  isBatch: fc.boolean(),
  header: pin,
  movesHead: fc.constantFrom(false, false, false, 'before', 'during'),
})

t.test('answers of pinned and of other calls never stand for each other', async (t) => {
  await fc.assert(
    fc.asyncProperty(fc.array(move, { minLength: 1, maxLength: 30 }), async (moves) => {
      const { askLater, network } = createTestEndpoint()
      for (const { request, isBatch, header, movesHead } of moves) {
        if (movesHead === 'before') network.head.generation++
        const asked = isBatch ? request : request.slice(0, 1)
        const arrived = network.head.generation
        const numberOf = (at: string | undefined) =>
          at === undefined || at === 'latest' ? arrived : Number(at.slice(0, 4))
        const texts = asked.map(({ layout, method, id, at }) =>
          layout
            .replace('ID', id)
            .replace('METHOD', method)
            .replace('AT', at === undefined ? '' : `"at":"${at}",`),
        )
        const answers = asked.map(({ id, at }) =>
          at === undefined ? result(String(numberOf(header)), id) : resultAt(numberOf(at), undefined, id),
        )
        const answer = askLater(isBatch ? `[${texts.join(',')}]` : (texts[0] as string), header)
        if (movesHead === 'during') network.head.generation++
        const expected = isBatch ? `[${answers.join(',')}]` : answers[0]
        if ((await answer) !== expected) throw new Error(`${texts}: ${await answer} but ${expected}`)
      }
    }),
    propertyRuns(500),
  )
  t.pass('all agree')
})

t.test('what is asked at the head again is answered from memory, and what is pinned runs', async (t) => {
  const { ask, network } = createTestEndpoint()
  for (let i = 0; i < 3; i++) ask(call('test_block'))
  t.equal(network.runs, 2)
  for (let i = 0; i < 3; i++) ask(pinned('test_block', hashText(1)))
  t.equal(network.runs, 5)
  for (let i = 0; i < 3; i++) ask(call('test_block'), 'latest')
  t.equal(network.runs, 8)
  ask(call('test_block'))
  t.equal(network.runs, 8)
})
