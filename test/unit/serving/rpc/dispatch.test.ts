import { constants } from 'node:buffer'
import t from 'tap'
import { RequestContext } from '../../../../src/serving/rpc/contexts/requestContext.js'
import { createDispatcher } from '../../../../src/serving/rpc/dispatch/dispatch.js'
import { wideDispatchLimits } from '../../../transport/serverLimits.js'
import { bodyText, call, createTestEndpoint, failure, result, testMethods } from './testMethods.js'

t.test('an id comes back byte for byte', async (t) => {
  const { ask } = createTestEndpoint()
  const ids = [
    '0',
    '-0',
    '1.0',
    '1e3',
    '-1.5E-7',
    '123456789012345678901234567890',
    '""',
    '"a"',
    '"\\u0041\\n\\ud800"',
    '"é😀"',
    'null',
  ]
  for (const id of ids) {
    t.equal(ask(call('test_echo', '[1]', id)), result('[1,null]', id))
    t.equal(ask(`[${call('test_echo', '[1]', id)}]`), `[${result('[1,null]', id)}]`)
    t.equal(ask(`{"method":1,"id":${id}}`), failure(-32600, 'invalid request: jsonrpc must be "2.0"', id))
  }
})

t.test('an id that is no string, number or null is refused with a null id', async (t) => {
  const { ask } = createTestEndpoint()
  for (const id of ['true', '{}', '[1]']) {
    t.equal(
      ask(call('test_echo', '[]', id)),
      failure(-32600, 'invalid request: id must be a string, a number or null', 'null'),
    )
  }
})

t.test('of repeated members the last counts, however their keys are written', async (t) => {
  const { ask } = createTestEndpoint()
  t.equal(
    ask('{"jsonrpc":"2.0","id":1,"method":"test_fault","\\u0069d":2.0,"method":"test_echo"}'),
    result('[null,null]', '2.0'),
  )
  t.equal(ask('{"jsonrpc":"2.0","id":{},"method":"test_echo","id":3}'), result('[null,null]', '3'))
  t.equal(
    ask('{"x":{"id":9},"jsonrpc":"2.0","id":"]}","method":"test_echo","y":["id",8]}'),
    result('[null,null]', '"]}"'),
  )
})

t.test('what is no request is refused', async (t) => {
  const { ask } = createTestEndpoint()
  for (const body of ['', ' ', '{', '{"a":}', 'nul', '[1,', '[1 2]', '[],', '[]]', '{} {}', '\ufeff{}']) {
    t.equal(ask(body), failure(-32700, 'parse error', 'null'), body)
  }
  t.equal(ask(Uint8Array.of(0x22, 0xff, 0x22)), failure(-32700, 'parse error', 'null'))
  const invalid = (why: string, id: string) => failure(-32600, `invalid request: ${why}`, id)
  const noObject = 'a call is an object with jsonrpc, id, method and params'
  const noVersion = 'jsonrpc must be "2.0"'
  const noMethod = 'method must be a string'
  for (const [body, why] of [
    ['1', noObject],
    ['"x"', noObject],
    ['null', noObject],
    ['{}', noVersion],
    ['{"jsonrpc":"2.0"}', noMethod],
  ] as const) {
    t.equal(ask(body), invalid(why, 'null'), body)
  }
  for (const [member, why] of [
    ['"jsonrpc":"1.0"', noVersion],
    ['"jsonrpc":2.0', noVersion],
    ['"method":5', noMethod],
    [`"method":"${'m'.repeat(2049)}"`, 'method has more than 2048 characters'],
  ] as const) {
    const body = `{"jsonrpc":"2.0","method":"test_echo","id":7,${member}}`
    t.equal(ask(body), invalid(why, '7'), member.slice(0, 40))
  }
  t.equal(
    ask(call('m'.repeat(2048))),
    failure(-32601, `the method ${'m'.repeat(2048)} does not exist/is not available`),
  )
})

t.test('names of Object.prototype are unknown methods like any other', async (t) => {
  const { ask } = createTestEndpoint()
  for (const name of ['__proto__', 'constructor', 'toString', '']) {
    t.equal(ask(call(name)), failure(-32601, `the method ${name} does not exist/is not available`))
  }
})

