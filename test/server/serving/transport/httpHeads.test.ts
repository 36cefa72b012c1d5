/**
 * Heads of requests that can be read in two forms, other versions and protocols, and the answers to HEAD and Expect.
 */
import { test } from '../../../transport/eachTransport.js'
import { RawClient, rawPost } from '../../../unit/serving/transport/rawClient.js'
import { call, echo, echoed, goodKey, withServer } from '../../../unit/serving/transport/testServer.js'

const path = `/v3/${goodKey}`
const chunkedEcho = `${echo.length.toString(16)}\r\n${echo}\r\n0\r\n\r\n`

/** A POST whose head is these lines, and a body of chunks. */
const chunked = (...lines: string[]): string =>
  `POST ${path} HTTP/1.1\r\n${['content-type: application/json', ...lines].map((line) => `${line}\r\n`).join('')}\r\n${chunkedEcho}`

const withLength = (...lines: string[]): string =>
  rawPost(path, echo).replace('\r\n\r\n', `\r\n${lines.join('\r\n')}\r\n\r\n`)

test('a request that can be read in two ways is refused, and nothing after it runs', async (t, { name }) => {
  const { port, post, network, rejections } = await withServer(t)
  const hidden = rawPost(path, call('test_count'))
  const length = Buffer.byteLength(echo + hidden)
  const heads: [what: string, request: string][] = [
    ['two lengths', withLength(`content-length: ${length}`)],
    ['the same length twice', withLength(`content-length: ${echo.length}`)],
    ['a list of lengths', rawPost(path, echo, { 'content-length': `${echo.length}, ${length}` })],
    ['a signed length', rawPost(path, echo, { 'content-length': `+${echo.length}` })],
    ['a length in hex', rawPost(path, echo, { 'content-length': `0x${echo.length.toString(16)}` })],
    ['length and chunks', chunked('host: a', 'content-length: 5', 'transfer-encoding: chunked')],
    ['another coding', chunked('host: a', 'transfer-encoding: gzip')],
    ['another coding before', chunked('host: a', 'transfer-encoding: gzip, chunked')],
    ['another coding behind', chunked('host: a', 'transfer-encoding: chunked, gzip')],
    ['chunks twice', chunked('host: a', 'transfer-encoding: chunked, chunked')],
    ['a coding that looks like it', chunked('host: a', 'transfer-encoding: xchunked')],
    ['two codings', chunked('host: a', 'transfer-encoding: chunked', 'transfer-encoding: gzip')],
    ['two codings, other order', chunked('host: a', 'transfer-encoding: gzip', 'transfer-encoding: chunked')],
    ['the coding twice', chunked('host: a', 'transfer-encoding: chunked', 'transfer-encoding: chunked')],
    [
      'chunks in HTTP/1.0',
      chunked('host: a', 'connection: keep-alive', 'transfer-encoding: chunked').replace('/1.1', '/1.0'),
    ],
    ['a space before the colon', chunked('host: a', 'transfer-encoding : chunked')],
    ['a folded line', withLength('x: y', ' content-length: 5')],
    ['a bare line feed', rawPost(path, echo).replace('\r\nhost', '\nhost')],
    ['a bare line feed between headers', rawPost(path, echo).replace('\r\ncontent-type', '\ncontent-type')],
    ['two hosts', withLength('host: other.example')],
    ['no host', rawPost(path, echo).replace('host: 127.0.0.1\r\n', '')],
    [
      'a chunk of no hex length',
      chunked('host: a', 'transfer-encoding: chunked').replace(/\r\n0\r\n/, '\r\nx\r\n'),
    ],
  ]
  const unread = new Set(['a bare line feed between headers', 'a space before the colon', 'a folded line'])
  for (const [what, request] of heads) {
    const client = await RawClient.connect(port)
    client.write(request + hidden)
    // uWebSockets.js waits for the rest of a head that it cannot read, until its time for heads is over.
    if (name === 'uws' && unread.has(what)) client.socket.end()
    const answer = await client.read()
    if (answer !== undefined) t.ok([400, 505].includes(answer.status), `${what}: ${answer.status}`)
    await client.closed()
    t.equal(network.runs, 0, what)
  }
  // An ambiguity that this program alone detects gets its reason, if nothing is hidden behind it.
  const alone = await RawClient.connect(port)
  alone.write(withLength('host: other.example'))
  const refused = await alone.read()
  t.equal(refused?.status, 400)
  await alone.closed()
  // Later builds of uWebSockets.js refuse it before this program sees it.
  if (name === 'node' || refused?.body !== '') {
    t.match(refused?.body, /more than one host/)
    t.match(rejections.at(-1), { status: 400, path: '/v3/(key)', why: 'more than one host' })
  }
  t.equal(await (await post(path, echo)).text(), echoed)
})

