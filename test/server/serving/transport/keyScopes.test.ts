/** Scopes of keys by place and method, from the real key ring to both transports. */
import { randomBytes } from 'node:crypto'
import { SignJWT } from 'jose'
import {
  addToken,
  createKey,
  findKey,
  removeToken,
  revokeKey,
  rotateKey,
} from '../../../../src/serving/access/keyChanges.js'
import { verifierOfSecret } from '../../../../src/serving/access/tokens.js'
import { waitFor } from '../../../library/until.js'
import { test } from '../../../transport/eachTransport.js'
import { call, echo, echoed } from '../../../unit/serving/transport/testServer.js'
import { withKeyedServer } from './keyedServer.js'

const json = { 'content-type': 'application/json' }

async function outcome(response: Promise<Response>): Promise<readonly [number, unknown]> {
  const { status, body } = await response.then(async (r) => ({ status: r.status, body: await r.text() }))
  return [status, status === 200 ? body : JSON.parse(body).error]
}

test('a key for one network is refused on the others, before its request is read', async (t) => {
  const { post, make, connect } = await withKeyedServer(t)
  const key = make({ scopes: { networks: ['other'] } })
  t.strictSame(await outcome(post(`/other/v3/${key}`, echo)), [200, echoed])
  for (const path of [`/v3/${key}`, `/testnet/v3/${key}`]) {
    t.strictSame(await outcome(post(path, 'not JSON')), [
      403,
      { code: -32004, message: 'network testnet is not allowed for this API key' },
    ])
  }
  await t.rejects(connect(`/ws/v3/${key}`), { message: /403/ })
  t.equal(await (await connect(`/other/ws/v3/${key}`)).ask(echo), echoed)
})

test('refusals name the key that is outside its scope or has ended, and none that is unknown', async (t) => {
  const { post, make, store, rejections } = await withKeyedServer(t)
  const key = make({ scopes: { networks: ['other'] } })
  const id = findKey(store, 'shop').id
  await post(`/v3/${key}`, echo)
  t.match(rejections.at(-1), { reason: 'key network', keyId: id })
  await post(`/v3/${key.slice(0, -1)}`, echo)
  t.match(rejections.at(-1), { reason: 'key', keyId: undefined })
  revokeKey(store, id, 'test')
  const isRevoked = async () => (await post(`/other/v3/${key}`, echo)).status === 401
  await waitFor('the end of the key', isRevoked)
  t.match(rejections.at(-1), { reason: 'key', keyId: id })
})

test('a key for some methods is refused the others, call by call', async (t) => {
  const { post, make, connect } = await withKeyedServer(t)
  const key = make({ scopes: { methods: ['test_ec*', 'test_dear'] } })
  const refused = { code: -32004, message: 'method test_count is not allowed for this API key' }
  t.strictSame(await outcome(post(`/v3/${key}`, echo)), [200, echoed])
  const nothing = call('test_count')
  t.match(JSON.parse(String((await outcome(post(`/v3/${key}`, nothing)))[1])), { error: refused })
  const batch = `[${echo},${nothing},${echo}]`
  const answers = JSON.parse(String((await outcome(post(`/v3/${key}`, batch)))[1]))
  t.match(answers, [{ result: ['x', null] }, { error: refused }, { result: ['x', null] }])
  const client = await connect(`/ws/v3/${key}`)
  t.match(JSON.parse((await client.ask(batch)) ?? ''), answers)
  t.match(JSON.parse((await client.ask(call('test_nowhere'))) ?? ''), { error: { code: -32601 } })
})

test('an answer that is stored for one key is refused to a key that may not call its method', async (t) => {
  const { post, make, store, ring } = await withKeyedServer(t)
  const all = createKey(store, ring.pepper, { name: 'all' }, 'test').text
  const key = make({ scopes: { methods: ['eth_*'] } })
  for (let time = 0; time < 4; time++) t.strictSame(await outcome(post(`/v3/${all}`, echo)), [200, echoed])
  for (const body of [echo, `[${echo}]`]) {
    const [answer] = [JSON.parse(String((await outcome(post(`/v3/${key}`, body)))[1]))].flat()
    t.match(answer, { error: { code: -32004, message: 'method test_echo is not allowed for this API key' } })
  }
})

test('a key for pages is refused from others, and without an origin', async (t) => {
  const { post, make } = await withKeyedServer(t)
  const key = make({ scopes: { origins: ['https://shop.example', 'http://localhost:3000'] } })
  const from = (origin: string) => outcome(post(`/v3/${key}`, echo, origin === '' ? {} : { origin }))
  const refused = [403, { code: -32001, message: 'forbidden: this API key may not be used from this origin' }]
  t.strictSame(await from('https://shop.example'), [200, echoed])
  t.strictSame(await from('HTTP://localhost:3000'), [200, echoed])
  for (const origin of ['', 'https://evil.example', 'https://shop.example.evil', 'null']) {
    t.strictSame(await from(origin), refused, origin)
  }
})

test('a key for addresses is refused from others', async (t) => {
  const { post, make, set, ring, connect } = await withKeyedServer(t)
  const key = make({ scopes: { addresses: ['192.0.2.0/24', '127.0.0.0/8'] } })
  t.strictSame(await outcome(post(`/v3/${key}`, echo)), [200, echoed])
  const { closed } = await connect(`/ws/v3/${key}`)
  set({ scopes: { addresses: ['192.0.2.0/24', '::1'] } })
  const message = 'forbidden: this API key may not be used from this address'
  t.strictSame(await closed, { code: 1008, reason: message })
  ring.readChanges(0)
  t.strictSame(await outcome(post(`/v3/${key}`, echo)), [403, { code: -32001, message }])
})

