import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import { OperatorError } from '../../../../src/primitives/faults.js'
import { cannotListen } from '../../../../src/serving/transport/wire.js'
import { test } from '../../../transport/eachTransport.js'
import { testHash } from '../../../unit/serving/rpc/testMethods.js'
import { RawClient, rawPost } from '../../../unit/serving/transport/rawClient.js'
import {
  accepted,
  call,
  echo,
  echoed,
  goodKey,
  goodKeyId,
  startTestServer,
  type TestServer,
  withServer,
} from '../../../unit/serving/transport/testServer.js'

const path = `/v3/${goodKey}`

test('paths lead to networks, keys are asked for', async (t) => {
  const { post } = await withServer(t)
  const status = async (to: string) => (await post(to, echo)).status
  t.equal(await (await post(path, echo)).text(), echoed)
  t.equal(await (await post(`/testnet${path}`, echo)).text(), echoed)
  t.equal(await (await post(`${path}/?a=b`, echo)).text(), echoed)
  t.match(await (await post(`/other${path}`, call('test_count'))).text(), '"result":1001')
  for (const to of ['/', '/v3', '/v3/', '/testnet', '/testnet/v3/', '/v3/bad', `/v3/${goodKey}%20`]) {
    t.equal(await status(to), 401, to)
  }
  for (const to of ['/nowhere', `/nowhere${path}`, '/v3/a/b', `/v2/${goodKey}`, '/testnet/v4/x']) {
    t.equal(await status(to), 404, to)
  }
  const refused = await post('/v3/bad', echo)
  t.same(await refused.json(), {
    jsonrpc: '2.0',
    id: null,
    error: { code: -32001, message: 'unauthorized: unknown API key' },
  })
})

test('a path that is not served is unknown to every method; each refusal has its own reason', async (t) => {
  const authorize = (key: unknown) =>
    key === goodKey
      ? { ...accepted(goodKeyId), scope }
      : ({ ok: false, reason: 'this API key has expired', keyId: goodKeyId } as const)
  let isNear = true
  const scope = {
    allowsNetwork: (network: string) => network === 'testnet',
    allowsOrigin: (origin: string) => origin !== 'https://other.example',
    allowsAddressOf: () => isNear,
  }
  const { base, post, rejections } = await withServer(t, { bodyBytesMax: 1_000 }, { authorize })
  const json = { 'content-type': 'application/json' }
  const from = (origin: string) => post(path, echo, { origin })
  const askFromAfar = () => {
    isNear = false
    return post(path, echo)
  }
  const cases = [
    ['path', 404, () => fetch(`${base}/nowhere`)],
    ['path', 404, () => fetch(`${base}/nowhere`, { method: 'PUT' })],
    ['path', 404, () => fetch(`${base}/nowhere/there`)],
    ['path', 404, () => post('/nowhere', echo)],
    ['method', 405, () => fetch(base + path)],
    ['method', 405, () => fetch(`${base}/testnet`)],
    ['transport', 426, () => fetch(`${base}/ws`)],
    ['key', 401, () => post('/', echo)],
    ['key', 401, () => post('/v3/ended', echo), goodKeyId],
    ['key network', 403, () => post(`/other${path}`, echo), goodKeyId],
    ['key origin', 403, () => from('https://other.example'), goodKeyId],
    ['key address', 403, askFromAfar, goodKeyId],
    ['length', 413, () => post(path, ' '.repeat(1_001))],
    ['content type', 415, () => fetch(base + path, { method: 'POST', body: echo })],
    [
      'content type',
      415,
      () =>
        fetch(base + path, { method: 'POST', body: echo, headers: { ...json, 'content-encoding': 'br' } }),
    ],
  ] as const
  for (const [reason, status, ask, keyId] of cases) {
    isNear = true
    t.equal((await ask()).status, status, reason)
    t.match(rejections.at(-1), { status, reason, keyId }, reason)
  }
  t.equal(rejections.length, cases.length)
})

test('no key reaches the log of rejections', async (t) => {
  const { post, rejections } = await withServer(t)
  await post('/v3/secret', echo)
  await post('/testnet/v3/secret', echo)
  await post('/v3/secret/secret', echo)
  await fetch(`${(await withServer(t)).base}/v3/secret`)
  t.equal(rejections.length, 3)
  t.notMatch(JSON.stringify(rejections), /secret/)
})

