// @shares
/** API keys that pay for their calls, from the real key ring to both transports. */
import { join } from 'node:path'
import type { Test } from 'tap'
import { NodeStore } from '../../../../src/data/store/node/nodeStore.js'
import { Allowances } from '../../../../src/serving/access/allowances.js'
import { createKey, revokeKey } from '../../../../src/serving/access/keyChanges.js'
import { KeyChecker, keyProblemTexts } from '../../../../src/serving/access/keyChecker.js'
import { Meter } from '../../../../src/serving/access/meter.js'
import { invokeLimitsDefault } from '../../../../src/serving/rollup/invokeTransaction.js'
import { bodyUnits } from '../../../../src/serving/rpc/contexts/price.js'
import { anonymousId } from '../../../../src/serving/rpc/contexts/requestContext.js'
import { createDispatcher } from '../../../../src/serving/rpc/dispatch/dispatch.js'
import type { RollupNetwork } from '../../../../src/serving/rpc/methods/rollup.js'
import { prefixRollupMethods } from '../../../../src/serving/rpc/rollup/rollupRegistry.js'
import type { HttpServerOptions } from '../../../../src/serving/transport/http.js'
import { specTransaction } from '../../../rollup/invokeTransactions.js'
import { chainId, openQueue } from '../../../rollup/queues.js'
import { test } from '../../../transport/eachTransport.js'
import { wideDispatchLimits } from '../../../transport/serverLimits.js'
import { type SocketTestServer, withSocketServer } from '../../../unit/serving/transport/socketServer.js'
import { accepted, call, echo, echoed } from '../../../unit/serving/transport/testServer.js'

const dear = call('test_dear')

interface Metered extends SocketTestServer {
  readonly clock: { ms: number }
  readonly keys: readonly { readonly id: string; readonly text: string }[]
  readonly store: NodeStore
  /** Moves both clocks, the meter's and the key ring's. */
  pass(ms: number): void
}

/** A server with two keys, each with 100 units and 10 more a second. */
async function withMeteredServer(t: Test, options: Partial<HttpServerOptions> = {}): Promise<Metered> {
  const folder = t.testdir()
  const store = NodeStore.open({ path: join(folder, 'node.mdb'), mapBytes: 2 ** 30 })
  t.teardown(() => store.close())
  const clock = { ms: 5_000 }
  const clockMs = () => clock.ms
  const meter = new Meter(undefined, clockMs)
  const allowances = new Allowances(meter, { unitsPerSecond: 10, unitsBurst: 100 })
  const paths = { pepper: join(folder, 'pepper'), demoKey: join(folder, 'demo-key') }
  const ring = KeyChecker.open(store, paths, { allowances, clockMs })
  const keys = ['first', 'second'].map((name) => {
    const { key, text } = createKey(store, ring.pepper, { name }, 'test')
    return { id: key.id, text }
  })
  const server = await withSocketServer(
    t,
    {},
    {
      authorize(key) {
        const result = ring.authorize(key)
        return result.ok ? result : { ok: false, reason: keyProblemTexts[result.why] }
      },
      anonymousAllowance: allowances.of(anonymousId),
      ...options,
    },
  )
  return {
    ...server,
    clock,
    keys,
    store,
    pass: (ms) => {
      clock.ms += ms
    },
  }
}

const exceeded = {
  code: -32005,
  message: 'limit exceeded: this call costs 30 compute units, 10 are left, and 10 come in a second',
  data: { limit: 10, retryAfterMs: 2_000 },
}

test('a single request that cannot be paid gets 429 and is told when to come back', async (t) => {
  const { post, keys, pass } = await withMeteredServer(t)
  const path = `/v3/${keys[0]?.text}`
  for (let i = 0; i < 3; i++) t.equal((await post(path, dear)).status, 200)
  const refused = await post(path, dear, { origin: 'https://a.example' })
  t.equal(refused.status, 429)
  t.equal(refused.headers.get('retry-after'), '2')
  t.match(refused.headers.get('access-control-expose-headers'), /\bretry-after\b/, 'a page may read it')
  t.same(await refused.json(), { jsonrpc: '2.0', id: 1, error: exceeded })
  t.equal(await (await post(path, echo)).text(), echoed, 'a cheaper one is answered')
  t.equal((await post(`/other${path}`, dear)).status, 429, 'all networks are paid by one key')
  t.equal(await (await post(`/v3/${keys[1]?.text}`, dear)).text(), '{"jsonrpc":"2.0","id":1,"result":"dear"}')
  pass(2_100)
  t.equal((await post(path, dear)).status, 200)
})

