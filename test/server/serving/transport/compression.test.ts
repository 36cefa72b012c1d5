import { gunzipSync } from 'node:zlib'
import { request } from 'undici'
import { test } from '../../../transport/eachTransport.js'
import { call, goodKey, type TestServer, withServer } from '../../../unit/serving/transport/testServer.js'

const path = `/v3/${goodKey}`

/** A POST whose answer is left as it comes. */
async function ask({ base }: TestServer, body: string, headers: Record<string, string> = {}) {
  const response = await request(base + path, {
    method: 'POST',
    body,
    headers: { 'content-type': 'application/json', ...headers },
  })
  const bytes = Buffer.from(await response.body.arrayBuffer())
  const { 'content-encoding': encoding, vary, 'content-length': length } = response.headers
  return { bytes, encoding, vary, length }
}

/** Asks until the answer comes compressed, as it does once its copy is made. */
async function untilCompressed(server: TestServer, body: string, acceptEncoding = 'gzip, deflate, br') {
  for (;;) {
    const answer = await ask(server, body, { 'accept-encoding': acceptEncoding })
    if (answer.encoding !== undefined) return answer
  }
}

test('a repeated answer comes compressed, with the id of each request', async (t) => {
  const server = await withServer(t)
  for (const length of [1_200, 20_000, 200_000]) {
    const question = (id: string) => call('test_bytes', `["0x${length.toString(16)}"]`, id)
    await untilCompressed(server, question('0'))
    for (const id of ['1', '-17', '123456789012345', '"a-b"', `"${'x'.repeat(800)}"`]) {
      const plain = await ask(server, question(id))
      t.equal(plain.encoding, undefined)
      t.equal(plain.vary, undefined)
      const {
        bytes,
        encoding,
        vary,
        length: sent,
      } = await ask(server, question(id), {
        'accept-encoding': 'gzip;q=0.5',
      })
      t.equal(encoding, 'gzip', id)
      t.equal(vary, 'accept-encoding')
      t.equal(sent, String(bytes.length))
      t.ok(gunzipSync(bytes).equals(plain.bytes), `${length} bytes to ${id}`)
      t.ok(bytes.length < plain.bytes.length / 2)
    }
  }
})

test('clients that do not accept gzip get repeated answers as they are', async (t) => {
  const server = await withServer(t)
  const body = call('test_bytes', '["0x2000"]')
  const { bytes } = await untilCompressed(server, body)
  for (const accepted of ['', 'identity', 'gzip;q=0', 'br, zstd', 'deflate']) {
    const plain = await ask(server, body, accepted === '' ? {} : { 'accept-encoding': accepted })
    t.equal(plain.encoding, undefined, accepted)
    t.ok(plain.bytes.equals(gunzipSync(bytes)))
  }
})

test('fetch reads compressed answers, also when the head has changed', async (t) => {
  const server = await withServer(t)
  const body = call('test_bytes', '["0x10000"]')
  await untilCompressed(server, body)
  const first = await (await server.post(path, body)).text()
  server.network.head.generation++
  t.equal(await (await server.post(path, body)).text(), first)
  const { bytes } = await untilCompressed(server, body)
  t.equal(gunzipSync(bytes).toString(), first)
})

test('pages of other origins read compressed answers too', async (t) => {
  const server = await withServer(t, {}, { cors: ['https://app.example'] })
  const body = call('test_bytes', '["0x2000"]')
  await untilCompressed(server, body)
  const answer = await server.post(path, body, { origin: 'https://app.example' })
  t.equal(answer.headers.get('content-encoding'), 'gzip')
  t.equal(answer.headers.get('access-control-allow-origin'), 'https://app.example')
  t.equal(answer.headers.get('vary'), 'origin, accept-encoding')
  t.match(await answer.json(), { id: 1 })
})

test('what is short, new, or of a batch is not compressed', async (t) => {
  const server = await withServer(t)
  const accepted = { 'accept-encoding': 'gzip' }
  const short = call('test_bytes', '["0x100"]')
  const long = call('test_bytes', '["0x4000"]')
  await untilCompressed(server, long)
  for (let n = 0; n < 5; n++) t.equal((await ask(server, short, accepted)).encoding, undefined)
  t.equal((await ask(server, `[${long}]`, accepted)).encoding, undefined)
  t.equal((await ask(server, call('test_bytes', '["0x4001"]'), accepted)).encoding, undefined)
})

test('without memory for copies nothing is compressed', async (t) => {
  const server = await withServer(t, { compressedBytesMax: 0 })
  const body = call('test_bytes', '["0x4000"]')
  for (let n = 0; n < 5; n++) {
    t.equal((await ask(server, body, { 'accept-encoding': 'gzip' })).encoding, undefined)
  }
})