t.test('a notification runs and gets no answer, whatever comes of it', async (t) => {
  const { ask, network } = createTestEndpoint()
  t.equal(ask('{"jsonrpc":"2.0","method":"test_count"}'), '')
  t.equal(network.runs, 1)
  t.equal(ask('{"jsonrpc":"2.0","method":"test_nothing"}'), '')
  t.equal(ask('[{"jsonrpc":"2.0","method":"test_count"},{"jsonrpc":"2.0","method":"test_fault"}]'), '')
  t.equal(ask(`[{"jsonrpc":"2.0","method":"test_count"},${call('test_echo')}]`), `[${result('[null,null]')}]`)
})

t.test('a batch is answered in order, and an unusable member spoils only itself', async (t) => {
  const { ask } = createTestEndpoint()
  t.equal(
    ask(
      `[${call('test_echo', '[1]', '1')}, 5 ,${call('test_fault', '[]', '"b"')},{"id":3},[],${call('test_bytes', '["0x2"]', '4')}]`,
    ),
    `[${[
      result('[1,null]', '1'),
      failure(-32600, 'invalid request: a call is an object with jsonrpc, id, method and params', 'null'),
      failure(-32000, 'header not found', '"b"'),
      failure(-32600, 'invalid request: jsonrpc must be "2.0"', '3'),
      failure(-32600, 'invalid request: a call is an object with jsonrpc, id, method and params', 'null'),
      result('"éé"', '4'),
    ].join(',')}]`,
  )
  t.equal(ask('[]'), failure(-32600, 'empty batch', 'null'))
  t.equal(ask(' [ ] '), failure(-32600, 'empty batch', 'null'))
})

t.test('a batch with bad JSON anywhere runs nothing', async (t) => {
  const { ask, network } = createTestEndpoint()
  for (const bad of ['{"a":}', '[1,}]', '1.', 'tru', '"\\x"', call('test_count', '[1,}')]) {
    t.equal(ask(`[${call('test_count')},${bad}]`), failure(-32700, 'parse error', 'null'), bad)
  }
  t.equal(network.runs, 0)
})

t.test('a batch has at most 1,000 calls, counted before anything runs', async (t) => {
  const { ask, network, endpoint } = createTestEndpoint()
  const batch = (count: number) => `[${Array(count).fill(call('test_count')).join(',')}]`
  t.equal(JSON.parse(ask(batch(1000))).length, 1000)
  network.runs = 0
  const tooLarge = (id: string) => `[${failure(-32600, 'batch too large', id)}]`
  const notification = '{"jsonrpc":"2.0","method":"test_count"}'
  t.equal(ask(batch(1001)), tooLarge('1'), 'a list of one, with the id of the first call')
  const rows = [
    [call('test_count', '[]', '"a\\u0062"'), '"a\\u0062"'],
    [notification, '7'],
    ['5', '7'],
    ['{"id":3}', '7'],
  ] as const
  for (const [first, id] of rows) {
    t.equal(
      ask(`[${first},${notification},${`${call('test_count', '[]', '7')},`.repeat(999)}9]`),
      tooLarge(id),
    )
  }
  t.equal(ask(`[${'{},'.repeat(1001)}no JSON`), tooLarge('null'), 'the rest is not read')
  t.equal(ask(`[no JSON,${'{},'.repeat(1001)}`), failure(-32700, 'parse error', 'null'))
  t.match(
    endpoint.refuse(Buffer.from(batch(1001)), { kind: 'ServerBusy', retryAfterMs: 1 }).body,
    tooLarge('1'),
  )
  t.equal(network.runs, 0)
})

t.test('calls whose answers no longer fit into a batch are told so', async (t) => {
  const { ask, network } = createTestEndpoint({ batchBytesMax: 250 })
  const body = `[${[1, 2, 3, 4].map((id) => call('test_bytes', id === 2 ? '["0x3e8"]' : '["0x1"]', String(id))).join(',')}]`
  t.same(
    JSON.parse(ask(body)).map((one: { id: number; error?: { code: number } }) => one.error?.code ?? one.id),
    [1, -32003, -32003, -32003],
  )
  t.equal(network.runs, 2, 'nothing runs after the first that does not fit')
})

t.test('what calls without an id come to counts towards the size of the answer', async (t) => {
  const { ask, network } = createTestEndpoint({ batchBytesMax: 250 })
  const silent = '{"jsonrpc":"2.0","method":"test_bytes","params":["0x64"]}'
  t.equal(ask(`[${Array(10).fill(silent).join()}]`), '')
  t.equal(network.runs, 2, 'nothing runs once it is too much')
  const loud = (id: number) => call('test_bytes', '["0x1"]', String(id))
  t.match(JSON.parse(ask(`[${loud(1)},${silent},${loud(2)},${silent},${loud(3)}]`)), [
    { id: 1, result: 'é' },
    { id: 2, result: 'é' },
    { id: 3, error: { code: -32003 } },
  ])
})