test('a batch has status 200, and its fourth call of six alone is refused', async (t) => {
  const { post, keys } = await withMeteredServer(t)
  const calls = [dear, dear, dear, dear, echo, echo].map((body, id) => body.replace('"id":1', `"id":${id}`))
  const response = await post(`/v3/${keys[0]?.text}`, `[${calls.join()}]`)
  t.equal(response.status, 200)
  t.equal(response.headers.get('retry-after'), null)
  const answers = (await response.json()) as { id: number; error?: unknown; result?: unknown }[]
  t.strictSame(
    answers.map(({ id }) => id),
    [0, 1, 2, 3, 4, 5],
  )
  t.same(
    answers.map(({ error }) => error),
    [undefined, undefined, undefined, exceeded, undefined, undefined],
  )
  t.same(answers[5]?.result, ['x', null])
})

test('a WebSocket spends from the bucket of its key, together with HTTP', async (t) => {
  const { connect, post, keys, pass } = await withMeteredServer(t)
  const [first, second] = keys.map(({ text }) => text)
  const client = await connect(`/ws/v3/${first}`)
  const another = await connect(`/other/ws/v3/${first}`)
  t.match(await client.ask(`[${dear},${dear}]`), /dear.*dear/)
  t.match(await another.ask(dear), 'dear')
  t.same(JSON.parse((await client.ask(dear)) ?? ''), { jsonrpc: '2.0', id: 1, error: exceeded })
  t.equal((await post(`/v3/${first}`, dear)).status, 429)
  const answers = JSON.parse((await client.ask(`[${echo},${dear},${echo}]`)) ?? '')
  t.match(answers, [{ result: ['x', null] }, { error: { code: -32005 } }, { result: ['x', null] }])
  t.match(await (await connect(`/ws/v3/${second}`)).ask(dear), '"result":"dear"')
  pass(10_000)
  t.match(await client.ask(`[${dear},${dear},${dear}]`), /dear.*dear.*dear/)
})

test('a revoked key is unauthorized, however much it had left or owed', async (t) => {
  const { post, connect, keys, store, pass } = await withMeteredServer(t)
  const [first, second] = keys
  const client = await connect(`/ws/v3/${first?.text}`)
  await client.ask(`[${dear},${dear},${dear}]`)
  for (const key of keys) revokeKey(store, key.id, 'test')
  pass(250)
  for (const key of [first, second]) t.equal((await post(`/v3/${key?.text}`, dear)).status, 401)
  t.match(await client.closed, { code: 1008 })
})

test('without keys everybody spends from one bucket', async (t) => {
  const { post, connect } = await withMeteredServer(t, { noAuth: true })
  const client = await connect('/ws')
  t.match(await client.ask(`[${dear},${dear}]`), /dear.*dear/)
  t.equal((await post('/v3/some', dear)).status, 200)
  t.equal((await post('/', dear)).status, 429)
  t.match(await client.ask(dear), 'limit exceeded')
})

test('methods and the log are told whose call it is, by the id of the key', async (t) => {
  const { post, connect, keys, defects } = await withMeteredServer(t)
  for (const { id, text } of keys) {
    t.match(await (await post(`/v3/${text}`, call('test_keyId'))).text(), `"result":"${id}"`)
    const client = await connect(`/ws/v3/${text}`)
    t.match(await client.ask(call('test_keyId')), `"result":"${id}"`)
    await client.ask(call('test_defect'))
    await post(`/v3/${text}`, `[${call('test_defect')}]`)
  }
  t.strictSame(
    defects.map(({ keyId }) => keyId),
    keys.flatMap(({ id }) => [id, id]),
  )
})

