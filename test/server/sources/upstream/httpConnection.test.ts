/** The headers of requests, unpacking, the targets of redirects, and connections through a proxy. */
import { createServer, type IncomingMessage, request as open, type Server } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { BeaconLine } from '../../../../src/sources/upstream/beaconLine.js'
import { UpstreamFailure } from '../../../../src/sources/upstream/line.js'
import { SocketLine } from '../../../../src/sources/upstream/socketLine.js'
import { Upstream, type UpstreamOptions } from '../../../../src/sources/upstream/upstream.js'
import { once } from '../../../library/until.js'
import { openNode, optionsOf, soon } from './toyNodes.js'

type Serve = (request: IncomingMessage) => {
  readonly headers?: Record<string, string>
  readonly body: string | Buffer
}

async function listen(t: Test, server: Server): Promise<string> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return `127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** An answer of both JSON-RPC and the Beacon API. */
const answer = '{"jsonrpc":"2.0","id":1,"result":"0x7","data":{}}'

function serve(t: Test, reply: Serve, status = 200): Promise<string> {
  const server = createServer(async (request, response) => {
    for await (const _ of request);
    const { headers = {}, body } = reply(request)
    response.writeHead(status, headers).end(body)
  })
  return listen(t, server)
}

function upstreamAt(
  t: Test,
  url: string,
  more: Partial<UpstreamOptions> = {},
  lines: string[] = [],
): Upstream {
  const options = { url, timeoutMs: 30_000, answerBytesMax: 2 ** 20, ...more }
  const upstream = new Upstream(options, undefined, (line) => lines.push(line))
  t.teardown(() => upstream.close())
  return upstream
}

t.test('every request says who asks, and what it can unpack', async (t) => {
  const asked: IncomingMessage[] = []
  const host = await serve(t, (request) => {
    asked.push(request)
    return { body: answer }
  })
  await upstreamAt(t, `http://${host}`).ask('eth_chainId', [], soon())
  const own = upstreamAt(t, `http://${host}`, { headers: { 'User-Agent': 'mine' } })
  await own.ask('eth_chainId', [], soon())
  const beacon = new BeaconLine({ url: new URL(`http://${host}`), headers: {}, answerBytesMax: 1_000 })
  t.teardown(() => beacon.close())
  await beacon.exchange([{ id: 1, method: '/eth/v1/x', params: [] }], new AbortController().signal)
  const [first, second, third] = asked as [IncomingMessage, IncomingMessage, IncomingMessage]
  t.match(first.headers, { 'user-agent': /^Tidegate\/\d/, 'accept-encoding': 'gzip, deflate, br' })
  t.equal(second.headers['user-agent'], 'mine')
  t.match(third.headers, { 'user-agent': /^Tidegate\/\d/ })
})

t.test('a WebSocket says who asks', async (t) => {
  const server = createServer()
  const upgraded = once(server, 'upgrade')
  const host = await listen(t, server)
  const line = new SocketLine({
    url: new URL(`ws://user:100%@${host}`),
    headers: {},
    answerBytesMax: 1_000,
    onNotification: () => {},
    onLost: () => {},
  })
  t.teardown(() => line.close())
  const opened = line.open().catch((error) => error)
  const [request, socket] = await upgraded
  t.match(request.headers, { 'user-agent': /^Tidegate\/\d/ })
  t.equal(request.headers.authorization, `Basic ${Buffer.from('user:100%').toString('base64')}`)
  socket.destroy()
  t.ok((await opened) instanceof UpstreamFailure)
})

const kindOf = (asked: Promise<unknown>) =>
  asked.then(
    () => 'answered',
    (error: UpstreamFailure) => error.kind,
  )

const packers = { gzip: gzipSync, deflate: deflateSync, br: brotliCompressSync } as const

t.test(
  'packed answers are unpacked, whoever asked for it, and no further than an answer may be long',
  async (t) => {
    const long = `0x${'0'.repeat(2 ** 19)}`
    for (const [coding, pack] of Object.entries(packers)) {
      for (const [name, body] of [
        ['result', answer],
        ['long', JSON.stringify({ jsonrpc: '2.0', id: 1, result: long })],
        ['bomb', `{"jsonrpc":"2.0","id":1,"result":"${'0'.repeat(2 ** 25)}"}`],
      ] as const) {
        const packed = pack(body)
        t.ok(packed.length < 2 ** 20)
        const host = await serve(t, () => ({ headers: { 'content-encoding': coding }, body: packed }))
        const asked = upstreamAt(t, `http://${host}`).ask('eth_chainId', [], soon())
        if (name === 'result') t.equal(await asked, '0x7', coding)
        else if (name === 'long') t.ok((await asked) === long, coding)
        else t.equal(await kindOf(asked), 'tooLong', coding)
      }
    }
    for (const coding of ['gzip', 'zstd', 'toString']) {
      const host = await serve(t, () => ({ headers: { 'content-encoding': coding }, body: 'not packed' }))
      t.equal(await kindOf(upstreamAt(t, `http://${host}`).ask('eth_chainId', [], soon())), 'unreadable')
    }
  },
)