t.test('a defect is answered with its id and logged', async (t) => {
  const { ask, defects } = createTestEndpoint()
  const answer = ask(call('test_defect', '[]', '5'))
  t.match(defects, [{ where: 'test_defect', error: { message: 'a secret' } }])
  t.same(JSON.parse(answer), {
    jsonrpc: '2.0',
    id: 5,
    error: { code: -32603, message: 'internal error', data: { id: defects[0]?.id } },
  })
})

t.test('a busy server has its own HTTP status, alone and not in a batch', async (t) => {
  const { endpoint } = createTestEndpoint()
  t.match(endpoint.handle(Buffer.from(call('test_busy'))), { status: 503, retryAfterMs: 1500 })
  t.match(endpoint.handle(Buffer.from(`[${call('test_busy')}]`)), { status: 200 })
})

t.test('a job is answered when it is done, and repeated only under the head it began with', async (t) => {
  const { askLater, ask, network } = createTestEndpoint()
  for (const time of ['first', 'second']) {
    const asked = askLater(call('test_job'))
    network.jobs.pop()?.resolve('"done"')
    t.equal(await asked, result('"done"'), time)
  }
  t.equal(ask(call('test_job')), result('"done"'))
  const second = askLater(call('test_job', '["0x1"]'))
  network.head.generation++
  network.jobs.pop()?.resolve('"old"')
  t.equal(await second, result('"old"'))
  const third = askLater(call('test_job', '["0x1"]'))
  network.jobs.pop()?.reject(new Error('a secret'))
  t.match(await third, /internal error/)
})

t.test('jobs in a batch run a few at a time and keep their order', async (t) => {
  const { askLater, network } = createTestEndpoint()
  const calls = Array.from({ length: 20 }, (_, i) => call('test_job', `["0x${i.toString(16)}"]`, String(i)))
  const asked = askLater(`[${call('test_echo', '[]', '"first"')},${calls.join(',')}]`)
  let most = 0
  for (let turn = 0; turn < 1_000 && (network.runs < 20 || network.jobs.length > 0); turn++) {
    most = Math.max(most, network.jobs.length)
    network.jobs.pop()?.resolve('true')
    await new Promise((resolve) => setImmediate(resolve))
  }
  const ids = JSON.parse(await asked).map((one: { id: unknown }) => one.id)
  t.same(ids, ['first', ...calls.keys()])
  t.ok(most > 1 && most <= 8, `${most} at a time`)
})

t.test('what is not done in time is answered so', async (t) => {
  const { askLater, network } = createTestEndpoint({ requestMsMax: 20 })
  t.equal(await askLater(call('test_job')), failure(-32002, 'request timed out'))
  const batch = `[${call('test_echo')},${Array(10)
    .fill(call('test_job', '[]', '2'))
    .join(',')},${call('test_count', '[]', '3')}]`
  const answers: { error?: { code: number } }[] = JSON.parse(await askLater(batch))
  t.same(
    answers.map((one) => one.error?.code),
    [undefined, ...Array(11).fill(-32002)],
  )
  for (const job of network.jobs) job.reject(new Error('too late to matter'))
})

t.test('nothing thrown escapes: an answer longer than a text can be, a store that fails', async (t) => {
  const { ask, askLater, network, defects } = createTestEndpoint()
  const longest = 'x'.repeat(constants.MAX_STRING_LENGTH)
  const defect = (id: string) => new RegExp(`"id":${id},"error":\\{"code":-32603,"message":"internal error"`)
  for (const batch of [false, true]) {
    const asked = batch
      ? askLater(`[${call('test_job')},${call('test_count', '[]', '2')}]`)
      : askLater(call('test_job'))
    network.jobs.pop()?.resolve(longest)
    const answer = await asked
    t.match(answer, defect('1'))
    if (batch) t.match(answer, /"id":2,"result":/)
  }
  const broken = createDispatcher({
    methods: testMethods,
    limits: wideDispatchLimits,
    log: (defect) => defects.push(defect),
  })
  let isBroken = false
  const endpoint = broken.endpoint({
    get current() {
      if (isBroken) throw new Error('the store fails')
      return network.current
    },
    pinned: () => {
      throw new Error('the store fails')
    },
  })
  const pinned = `{"jsonrpc":"2.0","id":3,"method":"test_count","at":"0x${'11'.repeat(32)}"}`
  t.match(bodyText(await endpoint.handle(Buffer.from(pinned))), defect('3'))
  t.match(bodyText(await endpoint.handle(Buffer.from(call('test_count')), undefined, 'latest')), defect('1'))
  isBroken = true
  t.match(bodyText(await endpoint.handle(Buffer.from(call('test_count')))), defect('null'))
  t.match(bodyText(await endpoint.handle(Buffer.from('['))), defect('null'))
  t.equal(
    bodyText(endpoint.refuse(Buffer.from('['), { kind: 'ServerBusy', retryAfterMs: 5 })),
    failure(-32700, 'parse error', 'null'),
  )
  t.equal(defects.length, 6, 'two long answers, four failures of the store')
  t.ok(ask(call('test_echo')))
})