test('chunked is understood however it is written', async (t) => {
  const { port } = await withServer(t)
  const client = await RawClient.connect(port)
  t.teardown(() => client.socket.destroy())
  client.write(chunked('host: a', 'Transfer-Encoding: Chunked'))
  t.equal((await client.read())?.body, echoed)
})

test('headers without end are not read', async (t) => {
  const { port, post } = await withServer(t)
  const client = await RawClient.connect(port)
  client.write(`POST ${path} HTTP/1.1\r\nhost: a\r\n`)
  client.write(Array.from({ length: 20_000 }, (_, at) => `x${at}: y\r\n`).join(''))
  const answer = await client.read()
  t.ok(answer === undefined || answer.status === 431 || answer.status === 400, String(answer?.status))
  await client.closed()
  t.equal(await (await post(path, echo)).text(), echoed)
})

test('HEAD gets the headers of GET and no body', async (t) => {
  const { port } = await withServer(t)
  const client = await RawClient.connect(port)
  t.teardown(() => client.socket.destroy())
  for (const to of ['/health', path, '/ws', '/no/such/path']) {
    client.write(`GET ${to} HTTP/1.1\r\nhost: a\r\n\r\n`)
    const get = await client.read()
    client.write(`HEAD ${to} HTTP/1.1\r\nhost: a\r\n\r\n`)
    const head = await client.read({ head: true })
    t.equal(head?.status, get?.status, to)
    t.ok(Number(get?.headers.get('content-length')) > 0)
    const without = (headers: ReadonlyMap<string, string> = new Map()) =>
      [...headers].filter(([name]) => name !== 'date').sort()
    t.strictSame(without(head?.headers), without(get?.headers), to)
  }
})

test('a client that waits for 100 Continue is told to go on, or is refused before it sends', async (t) => {
  const { port } = await withServer(t, { bodyBytesMax: 1000 })
  const client = await RawClient.connect(port)
  const expecting = (length: number) =>
    rawPost(path, '', { 'content-length': String(length), expect: '100-continue' })
  client.write(expecting(echo.length))
  t.equal((await client.read({ head: true }))?.status, 100)
  client.write(echo)
  t.equal((await client.read())?.body, echoed)
  client.write(expecting(1001))
  let answer = await client.read({ head: true })
  // uWebSockets.js sends this itself before it calls our handler.
  if (answer?.status === 100) answer = await client.read({ head: true })
  t.equal(answer?.status, 413)
  await client.closed()
})

test('HTTP/1.0 is answered, or refused with the version', async (t, { name }) => {
  const { port } = await withServer(t)
  const old = (headers: Record<string, string>) =>
    rawPost(path, echo, headers).replace('HTTP/1.1', 'HTTP/1.0')
  const client = await RawClient.connect(port)
  client.write(old({ connection: 'keep-alive' }))
  if (name === 'uws') {
    t.equal((await client.read())?.status, 505)
    return client.closed()
  }
  const kept = await client.read()
  t.equal(kept?.body, echoed)
  t.equal(kept?.headers.get('connection'), 'keep-alive')
  client.write(old({}))
  t.equal((await client.read())?.body, echoed)
  return client.closed()
})

test('who offers another protocol is answered in this one', async (t) => {
  const { port } = await withServer(t)
  const client = await RawClient.connect(port)
  t.teardown(() => client.socket.destroy())
  for (let turn = 0; turn < 3; turn++) {
    client.write(
      rawPost(path, echo, {
        connection: 'Upgrade, HTTP2-Settings',
        upgrade: 'h2c',
        'http2-settings': 'AAMAAABk',
      }),
    )
    t.equal((await client.read())?.body, echoed)
  }
  client.write(rawPost(path, echo))
  t.equal((await client.read())?.body, echoed)
})