test('where no key is asked for, all are anonymous', async (t) => {
  const { post, connect } = await withMeteredServer(t, { noAuth: true })
  const asked = call('test_keyId')
  t.match(await (await post('/', asked)).text(), `"result":"${anonymousId}"`)
  t.match(await (await connect('/ws/v3/some')).ask(asked), `"result":"${anonymousId}"`)
})

test('without a meter nothing is counted', async (t) => {
  const { post, connect } = await withMeteredServer(t, {
    authorize: (key) => accepted(String(key)),
    anonymousAllowance: undefined,
  })
  const batch = `[${Array(1_000).fill(dear).join()}]`
  t.notMatch(await (await post('/v3/any', batch)).text(), 'limit exceeded')
  t.notMatch(await (await connect('/ws/v3/any')).ask(batch), 'limit exceeded')
})

test('calls to a rollup network are paid as well', async (t) => {
  const { queue } = openQueue(t, t.testdir())
  const current: RollupNetwork = {
    name: 'roll',
    head: { number: 0, hash: undefined, generation: 0 },
    chainId,
    prefix: 'rollupx',
    queue,
    reader: undefined,
    invokeLimits: invokeLimitsDefault,
    verdictMsMax: undefined,
  }
  const dispatcher = createDispatcher<RollupNetwork>({
    methods: prefixRollupMethods(['rollupx', 'alias']),
    limits: wideDispatchLimits,
    log: ({ error }) => t.fail(String(error)),
  })
  const endpoint = dispatcher.endpoint({ current, pinned: () => undefined })
  const { post, keys } = await withMeteredServer(t, { routes: [{ name: 'roll', endpoint, hosts: [] }] })
  const ask = async (body: string) => (await post(`/v3/${keys[0]?.text}`, body)).json()
  const submission = call('rollupx_addInvokeTransaction', `[${JSON.stringify(specTransaction)}]`)
  t.match(await ask(submission), { error: { code: -32005, message: /costs 200 compute units/ } })
  const batch = `[${Array(97).fill(call('alias_chainId')).join()}]`
  t.equal(bodyUnits(batch.length), 2)
  const answers = await ask(batch)
  t.notMatch(JSON.stringify(answers), 'limit exceeded')
  t.match(await ask(call('rollupx_getTransactionStatus', '["0x1"]')), { error: { code: -32005 } })
  t.match(await ask(call('rollupx_chainId')), { result: chainId })
  t.match(await ask(call('rollupx_chainId')), { error: { code: -32005 } })
})

test('of all keys that are connected only those that were changed are looked at again', async (t) => {
  const folder = t.testdir()
  const store = NodeStore.open({ path: join(folder, 'node.mdb'), mapBytes: 2 ** 30 })
  t.teardown(() => store.close())
  const paths = { pepper: join(folder, 'pepper'), demoKey: join(folder, 'demo-key') }
  const ring = KeyChecker.open(store, paths)
  const [kept, revoked] = [
    createKey(store, ring.pepper, { name: 'kept' }, 'test'),
    createKey(store, ring.pepper, { name: 'revoked' }, 'test'),
  ]
  const asked: unknown[] = []
  let seen = ring.readChanges(0).generation
  const { connect } = await withSocketServer(
    t,
    {},
    {
      authorize(key) {
        asked.push(key)
        const result = ring.authorize(key)
        return result.ok ? result : { ok: false, reason: keyProblemTexts[result.why] }
      },
      changedKeys() {
        const { generation, ids } = ring.readChanges(seen)
        seen = generation
        return ids
      },
    },
  )
  const clients = [await connect(`/ws/v3/${kept.text}`), await connect(`/ws/v3/${revoked.text}`)]
  const before = asked.length
  revokeKey(store, revoked.key.id, 'test')
  t.match(await clients[1]?.closed, { code: 1008 })
  t.strictSame(asked.slice(before), [asked[before - 1]], 'as when it had opened')
  t.ok(clients[0]?.socket.readyState === 1, 'the other is still there')
})
