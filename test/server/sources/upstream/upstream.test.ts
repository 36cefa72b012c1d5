import t from 'tap'
import { UpstreamFailure } from '../../../../src/sources/upstream/line.js'
import { NodeError, Upstream } from '../../../../src/sources/upstream/upstream.js'
import { fine, type Weather } from '../../../upstream/weatherNode.js'
import { openNode, optionsOf, soon } from './toyNodes.js'

async function failureOf(answer: Promise<unknown>): Promise<UpstreamFailure> {
  const error = await answer.then(
    () => undefined,
    (thrown) => thrown,
  )
  if (!(error instanceof UpstreamFailure)) throw new Error(`no failure but ${error}`)
  return error
}

t.test('questions of one turn are one request, and each gets its answer', async (t) => {
  const node = await openNode(t)
  const upstream = new Upstream(optionsOf(node))
  t.teardown(() => upstream.close())
  const asked = ['0x1', '0x2', '0x3'].map((code) => upstream.ask('eth_getCode', [code], soon()))
  t.strictSame(await Promise.all(asked), ['0x1', '0x2', '0x3'])
  t.equal(node.requests.length, 1)
})

t.test('a node that takes no batches is asked one by one', async (t) => {
  const node = await openNode(t)
  node.weather = (calls) =>
    calls.length === 1
      ? fine
      : { kind: 'status', status: 200, body: '{"id":null,"error":{"code":-32600,"message":"no batches"}}' }
  const upstream = new Upstream(optionsOf(node))
  t.teardown(() => upstream.close())
  const ask = () => Promise.all(['0x1', '0x2'].map((code) => upstream.ask('eth_getCode', [code], soon())))
  t.strictSame(await ask(), ['0x1', '0x2'])
  t.strictSame(await ask(), ['0x1', '0x2'])
  t.strictSame(
    node.requests.map(({ length }) => length),
    [2, 1, 1, 1, 1],
  )
})

t.test('a refusal of a batch has many forms', async (t) => {
  const error = { code: -32600, message: 'batch too large' }
  const forms: Readonly<Record<string, (id: unknown) => unknown>> = {
    'an error': () => ({ id: null, error }),
    'a list of it': () => [{ id: null, error }],
    'a list of it, of the first': (id) => [{ id, error }],
  }
  for (const [form, refusal] of Object.entries(forms)) {
    for (const scheme of ['http', 'ws']) {
      const node = await openNode(t)
      node.refuse = (calls) => (calls.length > 1 ? JSON.stringify(refusal(calls[0]?.id)) : undefined)
      const upstream = new Upstream({ ...optionsOf(node), url: node.url.replace('http', scheme) })
      t.teardown(() => upstream.close())
      const codes = Array.from({ length: 30 }, (_, index) => `0x${index + 1}`)
      const asked = codes.map((code) => upstream.ask('eth_getCode', [code], soon()))
      t.strictSame(await Promise.all(asked), codes, `${form}, ${scheme}`)
    }
  }
})

t.test('the first usable answer to a call counts, whatever else has its id', async (t) => {
  const codes = ['0x1', '0x2', '0x3']
  const right = (calls: readonly { readonly id: unknown }[]) =>
    calls.map(({ id }, at) => ({ id, result: codes[at] }))
  const nothing = { result: null }
  const refusal = { error: { code: -32000, message: 'no' } }
  const ids = (calls: readonly { readonly id: unknown }[], member: object) =>
    calls.map(({ id }) => ({ ...member, id }))
  const forms: Readonly<Record<string, (calls: readonly { readonly id: unknown }[]) => unknown>> = {
    'null after all': (calls) => [...right(calls), ...ids(calls, nothing)],
    'null before all': (calls) => [...ids(calls, nothing), ...right(calls)],
    'null beside each': (calls) => right(calls).flatMap((answer) => [answer, { ...answer, result: null }]),
    'an error after all': (calls) => [...right(calls), ...ids(calls, refusal)],
    'an error before all': (calls) => [...ids(calls, refusal), ...right(calls)],
    'another result after all': (calls) => [...right(calls), ...ids(calls, { result: '0x9' })],
    'ids as texts after all': (calls) => [
      ...right(calls),
      ...calls.map(({ id }) => ({ id: String(id), result: null })),
    ],
    'what is no answer after all': (calls) => [...right(calls), null, 7, [], ...ids(calls, {})],
  }
  for (const [form, write] of Object.entries(forms)) {
    for (const scheme of ['http', 'ws']) {
      for (const count of [1, 3]) {
        const node = await openNode(t)
        node.refuse = (calls) => JSON.stringify(write(calls))
        const lines: string[] = []
        const options = { ...optionsOf(node), url: node.url.replace('http', scheme) }
        const upstream = new Upstream(options, 'a.example', (text) => lines.push(text))
        t.teardown(() => upstream.close())
        for (let round = 0; round < 2; round++) {
          const asked = codes.slice(0, count).map((code) => upstream.ask('eth_getCode', [code], soon()))
          t.strictSame(await Promise.all(asked), codes.slice(0, count), `${form}, ${scheme}, ${count}`)
        }
        const isRepeated = form !== 'what is no answer after all'
        t.equal(lines.length, isRepeated ? 1 : 0, `${form}, ${scheme}, ${count}: ${lines}`)
      }
    }
  }
})

