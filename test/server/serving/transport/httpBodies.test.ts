/** Bodies over HTTP: in pieces, too long, too slow, too many, and with an ambiguous length. */
import { waitFor } from '../../../library/until.js'
import { test } from '../../../transport/eachTransport.js'
import { RawClient, rawPost } from '../../../unit/serving/transport/rawClient.js'
import { call, echo, echoed, goodKey, withServer } from '../../../unit/serving/transport/testServer.js'

const path = `/v3/${goodKey}`

test('a body over the limit is refused before it is read', async (t) => {
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

test('a chunked body is read, and refused as soon as it is too long', async (t) => {
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

test('requests in one packet are answered in order', async (t) => {
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

test('a body may come in byte by byte', async (t) => {
  const { port } = await withServer(t)
  const client = await RawClient.connect(port)
  t.teardown(() => client.socket.destroy())
  for (const byte of Buffer.from(rawPost(path, call('test_echo', '["é"]')))) {
    await new Promise((resolve) => client.socket.write(Uint8Array.of(byte), resolve))
  }
  t.equal((await client.read())?.body, '{"jsonrpc":"2.0","id":1,"result":["é",null]}')
})

test('a body that does not come in time ends its connection alone', async (t) => {
  const { port, post } = await withServer(t, { bodyMsMax: 100 })
  const silent = await RawClient.connect(port)
  silent.write(rawPost(path, '', { 'content-length': '10' }))
  const slow = await RawClient.connect(port)
  slow.write(rawPost(path, '', { 'content-length': '1000000' }))
  const drip = setInterval(() => slow.write(' '), 10)
  t.teardown(() => clearInterval(drip))
  await Promise.all([silent.closed(), slow.closed()])
  // On a slow machine this one may be late too.
  t.ok(await waitFor('an answer', async () => (await post(path, echo)).status === 200))
})

test('unfinished bodies of all connections share one bound', async (t) => {
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