t.test('the target of a redirect is named, without what may be secret', async (t) => {
  for (const [location, said] of [
    [
      'https://user:SECRET@elsewhere.example:8545/SECRET?key=SECRET',
      /a redirect to https:\/\/elsewhere.example:8545,/,
    ],
    ['/v1/SECRET', /a redirect to another path of the same address, which is not followed further/],
    ['http://[', /a redirect to nowhere/],
  ] as const) {
    const lines: string[] = []
    const host = await serve(t, () => ({ headers: { location }, body: '' }), 308)
    const asked = upstreamAt(t, `http://${host}/SECRET`, {}, lines).ask('eth_chainId', [], soon())
    await t.rejects(asked, { kind: 'unreadable', message: said })
    t.match(lines.join(), said)
    t.notMatch(lines.join(), /SECRET/)
  }
})

t.test('a percent sign in the password of a URL stands for itself where it begins no escape', async (t) => {
  for (const [password, plain] of [
    ['50%25', '50%'],
    ['50%', '50%'],
    ['%zz', '%zz'],
    ['%E4', '%E4'],
    ['p%40ss%C3%A4', 'p@ssä'],
  ] as const) {
    let sent: string | undefined
    const host = await serve(t, (request) => {
      sent = request.headers.authorization
      return { body: answer }
    })
    t.equal(await upstreamAt(t, `http://me:${password}@${host}`).ask('eth_chainId', [], soon()), '0x7')
    t.equal(sent, `Basic ${Buffer.from(`me:${plain}`).toString('base64')}`, password)
  }
})

/** A proxy that forwards and tunnels all requests to the node at `host`. */
async function openProxy(t: Test, host: string) {
  const asked: { readonly target: string; readonly authorization: string | undefined }[] = []
  const note = (request: IncomingMessage) =>
    asked.push({ target: String(request.url), authorization: request.headers['proxy-authorization'] })
  const [hostname = '', port] = host.split(':')
  const server = createServer((request, response) => {
    note(request)
    const { method, headers } = request
    const path = new URL(String(request.url)).pathname
    const passed = open({ hostname, port, method, path, headers }, (answered) => {
      response.writeHead(answered.statusCode ?? 0, answered.headers)
      answered.pipe(response)
    })
    request.pipe(passed)
  })
  server.on('connect', (request, socket) => {
    note(request)
    const there = connect(Number(port), hostname, () => socket.write('HTTP/1.1 200 OK\r\n\r\n'))
    socket.pipe(there).pipe(socket)
    for (const each of [socket, there]) each.on('error', () => undefined)
    t.teardown(() => there.destroy())
  })
  return { asked, url: `http://me:100%@${await listen(t, server)}/` }
}

/** Environment variables until the test ends. */
function setEnvironment(t: Test, values: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(values)) {
    const before = process.env[name]
    process.env[name] = value
    t.teardown(() => {
      if (before === undefined) delete process.env[name]
      else process.env[name] = before
    })
  }
}

const proxied = `Basic ${Buffer.from('me:100%').toString('base64')}`

t.test(
  'HTTP and WebSockets go through the proxy that is configured, or that of the environment',
  async (t) => {
    const node = await openNode(t)
    const host = node.url.slice('http://'.length)
    for (const isConfigured of [true, false]) {
      const proxy = await openProxy(t, host)
      if (isConfigured) setEnvironment(t, { HTTP_PROXY: 'http://127.0.0.1:9', NO_PROXY: '*' })
      else setEnvironment(t, { HTTP_PROXY: proxy.url, NO_PROXY: 'other.example' })
      const more = isConfigured ? { proxy: proxy.url } : {}
      for (const scheme of ['http', 'ws']) {
        const upstream = upstreamAt(t, `${scheme}://node.example:8545`, more)
        t.equal(await upstream.ask('eth_getCode', ['0x5'], soon()), '0x5', scheme)
      }
      t.strictSame(proxy.asked, [
        { target: 'http://node.example:8545/', authorization: proxied },
        { target: 'node.example:8545', authorization: proxied },
      ])
    }
  },
)

t.test('NO_PROXY names what is reached without it', async (t) => {
  const node = await openNode(t)
  const { port } = new URL(node.url)
  setEnvironment(t, { http_proxy: 'http://127.0.0.1:9' })
  for (const [names, isReached] of [
    ['127.0.0.1', true],
    [`a.example, 127.0.0.1:${port}`, true],
    ['*', true],
    ['.0.0.1', true],
    ['127.0.0.1:9', false],
    ['27.0.0.1,example', false],
    ['', false],
  ] as const) {
    setEnvironment(t, { no_proxy: names })
    const asked = upstreamAt(t, node.url, optionsOf(node)).ask('eth_getCode', ['0x5'], soon())
    if (isReached) t.equal(await asked, '0x5', names)
    else t.equal(await kindOf(asked), 'unreachable', names)
  }
})