t.test('the size of batches that works is remembered', async (t) => {
  const node = await openNode(t)
  node.weather = (calls) =>
    calls.length <= 3 ? fine : { kind: 'status', status: 500, body: '{"message":"no"}' }
  const upstream = new Upstream(optionsOf(node))
  t.teardown(() => upstream.close())
  const codes = Array.from({ length: 50 }, (_, index) => `0x${index + 1}`)
  const ask = () => Promise.all(codes.map((code) => upstream.ask('eth_getCode', [code], soon())))
  t.strictSame(await ask(), codes)
  const { length } = node.requests
  t.strictSame(await ask(), codes)
  const sizes = node.requests.slice(length).map((calls) => calls.length)
  t.equal(Math.max(...sizes), 3)
  t.equal(sizes.length, 17, 'none is refused again')
  t.not(upstream.policy.isAnswering, false)
})

t.test('a method that is refused in whatever manner is missing for ten minutes', async (t) => {
  for (const [manner, weather] of [
    ['403', { kind: 'status', status: 403, body: '<html></html>' }],
    ['405', { kind: 'status', status: 405 }],
    [
      'words',
      {
        kind: 'status',
        status: 200,
        body: '{"id":1,"error":{"code":-32000,"message":"Method not whitelisted"}}',
      },
    ],
    ['text', { kind: 'status', status: 200, body: '{"error":"Unauthorized"}' }],
  ] as const) {
    const node = await openNode(t)
    node.weather = (calls) => (calls.some(({ method }) => method === 'eth_getCode') ? weather : fine)
    const upstream = new Upstream(optionsOf(node))
    t.teardown(() => upstream.close())
    let laterMs = 0
    const { now } = performance
    t.intercept(performance, 'now', { value: () => now.call(performance) + laterMs })
    t.equal(upstream.policy.mayHave('eth_getCode'), true)
    await t.rejects(upstream.ask('eth_getCode', ['0x1'], performance.now() + 60_000), NodeError, manner)
    t.equal(upstream.policy.mayHave('eth_getCode'), false, manner)
    t.equal(upstream.policy.isAnswering, true, manner)
    laterMs = 600_001
    t.equal(upstream.policy.mayHave('eth_getCode'), true, manner)
  }
})

t.test('a method that fails alone, again and again, counts as missing', async (t) => {
  const node = await openNode(t)
  node.weather = (calls) =>
    calls.some(({ method }) => method === 'eth_getCode') ? { kind: 'status', status: 502 } : fine
  const upstream = new Upstream(optionsOf(node))
  t.teardown(() => upstream.close())
  await upstream.ask('eth_chainId', [], soon())
  while (upstream.policy.mayHave('eth_getCode')) {
    t.equal((await failureOf(upstream.ask('eth_getCode', ['0x1'], soon()))).kind, 'unreadable')
    await upstream.ask('eth_chainId', [], soon())
  }
  t.equal(node.calls.filter(({ method }) => method === 'eth_getCode').length, 0)
  t.equal(upstream.policy.isAnswering, true)
})

t.test('one failed question is no outage while others are answered', async (t) => {
  for (const kind of ['drop', 'half', 'silent'] as const) {
    const node = await openNode(t)
    node.weather = (calls) => (calls.some(({ method }) => method === 'eth_getCode') ? { kind } : fine)
    const notices: string[] = []
    const upstream = new Upstream(optionsOf(node, { timeoutMs: 300 }), 'toy', (line) => notices.push(line))
    t.teardown(() => upstream.close())
    await upstream.ask('eth_chainId', [], soon())
    const failed = failureOf(upstream.ask('eth_getCode', ['0x1'], soon()))
    await new Promise(setImmediate)
    await upstream.ask('eth_chainId', [], soon())
    await failed
    await upstream.ask('eth_chainId', [], soon())
    t.strictSame(notices, [], kind)
  }
})