test('without authentication keys are neither asked for nor looked at', async (t) => {
  const { post } = await withServer(t, {}, { noAuth: true })
  for (const to of ['/', '/testnet', '/testnet/', '/v3/any', '/testnet/v3/any', '/v3']) {
    t.equal(await (await post(to, echo)).text(), echoed, to)
  }
  t.equal((await post('/nowhere', echo)).status, 404)
})

test('the Host header chooses the network of a path that names none', async (t) => {
  const { port } = await withServer(t)
  const client = await RawClient.connect(port)
  t.teardown(() => client.socket.destroy())
  for (const [host, result] of [
    ['other.EXAMPLE:8545', 1001],
    ['other.example', 1002],
    ['elsewhere', 1],
    ['[::1]:80', 2],
  ] as const) {
    client.write(rawPost(path, call('test_count'), { host }))
    t.match((await client.read())?.body, `"result":${result}}`, host)
  }
})

test('statuses of what is no request for JSON-RPC', async (t) => {
  const { base, post } = await withServer(t)
  const get = await fetch(base + path)
  t.equal(get.status, 405)
  t.equal(get.headers.get('allow'), 'POST, OPTIONS')
  t.match(await get.json(), { error: { message: /POST/ } })
  for (const method of ['PUT', 'DELETE', 'PATCH']) {
    t.equal((await fetch(base + path, { method, body: 'x' })).status, 405, method)
  }
  t.equal((await fetch(base + path, { method: 'HEAD' })).status, 405)
  t.equal((await fetch(`${base}/v3/a/b`)).status, 404)
  for (const type of [
    'text/plain',
    'application/jsonx',
    'application/json-rpcs',
    'application/json+rpc',
    '',
  ]) {
    const refused = await post(path, echo, { 'content-type': type })
    t.equal(refused.status, 415, type)
    t.match(await refused.json(), { error: { message: /application\/json/ } })
  }
  for (const type of [
    'application/json; charset=utf-8',
    'Application/JSON',
    'application/json ;x=y',
    'application/json-rpc',
    'application/json-rpc; charset=utf-8',
    'application/jsonrequest',
    'Application/JSONRequest',
  ]) {
    t.equal((await post(path, echo, { 'content-type': type })).status, 200, type)
  }
  const bodies: Readonly<Record<string, (body: string) => Uint8Array<ArrayBuffer>>> = {
    gzip: (body) => new Uint8Array(gzipSync(body)),
    'x-gzip': (body) => new Uint8Array(gzipSync(body)),
    deflate: (body) => new Uint8Array(deflateSync(body)),
    br: (body) => new Uint8Array(brotliCompressSync(body)),
    zstd: (body) => new Uint8Array(Buffer.from(body)),
    aws: (body) => new Uint8Array(Buffer.from(body)),
  }
  for (const [coding, encode] of Object.entries(bodies)) {
    for (const written of [coding, coding.toUpperCase(), `identity, ${coding}`, ` ${coding} `]) {
      const refused = await fetch(base + path, {
        method: 'POST',
        body: encode(echo),
        headers: { 'content-type': 'application/json', 'content-encoding': written },
      })
      t.equal(refused.status, 415, written)
      t.equal(refused.headers.get('accept-encoding'), 'identity')
      const message = `content encoding ${coding} is not supported: send the body as it is`
      t.match(await refused.json(), { error: { code: -32600, message } })
    }
  }
  const odd = await post(path, echo, { 'content-encoding': `"${'x'.repeat(500)}"` })
  t.match(await odd.json(), { error: { message: /^content encoding is not supported/ } })
  for (const none of ['identity', 'Identity', 'identity, identity', '']) {
    t.equal((await post(path, echo, { 'content-encoding': none })).status, 200, none)
  }
})