test('kinds of scopes combine by and', async (t) => {
  const { post, make } = await withKeyedServer(t)
  const key = make({ scopes: { networks: ['other'], origins: ['https://shop.example'] } })
  const origin = 'https://shop.example'
  t.equal((await post(`/other/v3/${key}`, echo, { origin })).status, 200)
  t.equal((await post(`/other/v3/${key}`, echo)).status, 403)
  t.equal((await post(`/v3/${key}`, echo, { origin })).status, 403)
})

test('an open WebSocket follows its key, and ends where that ends', async (t) => {
  const { make, set, connect, store, ring, date } = await withKeyedServer(t)
  const key = make({})
  const stays = await connect(`/ws/v3/${key}`)
  t.equal(await stays.ask(echo), echoed)
  set({ scopes: { methods: ['eth_*'] } })
  const other = await connect(`/ws/v3/${createKey(store, ring.pepper, { name: 'other' }, 'test').text}`)
  // The server has seen the change once it accepts a key that was made later.
  revokeKey(store, 'other', 'test')
  t.strictSame(await other.closed, { code: 1008, reason: 'unauthorized: this API key has been revoked' })
  t.match(JSON.parse((await stays.ask(echo)) ?? ''), { error: { code: -32004 } })
  const { key: rotated } = rotateKey(store, ring.pepper, 'shop', 3_600_000, 'test')
  date.ms = rotated.earlierUntilMs ?? 0
  t.strictSame(await stays.closed, {
    code: 1008,
    reason: 'unauthorized: this API key was replaced by a newer one',
  })
})

test('WebSockets of tokens stay when their key changes, also while many wrong ones arrive', async (t) => {
  const { make, set, connect, store, ring } = await withKeyedServer(t)
  make({})
  const { id } = findKey(store, 'shop')
  const secret = randomBytes(32)
  addToken(store, 'shop', { ...verifierOfSecret(secret, ring.pepper), audience: 'rpc' }, 'test')
  const sign = (by: Uint8Array) =>
    new SignJWT({ exp: Math.floor(Date.now() / 1_000) + 3_000, aud: 'rpc' })
      .setProtectedHeader({ alg: 'HS256', kid: id })
      .sign(by)
  const authorization = `Bearer ${await sign(secret)}`
  const stays = await connect('/ws', { authorization })
  const forged = await sign(randomBytes(32))
  // The clock does not move, so that all of them count at one moment.
  for (let time = 0; time < 200; time++) ring.authorize(forged)
  set({ scopes: { methods: ['eth_*'] } })
  const other = await connect(`/ws/v3/${createKey(store, ring.pepper, { name: 'other' }, 'test').text}`)
  // The change was seen once one that was made after it is.
  revokeKey(store, 'other', 'test')
  t.match(await other.closed, { code: 1008 })
  t.match(JSON.parse((await stays.ask(echo)) ?? ''), { error: { code: -32004 } })
  removeToken(store, 'shop', findKey(store, 'shop').tokens[0]?.id ?? '', 'test')
  t.strictSame(await stays.closed, {
    code: 1008,
    reason: 'unauthorized: no signer of this API key has signed this token',
  })
})

test('a key may come in a header, and then the path needs none', async (t) => {
  const { post, make, base, connect } = await withKeyedServer(t)
  const key = make({})
  const forms: readonly Record<string, string>[] = [
    { authorization: `Bearer ${key}` },
    { authorization: `bearer ${key} ` },
    { 'x-api-key': key },
  ]
  for (const headers of forms) {
    for (const path of ['/', '/v3', '/other', '/other/v3/', `/v3/${key}`]) {
      t.equal((await post(path, echo, headers)).status, 200, `${path} ${Object.keys(headers)}`)
    }
    t.equal(await (await connect('/other/ws', headers)).ask(echo), echoed)
  }
  t.equal((await post('/', echo, { ...forms[0], 'x-api-key': key })).status, 200)
  const named = await fetch(`${base}/`, { method: 'POST', body: echo, headers: json })
  t.match(JSON.stringify(await named.json()), 'or in the header Authorization: Bearer <key>')
})

test('keys that disagree, and any that is not valid, refuse the request', async (t) => {
  const { post, make, store, ring, connect } = await withKeyedServer(t)
  const key = make({})
  const other = createKey(store, ring.pepper, { name: 'other' }, 'test').text
  const differ = {
    code: -32600,
    message: 'the path and the headers of this request have different API keys',
  }
  t.strictSame(await outcome(post(`/v3/${key}`, echo, { 'x-api-key': other })), [400, differ])
  t.strictSame(await outcome(post('/', echo, { 'x-api-key': other, authorization: `Bearer ${key}` })), [
    400,
    differ,
  ])
  t.match(await outcome(post(`/v3/${key}`, echo, { authorization: 'Bearer x' })), [401, { code: -32001 }])
  t.match(await outcome(post('/v3/x', echo, { authorization: `Bearer ${key}` })), [401, { code: -32001 }])
  t.equal((await post(`/v3/${key}`, echo, { authorization: 'Basic eDp5' })).status, 200, 'another scheme')
  await t.rejects(connect(`/ws/v3/${key}`, { 'x-api-key': other }), { message: /400/ })
})