t.test('two methods of one name are refused', async (t) => {
  t.throws(() =>
    createDispatcher({
      methods: [testMethods[0], testMethods[0]],
      limits: wideDispatchLimits,
      log: () => {},
    }),
  )
})

t.test('a refused request runs nothing, and each of its calls is told why', async (t) => {
  const { endpoint, network, ask } = createTestEndpoint()
  const known = call('test_echo', '["known"]')
  ask(known)
  const refuse = (body: string) =>
    bodyText(endpoint.refuse(Buffer.from(body), { kind: 'ServerBusy', retryAfterMs: 5 }))
  const busy = (id: string) =>
    `{"jsonrpc":"2.0","id":${id},"error":{"code":-32005,"message":"server busy","data":{"retryAfterMs":5}}}`
  t.equal(refuse(known), busy('1'))
  t.equal(refuse(call('test_none', '[]', '"x"')), busy('"x"'))
  t.equal(
    refuse(`[${known},{"jsonrpc":"2.0","method":"test_count"},1,${call('test_job', '[]', '4')}]`),
    [
      `[${busy('1')}`,
      failure(-32600, 'invalid request: a call is an object with jsonrpc, id, method and params', 'null'),
      `${busy('4')}]`,
    ].join(),
  )
  t.equal(refuse('{"jsonrpc":"2.0","method":"test_count"}'), '')
  t.equal(refuse('['), failure(-32700, 'parse error', 'null'))
  t.equal(refuse('[]'), failure(-32600, 'empty batch', 'null'))
  t.equal(refuse(`[${call('test_count')},${call('test_count')}${' '.repeat(2 ** 20)}]`), busy('null'))
  t.equal(network.runs, 1)
})

t.test('every call that may wait is admitted once and released once, whatever comes of it', async (t) => {
  class CountingCaller extends RequestContext {
    admitted = 0
    released = 0
    override admit(): boolean {
      if (this.admitted - this.released >= 2) return false
      this.admitted++
      return true
    }
    override release(): void {
      this.released++
    }
  }
  const { endpoint, network } = createTestEndpoint()
  const caller = new CountingCaller()
  const jobs = Array.from({ length: 4 }, (_, id) => call('test_job', `["0x${id}"]`, String(id)))
  const asked = endpoint.handle(
    Buffer.from(`[${call('test_echo')},${call('test_job', '[{}]', '9')},${jobs}]`),
    caller,
  )
  t.equal(network.jobs.length, 2)
  network.jobs[0]?.resolve('"done"')
  network.jobs[1]?.reject(new Error('a defect'))
  const answers: { id: number; result?: unknown; error?: { code: number } }[] = JSON.parse(
    bodyText(await asked),
  )
  t.strictSame(
    answers.map(({ id, error, result }) => [id, error?.code ?? result]),
    [
      [1, [null, null]],
      [9, -32602],
      [0, 'done'],
      [1, -32603],
      [2, -32005],
      [3, -32005],
    ],
  )
  t.match(caller, { admitted: 3, released: 3 })
})

t.test('a batch that overflows still says what its calls did', async (t) => {
  const { network, askLater } = createTestEndpoint({ batchBytesMax: 1_000 })
  const long = call('test_job')
  const count = call('test_count', '[]', '2')
  const asked = askLater(`[${long},${count},${long},${call('test_bytes', '["0x3e8"]', '3')}]`)
  const json = JSON.stringify('x'.repeat(2_000))
  for (const job of network.jobs) job.resolve(json)
  const tooLarge = (id: string) => failure(-32003, 'response too large', id)
  // A count has the form of a subscription's id: it reports an effect.
  t.equal(await asked, `[${tooLarge('1')},${result('2', '2')},${tooLarge('1')},${tooLarge('3')}]`)
})