test('the connection stays in step after a refused request with a body', async (t) => {
  const { port } = await withServer(t)
  const client = await RawClient.connect(port)
  t.teardown(() => client.socket.destroy())
  client.write(rawPost('/v3/bad', echo))
  client.write(rawPost(path, echo).replace('POST', 'PUT'))
  client.write(`HEAD ${path} HTTP/1.1\r\nhost: a\r\n\r\n`)
  client.write(rawPost(path, echo))
  t.equal((await client.read())?.status, 401)
  t.equal((await client.read())?.status, 405)
  t.equal((await client.read({ head: true }))?.status, 405)
  t.equal((await client.read())?.body, echoed)
})

test('the root answers whoever looks whether there is a server', async (t) => {
  const { base, post } = await withServer(t)
  for (const method of ['GET', 'HEAD']) {
    const answer = await fetch(`${base}/`, { method })
    t.equal(answer.status, 200, method)
    const text = await answer.text()
    if (method === 'GET') t.type(JSON.parse(text), 'object')
    else t.equal(text, '')
  }
  t.equal((await post('/', echo)).status, 401, 'a call still needs a key')
  const wrong = await fetch(`${base}/`, { method: 'PUT' })
  t.equal(wrong.status, 405)
  t.equal(wrong.headers.get('allow'), 'GET, HEAD, POST, OPTIONS')
  for (const path of ['/testnet', '/v3', `/v3/${goodKey}`]) {
    t.equal((await fetch(base + path)).status, 405, path)
  }
})

test('health needs no key', async (t) => {
  const { base, post } = await withServer(t)
  for (const path of ['/health', '/health/', '/health?full']) {
    const health = await fetch(base + path)
    t.equal(health.status, 200, path)
    t.same(await health.json(), { status: 'ok' })
  }
  t.equal((await fetch(`${base}/health//`)).status, 404)
  const wrong = await post('/health', '')
  t.equal(wrong.status, 405)
  t.match(await wrong.text(), /method not allowed: this path answers GET and HEAD/)
  t.equal(wrong.headers.get('allow'), 'GET, HEAD, OPTIONS')
})

test('a page has a status of its own, for GET and HEAD', async (t) => {
  const { base } = await withServer(t)
  const got = await fetch(`${base}/failing`)
  t.equal(got.status, 503)
  t.same(await got.json(), { status: 'failing' })
  const head = await fetch(`${base}/failing`, { method: 'HEAD' })
  t.equal(head.status, 503)
  t.equal(head.headers.get('content-length'), got.headers.get('content-length'))
  t.equal(await head.text(), '')
})

test('pages of any origin may ask unless origins are listed', async (t) => {
  const open = await withServer(t)
  const listed = await withServer(t, {}, { cors: ['https://App.example'] })
  const preflight = await fetch(open.base + path, {
    method: 'OPTIONS',
    headers: {
      origin: 'https://a.example',
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'content-type,tidegate-at',
    },
  })
  t.equal(preflight.status, 204)
  t.equal(preflight.headers.get('access-control-allow-origin'), '*')
  t.match(preflight.headers.get('access-control-allow-methods'), /POST/)
  t.equal(preflight.headers.get('access-control-allow-headers'), '*, authorization')
  const allowed = (server: TestServer, origin?: string, to = path) =>
    server
      .post(to, echo, origin === undefined ? {} : { origin })
      .then((response) => response.headers.get('access-control-allow-origin'))
  t.equal(await allowed(open, 'https://a.example'), '*')
  t.equal(await allowed(open, 'https://a.example', '/v3/bad'), '*', 'a page may read why it was refused')
  t.equal(await allowed(open), null)
  t.equal(await allowed(listed, 'https://app.example'), 'https://app.example')
  t.equal(await allowed(listed, 'https://a.example'), null)
  const exposed = async (server: TestServer, origin: string) =>
    (await server.post(path, echo, { origin })).headers.get('access-control-expose-headers')
  t.equal(
    await exposed(open, 'https://a.example'),
    'tidegate-block, tidegate-trust, retry-after, ratelimit, ratelimit-policy, etag, x-request-id',
  )
  t.equal(
    await exposed(listed, 'https://app.example'),
    'tidegate-block, tidegate-trust, retry-after, ratelimit, ratelimit-policy, etag, x-request-id',
  )
  t.equal(await exposed(listed, 'https://a.example'), null)
})

