/** The limits of keys with limits of their own, from the real key ring to both transports. */
import { createKey, revokeKey } from '../../../../src/serving/access/keyChanges.js'
import { test } from '../../../transport/eachTransport.js'
import { call, echo, echoed } from '../../../unit/serving/transport/testServer.js'
import { withKeyedServer } from './keyedServer.js'

const policy = '"requests";q=3;w=2, "units";q=25000;w=10;qu="compute-units"'

test('answers of a limited key say what is left, and refusals when to come again', async (t) => {
  const { post, make, clock } = await withKeyedServer(t)
  const limits = { requestsPerSecond: 2, requestsBurst: 3, unitsPerSecond: 2_500 }
  const key = make({ limits })
  const first = await post(`/v3/${key}`, echo)
  t.equal(first.headers.get('ratelimit-policy'), policy)
  t.match(first.headers.get('ratelimit'), /^"requests";r=2;t=1, "units";r=\d{5};t=\d$/)
  t.equal(await first.text(), echoed)
  const batch = JSON.parse(await (await post(`/v3/${key}`, `[${echo},${echo},${echo}]`)).text())
  t.match(batch, [
    { result: ['x', null] },
    { result: ['x', null] },
    {
      error: {
        code: -32005,
        message: 'limit exceeded: this API key may make 2 requests a second, 3 at once',
        data: { limit: 2, retryAfterMs: 500 },
      },
    },
  ])
  const refused = await post(`/v3/${key}`, echo)
  t.equal(refused.status, 429)
  t.equal(refused.headers.get('retry-after'), '1')
  t.match(refused.headers.get('ratelimit'), /^"requests";r=0;t=2, /)
  clock.ms += 500
  t.equal((await post(`/v3/${key}`, echo)).status, 200)
})

test('answers of a limited key to GET say so where caches do not keep them', async (t) => {
  const { base, make } = await withKeyedServer(t)
  const key = make({ limits: { requestsPerSecond: 1, requestsBurst: 1 } })
  const statuses: number[] = []
  for (const left of [0, 0]) {
    const { status, headers } = await fetch(`${base}/v3/${key}/block/0x${'12'.repeat(32)}`)
    statuses.push(status)
    t.equal(headers.get('ratelimit-policy'), '"requests";q=1;w=1')
    t.match(headers.get('ratelimit'), `"requests";r=${left};t=1`)
  }
  t.strictSame(statuses, [404, 429])
})

test('answers of a key without limits have no such headers', async (t) => {
  const { post, make } = await withKeyedServer(t)
  const { headers } = await post(`/v3/${make({ limits: { weight: 3, sockets: 1 } })}`, echo)
  t.equal(headers.get('ratelimit'), null)
})

test('a key has its own number of WebSockets, whatever secret opens them', async (t) => {
  const { make, set, connect, post } = await withKeyedServer(t)
  const key = make({ limits: { sockets: 2 } })
  const clients = [await connect(`/ws/v3/${key}`), await connect('/ws', { 'x-api-key': key })]
  await t.rejects(connect(`/ws/v3/${key}`), { message: /429/ })
  t.equal((await post(`/v3/${key}`, echo)).status, 200)
  for (const client of clients) t.equal(await client.ask(echo), echoed)
  set({ limits: { sockets: 0 } })
  await t.rejects(connect(`/other/ws/v3/${key}`), { message: /429/ })
})

test('limits that are set while a WebSocket is open apply to it', async (t) => {
  const { make, set, connect, store, ring } = await withKeyedServer(t)
  const key = make({})
  const client = await connect(`/ws/v3/${key}`)
  t.equal(await client.ask(echo), echoed)
  set({ limits: { unitsPerDay: 5 } })
  const other = await connect(`/ws/v3/${createKey(store, ring.pepper, { name: 'other' }, 'test').text}`)
  revokeKey(store, 'other', 'test')
  // The change was seen by the time that a later one is.
  await other.closed
  t.match(JSON.parse((await client.ask(call('test_dear'))) ?? ''), {
    error: { code: -32005, message: 'limit exceeded: this API key may spend 5 compute units a day' },
  })
  t.equal(await client.ask(echo), echoed)
})
