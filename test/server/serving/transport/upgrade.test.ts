import { test } from '../../../transport/eachTransport.js'
import { path, withSocketServer } from '../../../unit/serving/transport/socketServer.js'
import { accepted, call, echo, echoed, goodKey } from '../../../unit/serving/transport/testServer.js'

test('paths lead to networks, keys are asked for', async (t) => {
  const { connect, refused } = await withSocketServer(t)
  for (const to of [path, `${path}/`, `${path}?a=b`, `/testnet${path}`]) {
    t.equal(await (await connect(to)).ask(echo), echoed, to)
  }
  t.match(await (await connect(`/other${path}`)).ask(call('test_count')), '"result":1001')
  t.match(await (await connect(path, { host: 'other.example:1' })).ask(call('test_count')), '"result":1002')
  for (const to of ['/ws', '/ws/', '/ws/v3', '/ws/v3/', '/testnet/ws', '/testnet/ws/v3']) {
    const { status, text } = await refused(to)
    t.equal(status, 401, to)
    t.strictSame(JSON.parse(text), {
      jsonrpc: '2.0',
      id: null,
      error: {
        code: -32001,
        message:
          'unauthorized: an API key is required in the path: /ws/v3/<key>, or in the header Authorization: Bearer <key>',
      },
    })
  }
  const bad = await refused('/ws/v3/bad')
  t.equal(bad.status, 401)
  t.match(JSON.parse(bad.text), { error: { code: -32001, message: 'unauthorized: unknown API key' } })
  for (const to of ['/', `/v3/${goodKey}`, '/health', '/ws/x', '/ws/v3/a/b', `/nowhere${path}`]) {
    t.equal((await refused(to)).status, 404, to)
  }
})

test('without authentication keys are neither asked for nor looked at', async (t) => {
  const { connect, refused } = await withSocketServer(t, {}, { noAuth: true })
  for (const to of ['/ws', '/ws/', '/testnet/ws', '/ws/v3/any', '/testnet/ws/v3/any', '/ws/v3']) {
    t.equal(await (await connect(to)).ask(echo), echoed, to)
  }
  t.equal((await refused('/nowhere/ws')).status, 404)
})

test('without authentication a WebSocket opens wherever a request is answered', async (t) => {
  const { connect, refused } = await withSocketServer(t, {}, { noAuth: true })
  for (const to of ['/', '/?a=b', '/testnet', '/testnet/', '/v3/any', '/testnet/v3/any']) {
    t.equal(await (await connect(to)).ask(echo), echoed, to)
  }
  t.match(await (await connect('/other')).ask(call('test_count')), '"result":1001')
  for (const to of ['/nowhere', '/health', '/testnet/x', '/v3/a/b'])
    t.equal((await refused(to)).status, 404, to)
  const keyed = await withSocketServer(t)
  for (const to of ['/', '/testnet']) t.equal((await keyed.refused(to)).status, 404, `${to} with keys`)
})

test('a path of WebSockets says so to whoever asks it over HTTP', async (t) => {
  const { base, post } = await withSocketServer(t)
  for (const answer of [await fetch(base + path), await post(path, echo), await post('/ws', echo)]) {
    t.equal(answer.status, 426)
    t.equal(answer.headers.get('upgrade'), 'websocket')
    t.match(await answer.json(), { error: { message: /ws:\/\// } })
  }
})

test('pages of listed origins alone connect, and whoever is no browser', async (t) => {
  const { connect, refused, rejections } = await withSocketServer(t, {}, { cors: ['https://App.example'] })
  t.equal(await (await connect(path)).ask(echo), echoed)
  t.equal(await (await connect(path, { origin: 'https://app.example' })).ask(echo), echoed)
  for (const origin of ['https://a.example', 'null', 'https://app.example.evil']) {
    const { status, text } = await refused(path, { origin })
    t.equal(status, 403, origin)
    t.match(JSON.parse(text), { error: { message: /origin/ } })
  }
  t.match(rejections[0], { status: 403, path: '/ws/v3/(key)', reason: 'origin', why: 'origin' })
  const open = await withSocketServer(t)
  t.equal(await (await open.connect(path, { origin: 'https://a.example' })).ask(echo), echoed)
})

test('no key reaches the log of rejections', async (t) => {
  const { refused, rejections, base } = await withSocketServer(t)
  for (const to of [
    '/ws/v3/secret',
    '/testnet/ws/v3/secret',
    '/ws/v3/secret/secret',
    '/secret/ws',
    '/ws/secret',
  ]) {
    await refused(to)
    await fetch(base + to)
  }
  t.equal(rejections.length, 10)
  t.notMatch(JSON.stringify(rejections), /secret/)
})

test('a full server and a key with too many connections are refused until one ends', async (t) => {
  const { connect, refused } = await withSocketServer(
    t,
    { socketsMax: 3, socketsPerKeyMax: 2 },
    { authorize: (key) => accepted(String(key)) },
  )
  const first = await connect('/ws/v3/a')
  await connect('/ws/v3/a')
  const perKey = await refused('/ws/v3/a')
  t.equal(perKey.status, 429)
  t.equal(perKey.headers['retry-after'], '1')
  t.match(JSON.parse(perKey.text), {
    error: {
      code: -32005,
      message: 'limit exceeded: WebSockets of this API key',
      data: { limit: 2, retryAfterMs: 1000 },
    },
  })
  await connect('/ws/v3/b')
  const full = await refused('/ws/v3/c')
  t.equal(full.status, 503)
  t.match(JSON.parse(full.text), {
    error: { code: -32005, message: 'limit exceeded: WebSockets of this server' },
  })
  first.socket.close()
  await first.closed
  t.equal(await (await connect('/ws/v3/a')).ask(echo), echoed)
})