test('an answer has only the headers it needs', async (t, { name }) => {
  const { port } = await withServer(t)
  const client = await RawClient.connect(port)
  t.teardown(() => client.socket.destroy())
  client.write(rawPost(path, echo))
  const headers = (await client.read())?.headers
  t.same(
    [...(headers?.keys() ?? [])].sort(),
    [
      'content-length',
      'content-type',
      'date',
      'tidegate-block',
      'keep-alive',
      name === 'uws' ? 'uwebsockets' : 'connection',
    ].sort(),
  )
  t.equal(headers?.get('content-type'), 'application/json')
})

test('an answer names the block it was made from, unless no endpoint saw the request', async (t) => {
  const { post, base, network } = await withServer(t, { bodyBytesMax: 1000 })
  const block = async (...args: Parameters<typeof post>) => {
    const response = await post(...args)
    await response.arrayBuffer()
    return response.headers.get('tidegate-block')
  }
  const name = (number: number) => `${number} 0x${Buffer.from(testHash(number)).toString('hex')}`
  const at = (number: number) => ({ 'Tidegate-At': `0x${Buffer.from(testHash(number)).toString('hex')}` })
  const notification = '{"jsonrpc":"2.0","method":"test_echo"}'
  for (const body of [echo, echo, `[${echo},5]`, call('test_fault'), call('none'), '{', '[]', notification]) {
    t.equal(await block(path, body), name(1), body)
    t.equal(
      await block(path, body, at(9)),
      body === '{' || body === '[]' ? name(1) : name(9),
      `pinned ${body}`,
    )
  }
  network.head.generation = 5
  t.equal(await block(path, echo), name(5))
  t.equal(await block(path, echo, { 'Tidegate-At': 'latest' }), name(5))
  t.equal(
    await block(path, echo, { 'Tidegate-At': '0x12' }),
    name(5),
    'what is no block cannot be the one used',
  )
  t.equal(await block('/v3/bad', echo), null)
  t.equal(await block('/nowhere/v3/x', echo), null)
  t.equal(await block(path, 'x'.repeat(1001)), null)
  t.equal(await block(path, echo, { 'content-type': 'text/plain' }), null)
  t.equal((await fetch(`${base}/health`)).headers.get('tidegate-block'), null)
})

test('notifications get 200 and no body, as from go-ethereum', async (t) => {
  const { post } = await withServer(t)
  for (const body of [
    '{"jsonrpc":"2.0","method":"test_count"}',
    '[{"jsonrpc":"2.0","method":"test_count"}]',
  ]) {
    const response = await post(path, body)
    t.equal(response.status, 200)
    t.equal(await response.text(), '')
  }
})

test('a busy server says when to come back', async (t) => {
  const { post } = await withServer(t)
  const busy = await post(path, call('test_busy'))
  t.equal(busy.status, 503)
  t.equal(busy.headers.get('retry-after'), '2')
  t.match(await busy.json(), { error: { code: -32005, data: { retryAfterMs: 1500 } } })
})

test('an address that cannot be listened on is told in a sentence', async (t) => {
  const { port } = await withServer(t)
  const rows = [
    [{ port }, `Cannot listen on 127.0.0.1:${port}: choose another address or port, or stop`],
    // RFC 5737: no machine has this address.
    [{ host: '192.0.2.1', port }, `Cannot listen on 192.0.2.1:${port}: this machine has no such address;`],
    [{ host: 'no.such.invalid', port }, /^Cannot listen on no\.such\.invalid:\d+: /],
  ] as const
  for (const [options, message] of rows) {
    const error = await startTestServer(t, {}, options).then(
      () => undefined,
      (thrown: unknown) => thrown,
    )
    t.type(error, OperatorError)
    t.match(error, { message })
  }
  t.match(
    cannotListen({ host: '0.0.0.0', port: 80 }, 'EACCES').message,
    /:80: this user may not use that port;/,
  )
})

test('network names that would hide another path are refused', async (t) => {
  const { endpoint } = await withServer(t)
  for (const name of ['v3', 'ws', 'health']) {
    await t.rejects(startTestServer(t, {}, { routes: [{ name, endpoint, hosts: [] }] }))
  }
})