t.test('over a WebSocket the same', async (t) => {
  const node = await openNode(t)
  const upstream = new Upstream({ ...optionsOf(node), url: node.url.replace('http', 'ws') })
  t.teardown(() => upstream.close())
  t.equal(await upstream.ask('eth_getCode', ['0x5'], soon()), '0x5')
  await t.rejects(upstream.ask('eth_none', [], soon()), NodeError)
  await node.stop()
  t.equal((await failureOf(upstream.ask('eth_getCode', ['0x5'], soon()))).kind, 'unreachable')
  await node.start()
  t.equal(await upstream.ask('eth_getCode', ['0x6'], soon()), '0x6')
})

t.test("a node's own error is passed on", async (t) => {
  const upstream = new Upstream(optionsOf(await openNode(t)))
  t.teardown(() => upstream.close())
  const error: unknown = await upstream.ask('eth_none', [], soon()).catch((thrown) => thrown)
  t.ok(error instanceof NodeError)
  t.match(error, { code: -32601, message: 'the method eth_none does not exist', upstream })
})

t.test('an error of any form is an answer', async (t) => {
  const textless = { toString: 0 }
  for (const [error, code, message] of [
    [{ code: textless, message: textless }, Number.NaN, 'an object'],
    [{ code: '-32601', message: ['no'] }, -32601, 'a list'],
    [{}, Number.NaN, 'undefined'],
  ] as const) {
    const node = await openNode(t, () => ({ error }) as never)
    const upstream = new Upstream(optionsOf(node))
    t.teardown(() => upstream.close())
    const thrown: unknown = await upstream.ask('eth_none', [], soon()).catch((thrown) => thrown)
    t.ok(thrown instanceof NodeError)
    t.match(thrown, { code, message })
  }
})

t.test('every other answer is a failure of its kind', async (t) => {
  const cases: readonly (readonly [Weather, UpstreamFailure['kind']])[] = [
    [{ kind: 'status', status: 500, body: 'Internal Server Error' }, 'unreadable'],
    [{ kind: 'status', status: 200, body: '<html>Welcome</html>' }, 'unreadable'],
    [{ kind: 'status', status: 200, body: '"yes"' }, 'unreadable'],
    [{ kind: 'status', status: 403, body: '{}' }, 'unreadable'],
    [{ kind: 'status', status: 429 }, 'busy'],
    [
      { kind: 'status', status: 200, body: '{"id":1,"error":{"code":-32005,"message":"limit exceeded"}}' },
      'busy',
    ],
    [{ kind: 'half' }, 'unreachable'],
    [{ kind: 'drop' }, 'unreachable'],
    [{ kind: 'drip' }, 'late'],
    [{ kind: 'silent' }, 'late'],
    [{ kind: 'status', status: 200, body: 'x'.repeat(2 ** 20 + 1) }, 'tooLong'],
  ]
  for (const [weather, kind] of cases) {
    const node = await openNode(t)
    node.weather = () => weather
    const upstream = new Upstream(optionsOf(node, { timeoutMs: kind === 'late' ? 50 : 30_000 }))
    t.teardown(() => upstream.close())
    t.equal(
      (await failureOf(upstream.ask('eth_getCode', ['0x1'], soon()))).kind,
      kind,
      JSON.stringify(weather).slice(0, 80),
    )
  }
})

t.test('an answer that is too long as a batch is fetched in halves', async (t) => {
  const node = await openNode(t)
  const upstream = new Upstream(optionsOf(node, { answerBytesMax: 5_000 }))
  t.teardown(() => upstream.close())
  const codes = Array.from({ length: 4 }, (_, index) => `0x${String(index).repeat(2_000)}`)
  const asked = await Promise.all(codes.map((code) => upstream.ask('eth_getCode', [code], soon())))
  t.strictSame(asked, codes)
})

t.test('after failures in a row the node is left alone, and asked again later', async (t) => {
  const node = await openNode(t)
  const notices: string[] = []
  node.weather = () => ({ kind: 'status', status: 500 })
  const upstream = new Upstream(optionsOf(node), 'toy', (text) => notices.push(text))
  t.teardown(() => upstream.close())
  while (!upstream.policy.isResting) await failureOf(upstream.ask('eth_getCode', ['0x1'], soon()))
  const { length } = node.requests
  t.equal((await failureOf(upstream.ask('eth_getCode', ['0x1'], soon()))).kind, 'resting')
  t.equal(node.requests.length, length, 'no request')
  node.weather = () => fine
  let answer: unknown
  while (answer === undefined) {
    answer = await upstream.ask('eth_getCode', ['0x1'], soon()).catch(() => undefined)
  }
  t.equal(answer, '0x1')
  t.strictSame(notices, ['toy does not answer (HTTP status 500); trying again', 'toy answers again'])
})

