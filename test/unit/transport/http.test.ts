import t from 'tap'
import { OperatorError } from '../../../src/primitives/faults.js'
import { testHash } from '../rpc/testMethods.js'
import { RawClient, rawPost } from './rawClient.js'
import { goodKey, startTestServer, type TestServer } from './testServer.js'

const call = (method: string, params = '[]', id = '1') =>
  `{"jsonrpc":"2.0","id":${id},"method":"${method}","params":${params}}`
const echo = call('test_echo', '["x"]')
const echoed = '{"jsonrpc":"2.0","id":1,"result":["x",null]}'
const path = `/v3/${goodKey}`

async function withServer(
  t: { teardown(run: () => Promise<void>): void },
  ...args: Parameters<typeof startTestServer>
): Promise<TestServer> {
  const server = await startTestServer(...args)
  t.teardown(() => server.server.close())
  return server
}

t.test('paths lead to networks, keys are asked for', async (t) => {
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

t.test('no key reaches the log of rejections', async (t) => {
  const { post, rejections } = await withServer(t)
  await post('/v3/secret', echo)
  await post('/testnet/v3/secret', echo)
  await post('/v3/secret/secret', echo)
  await fetch(`${(await withServer(t)).base}/v3/secret`)
  t.equal(rejections.length, 3)
  t.notMatch(JSON.stringify(rejections), /secret/)
})

t.test('without authentication keys are neither asked for nor looked at', async (t) => {
  const { post } = await withServer(t, {}, { noAuth: true })
  for (const to of ['/', '/testnet', '/testnet/', '/v3/any', '/testnet/v3/any', '/v3']) {
    t.equal(await (await post(to, echo)).text(), echoed, to)
  }
  t.equal((await post('/nowhere', echo)).status, 404)
})

t.test('the Host header chooses the network of a path that names none', async (t) => {
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

t.test('statuses of what is no request for JSON-RPC', async (t) => {
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
  for (const type of ['text/plain', 'application/jsonx', 'application/json-rpc', '']) {
    const refused = await post(path, echo, { 'content-type': type })
    t.equal(refused.status, 415, type)
    t.match(await refused.json(), { error: { message: /application\/json/ } })
  }
  for (const type of ['application/json; charset=utf-8', 'Application/JSON', 'application/json ;x=y']) {
    t.equal((await post(path, echo, { 'content-type': type })).status, 200, type)
  }
})

t.test('the connection stays in step after a refused request with a body', async (t) => {
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

t.test('health needs no key', async (t) => {
  const { base, post } = await withServer(t)
  const health = await fetch(`${base}/health`)
  t.equal(health.status, 200)
  t.same(await health.json(), { status: 'ok' })
  const wrong = await post('/health', '')
  t.equal(wrong.status, 405)
  t.equal(wrong.headers.get('allow'), 'GET, OPTIONS')
})

t.test('pages of any origin may ask unless origins are listed', async (t) => {
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
  t.equal(preflight.headers.get('access-control-allow-headers'), '*')
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
  t.equal(await exposed(open, 'https://a.example'), 'tidegate-block')
  t.equal(await exposed(listed, 'https://app.example'), 'tidegate-block')
  t.equal(await exposed(listed, 'https://a.example'), null)
})

t.test('an answer has only the headers it needs', async (t) => {
  const { port } = await withServer(t)
  const client = await RawClient.connect(port)
  t.teardown(() => client.socket.destroy())
  client.write(rawPost(path, echo))
  const headers = (await client.read())?.headers
  t.same([...(headers?.keys() ?? [])].sort(), [
    'content-length',
    'content-type',
    'date',
    'tidegate-block',
    'uwebsockets',
  ])
  t.equal(headers?.get('content-type'), 'application/json')
})

t.test('an answer names the block it was made from, unless no endpoint saw the request', async (t) => {
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

t.test('a busy connection gets all of many long answers, one after another', async (t) => {
  const { port } = await withServer(t)
  const client = await RawClient.connect(port)
  t.teardown(() => client.socket.destroy())
  for (let i = 0; i < 20; i++) {
    client.write(rawPost(path, call('test_bytes', '["0x40000"]')))
    t.equal((await client.read())?.body.length, '{"jsonrpc":"2.0","id":1,"result":""}'.length + 0x40000)
  }
})

t.test('notifications get 200 and no body, as from go-ethereum', async (t) => {
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

t.test('a busy server says when to come back', async (t) => {
  const { post } = await withServer(t)
  const busy = await post(path, call('test_busy'))
  t.equal(busy.status, 503)
  t.equal(busy.headers.get('retry-after'), '2')
  t.match(await busy.json(), { error: { code: -32005, data: { retryAfterMs: 1500 } } })
})

t.test('a body over the limit is refused before it is read', async (t) => {
  const { port, post } = await withServer(t, { bodyBytesMax: 1000 })
  t.equal((await post(path, echo.padEnd(1000))).status, 200)
  const refused = await post(path, echo.padEnd(1001))
  t.equal(refused.status, 413)
  t.match(await refused.json(), { error: { message: 'content length too large (1001>1000)' } })
  const client = await RawClient.connect(port)
  client.write(rawPost(path, '', { 'content-length': '5242881' }))
  t.match((await client.read())?.body, 'content length too large (5242881>1000)')
  await client.closed()
})

t.test('a chunked body is read, and refused as soon as it is too long', async (t) => {
  const { port } = await withServer(t, { bodyBytesMax: 1000 })
  const client = await RawClient.connect(port)
  const head = `POST ${path} HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n`
  const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`
  client.write(head)
  client.write(chunk(echo.slice(0, 20)))
  client.write(chunk(echo.slice(20)))
  client.write('0\r\n\r\n')
  t.equal((await client.read())?.body, echoed)
  client.write(head)
  client.write(chunk(' '.repeat(600)))
  client.write(chunk(' '.repeat(600)))
  t.equal((await client.read())?.status, 413)
  await client.closed()
})

t.test('requests in one packet are answered in order', async (t) => {
  const { port } = await withServer(t)
  const client = await RawClient.connect(port)
  t.teardown(() => client.socket.destroy())
  client.write(
    Array.from({ length: 50 }, (_, id) => rawPost(path, call('test_echo', '[1]', String(id)))).join(''),
  )
  for (let id = 0; id < 50; id++) {
    t.equal((await client.read())?.body, `{"jsonrpc":"2.0","id":${id},"result":[1,null]}`)
  }
})

t.test('a body may come in byte by byte', async (t) => {
  const { port } = await withServer(t)
  const client = await RawClient.connect(port)
  t.teardown(() => client.socket.destroy())
  for (const byte of Buffer.from(rawPost(path, call('test_echo', '["é"]')))) {
    await new Promise((resolve) => client.socket.write(Uint8Array.of(byte), resolve))
  }
  t.equal((await client.read())?.body, '{"jsonrpc":"2.0","id":1,"result":["é",null]}')
})

t.test('a body that does not come in time ends its connection alone', async (t) => {
  const { port, post } = await withServer(t, { bodyMsMax: 100 })
  const silent = await RawClient.connect(port)
  silent.write(rawPost(path, '', { 'content-length': '10' }))
  const slow = await RawClient.connect(port)
  slow.write(rawPost(path, '', { 'content-length': '1000000' }))
  const drip = setInterval(() => slow.write(' '), 10)
  t.teardown(() => clearInterval(drip))
  await Promise.all([silent.closed(), slow.closed()])
  t.equal((await post(path, echo)).status, 200)
})

t.test('unfinished bodies of all connections share one bound', async (t) => {
  const { port, post } = await withServer(t, { bufferedBytesMax: 3000 })
  const first = await RawClient.connect(port)
  t.teardown(() => first.socket.destroy())
  // A later chunk of the same body is kept too, so its answer shows that the bound counts it.
  first.write(rawPost(path, ' '.repeat(2000), { 'content-length': '2500' }))
  t.equal((await post(path, echo)).status, 200, 'a body in one piece needs no room')
  const second = await RawClient.connect(port)
  second.write(rawPost(path, ' '.repeat(2000), { 'content-length': '2500' }))
  const refused = await Promise.race([second.read(), first.read()])
  t.equal(refused?.status, 503)
  t.equal(refused?.headers.get('retry-after'), '1')
})

t.test('a request hidden behind a second length is refused where that is asked for', async (t) => {
  const strict = await withServer(t)
  const lax = await withServer(t, {}, { refuseRepeatedLength: false })
  const hidden = rawPost(path, call('test_count'))
  const second = `content-length: ${Buffer.byteLength(echo + hidden)}\r\n\r\n`
  const twice = rawPost(path, echo).replace('\r\n\r\n', `\r\n${second}`) + hidden
  const client = await RawClient.connect(strict.port)
  client.write(twice)
  t.equal(await client.read(), undefined, 'the connection ends')
  const elsewhere = await RawClient.connect(strict.port)
  elsewhere.write(twice.replace(path, '/nowhere').replace('POST', 'PUT'))
  t.equal(await elsewhere.read(), undefined, 'whatever the first request would have come to')
  const alone = await RawClient.connect(strict.port)
  alone.write(twice.slice(0, -hidden.length))
  t.equal((await alone.read())?.status, 400)
  await alone.closed()
  t.equal(strict.network.runs, 0)
  const other = await RawClient.connect(lax.port)
  t.teardown(() => other.socket.destroy())
  other.write(twice)
  t.equal((await other.read())?.body, echoed)
  t.match((await other.read())?.body, '"result":2')
})

t.test('a client that leaves while a job runs harms nothing', async (t) => {
  const { port, post, network } = await withServer(t)
  const client = await RawClient.connect(port)
  client.write(rawPost(path, call('test_job')))
  while (network.jobs.length === 0) await new Promise((resolve) => setImmediate(resolve))
  client.socket.destroy()
  await client.closed()
  // An answer to another request shows that the server has seen the first one's end.
  await post(path, echo)
  network.jobs.pop()?.resolve('"done"')
  t.equal((await post(path, echo)).status, 200)
  const later = post(path, call('test_job'))
  while (network.jobs.length === 0) await new Promise((resolve) => setImmediate(resolve))
  network.jobs.pop()?.resolve('"done later"')
  t.match(await (await later).text(), '"done later"')
})

t.test('an answer that comes later is complete', async (t) => {
  const { post, network } = await withServer(t)
  const asked = post(path, call('test_job'))
  while (network.jobs.length === 0) await new Promise((resolve) => setImmediate(resolve))
  network.jobs.pop()?.resolve(Buffer.from(JSON.stringify('x'.repeat(2_000_000))))
  const response = await asked
  t.equal(response.headers.get('content-type'), 'application/json')
  t.equal(JSON.parse(await response.text()).result.length, 2_000_000)
})

t.test('a slow reader gets all of a long answer', async (t) => {
  const { port } = await withServer(t)
  const client = await RawClient.connect(port)
  t.teardown(() => client.socket.destroy())
  client.socket.pause()
  client.write(rawPost(path, call('test_bytes', '["0x200000"]')))
  const other = await RawClient.connect(port)
  t.teardown(() => other.socket.destroy())
  other.write(rawPost(path, call('test_bytes', '["0x10000"]')))
  t.equal(JSON.parse((await other.read())?.body ?? '').result, 'é'.repeat(0x10000))
  client.socket.resume()
  t.equal(JSON.parse((await client.read())?.body ?? '').result, 'é'.repeat(0x200000))
})

t.test('a slow reader gets all of a batch whose answers are long and short', async (t) => {
  const { port } = await withServer(t)
  const lengths = [3, 0x8000, 1, 2, 0x9000, 0x4000, 0x100000, 0x20000, 5]
  const batch = lengths.map((length) => call('test_bytes', `["0x${length.toString(16)}"]`))
  const client = await RawClient.connect(port)
  t.teardown(() => client.socket.destroy())
  client.socket.pause()
  client.write(rawPost(path, `[${batch.join()}]`))
  const other = await RawClient.connect(port)
  t.teardown(() => other.socket.destroy())
  other.write(rawPost(path, echo))
  await other.read()
  client.socket.resume()
  const answers = JSON.parse((await client.read())?.body ?? '') as { result: string }[]
  t.same(
    answers.map(({ result }) => result.length),
    lengths,
  )
})

t.test('a client that asks on and reads nothing loses its connection', async (t) => {
  const { port, post, network } = await withServer(t)
  const client = await RawClient.connect(port)
  client.socket.pause()
  const asked = 2000
  client.write(rawPost(path, call('test_bytes', '["0x8000"]')).repeat(asked))
  // The server reads requests in the order of their connections' arrival, so a later answer means it saw the first.
  t.equal((await post(path, echo)).status, 200)
  client.socket.resume()
  let answers = 0
  while ((await client.read()) !== undefined) answers++
  t.ok(answers < asked, `${answers} of ${asked} answers`)
  t.equal(network.runs, 3, 'the long one twice, then it is remembered')
})

t.test('closing lets answers under way finish and takes nothing new', async (t) => {
  const { port, server, network, post } = await startTestServer()
  const idle = await RawClient.connect(port)
  const asked = post(path, call('test_job'))
  while (network.jobs.length === 0) await new Promise((resolve) => setImmediate(resolve))
  const closed = server.close()
  await t.rejects(RawClient.connect(port))
  network.jobs.pop()?.resolve('"done"')
  t.match(await (await asked).text(), '"done"')
  await closed
  await idle.closed()
  await server.close()
})

t.test('closing does not wait for ever', async () => {
  const { port, server, network } = await startTestServer({ closeMsMax: 50 })
  const client = await RawClient.connect(port)
  client.write(rawPost(path, call('test_job')))
  while (network.jobs.length === 0) await new Promise((resolve) => setImmediate(resolve))
  await server.close()
  await client.closed()
  network.jobs.pop()?.resolve('"too late"')
})

t.test('a port that is taken is told in a sentence', async (t) => {
  const { port } = await withServer(t)
  const error = await startTestServer({}, { port }).then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  t.type(error, OperatorError)
  t.match(error, { message: `Cannot listen on 127.0.0.1:${port}` })
})

t.test('network names that would hide another path are refused', async (t) => {
  const { endpoint } = await withServer(t)
  for (const name of ['v3', 'ws', 'health']) {
    await t.rejects(startTestServer({}, { routes: [{ name, endpoint, hosts: [] }] }))
  }
})