t.test('Retry-After is a pause, of half a minute at most where none is answered between', async (t) => {
  const node = await openNode(t)
  const busy = () => ({ kind: 'status', status: 429, headers: { 'retry-after': '100' } }) as const
  const upstream = new Upstream(optionsOf(node))
  t.teardown(() => upstream.close())
  const now = performance.now.bind(performance)
  let aheadMs = 0
  performance.now = () => now() + aheadMs
  t.teardown(() => {
    performance.now = now
  })
  const ask = () => upstream.ask('eth_getCode', ['0x1'], soon())
  for (const seconds of [1, 4, 16, 30, 30]) {
    node.weather = busy
    const { length } = node.requests
    t.equal((await failureOf(ask())).retryAfterMs, 100_000)
    const waitMs = upstream.policy.waitMs()
    t.ok(waitMs > 0 && waitMs <= seconds * 1_000 && waitMs > seconds * 1_000 - 900, `${waitMs}`)
    t.equal((await failureOf(ask())).kind, 'busy')
    t.equal(node.requests.length, length + 1)
    aheadMs += seconds * 1_000
  }
  node.weather = () => fine
  t.equal(await ask(), '0x1')
  node.weather = busy
  await failureOf(ask())
  t.ok(upstream.policy.waitMs() <= 1_000, 'it answered between')
})

t.test('no more questions than its budget', async (t) => {
  const node = await openNode(t)
  const upstream = new Upstream(optionsOf(node, { requestsPerSecond: 0.001 }))
  t.teardown(() => upstream.close())
  t.equal(await upstream.ask('eth_getCode', ['0x1'], soon()), '0x1')
  t.equal((await failureOf(upstream.ask('eth_getCode', ['0x1'], soon()))).kind, 'busy')
  t.equal(node.requests.length, 1)
})

t.test('the deadline of a question, though the node would have more time', async (t) => {
  const node = await openNode(t)
  node.weather = () => ({ kind: 'silent' })
  const upstream = new Upstream(optionsOf(node))
  t.teardown(() => upstream.close())
  t.equal((await failureOf(upstream.ask('eth_getCode', ['0x1'], performance.now() + 20))).kind, 'late')
  t.not(upstream.policy.isAnswering, false, 'which says nothing against the node')
})

t.test('quarantine doubles with each lie, and a minute without one halves it', async (t) => {
  const notices: string[] = []
  const upstream = new Upstream(optionsOf(await openNode(t)), 'toy', (text) => notices.push(text))
  t.teardown(() => upstream.close())
  let laterMs = 0
  const { now } = performance
  t.intercept(performance, 'now', { value: () => now.call(performance) + laterMs })
  const lie = () => {
    upstream.policy.accuse('a lie')
    t.ok(upstream.policy.isQuarantined)
    return Number(/not asked for (\d+) s/.exec(notices.at(-1) as string)?.[1])
  }
  /** Waits for the end of the quarantine, and then this number of seconds. */
  const pass = (seconds: number, after: number) => {
    laterMs += (seconds + after) * 1_000
    t.notOk(upstream.policy.isQuarantined)
  }
  t.equal(lie(), 5)
  pass(5, 1)
  t.equal(lie(), 10)
  pass(10, 1)
  t.equal(lie(), 20)
  pass(20, 61)
  t.equal(lie(), 20)
  pass(20, 181)
  t.equal(upstream.policy.offences, 0)
  t.equal(await upstream.ask('eth_getCode', ['0x1'], performance.now() + 60_000), '0x1')
  t.equal(lie(), 5)
  for (let count = 0; count < 20; count++) {
    laterMs += 4_000_000
    lie()
  }
  t.ok(upstream.policy.lies.length <= 8)
  t.equal(upstream.policy.totals.lies, 25)
})

t.test('secrets of a URL are in no message', async (t) => {
  const notices: string[] = []
  const url = 'http://user:password@127.0.0.1:9/v3/SECRET?key=SECRET'
  const upstream = new Upstream({ url, timeoutMs: 1_000, answerBytesMax: 100 }, undefined, (text) =>
    notices.push(text),
  )
  t.teardown(() => upstream.close())
  const failure = await failureOf(upstream.ask('eth_chainId', [], soon()))
  const texts = [failure.message, failure.stack ?? '', upstream.name, ...notices]
  t.ok(notices.length > 0)
  for (const text of texts) t.notMatch(text, /SECRET|password/)
})
