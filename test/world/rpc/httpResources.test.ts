// @shares
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import t from 'tap'
import { request } from 'undici'
import { encodings } from '../../../src/serving/transport/compressedCopies.js'
import { examples } from '../../rpc/demoChain.js'
import { fixtureConfig } from '../../service/fixtures.js'
import { type Service, startService } from '../../service/service.js'

const transports = ['uws', 'node'] as const
const tested: { readonly name: string; readonly service: Service }[] = []
for (const name of transports) {
  const flags = ['--config', fixtureConfig, '--no-auth', '--transport', name]
  const service = await startService(flags).catch((error: Error) => {
    if (!error.message.includes('cannot be loaded')) throw error
    return undefined
  })
  if (service !== undefined) tested.push({ name, service })
}
t.teardown(() => Promise.all(tested.map(({ service }) => service.stop())))

/** A request whose answer is returned unchanged. */
async function get(
  { origin }: Service,
  path: string,
  headers: Record<string, string> = {},
  method: 'GET' | 'HEAD' = 'GET',
) {
  const response = await request(`${origin}/demo/v3/any${path}`, { method, headers })
  const bytes = Buffer.from(await response.body.arrayBuffer())
  return { status: response.statusCode, headers: response.headers, bytes, text: bytes.toString() }
}

async function resultText(service: Service, method: string, params: unknown): Promise<string> {
  const { text } = await service.post('/demo', JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }))
  return text.slice('{"jsonrpc":"2.0","id":1,"result":'.length, -1)
}

for (const { name, service } of tested) {
  const full = examples.blocks.find(({ transactions }) => transactions === 200)?.hash as string
  const { address, slot } = examples.slots[0] as { address: string; slot: string }

  t.test(`${name}: each resource is the result of its method, kept for a year`, async (t) => {
    const cases: readonly (readonly [path: string, method: string, params: unknown])[] = [
      [`/block/${full}`, 'eth_getBlockByHash', [full, true]],
      [`/block/${full}?full=true`, 'eth_getBlockByHash', [full, true]],
      [`/block/${full}?full=false`, 'eth_getBlockByHash', [full, false]],
      [`/receipts/${full}`, 'eth_getBlockReceipts', [full]],
      [`/tx/${full}/0`, 'eth_getTransactionByBlockHashAndIndex', [full, '0x0']],
      [`/tx/${full}/199`, 'eth_getTransactionByBlockHashAndIndex', [full, '0xc7']],
      [`/tx/${full}/0xc7`, 'eth_getTransactionByBlockHashAndIndex', [full, '0xc7']],
      [`/storage/${full}/${address}/${slot}`, 'eth_getStorageAt', [address, slot, full]],
      [`/proof/${full}/${address}`, 'eth_getProof', [address, [], full]],
      [`/proof/${full}/${address}?keys=${slot},0x1`, 'eth_getProof', [address, [slot, '0x1'], full]],
      [`/proof/${full}/${address}?keys=`, 'eth_getProof', [address, [], full]],
    ]
    for (const [path, method, params] of cases) {
      const expected = await resultText(service, method, params)
      const tags = new Set<unknown>()
      for (let n = 0; n < 3; n++) {
        const { status, headers, text } = await get(service, path)
        t.equal(status, 200, path)
        t.equal(text, expected)
        t.equal(headers['content-type'], 'application/json')
        t.equal(headers['cache-control'], 'private, max-age=31536000, immutable')
        t.strictSame(headers.vary, ['accept-encoding', 'origin'])
        t.match(headers.etag, /^"[\w-]{43}"$/)
        t.equal(headers['tidegate-block'], undefined, 'it says nothing of the head')
        tags.add(headers.etag)
      }
      t.equal(tags.size, 1)
    }
  })

  t.test(`${name}: each encoding has its tag, and decompresses to the same`, async (t) => {
    const path = `/block/${full}`
    const plain = await get(service, path)
    const tags = [plain.headers.etag]
    for (const encoding of encodings) {
      const { headers, bytes } = await get(service, path, { 'accept-encoding': encoding })
      t.equal(headers['content-encoding'], encoding)
      t.equal(headers['content-length'], String(bytes.length))
      t.strictSame(headers.vary, ['accept-encoding', 'origin'])
      t.ok(bytes.length < plain.bytes.length / 3, `${bytes.length} of ${plain.bytes.length} bytes`)
      if (encoding === 'gzip') t.ok(gunzipSync(bytes).equals(plain.bytes))
      if (encoding === 'br') t.ok(brotliDecompressSync(bytes).equals(plain.bytes))
      tags.push(headers.etag)
    }
    t.equal(new Set(tags).size, tags.length)
    const fetched = await fetch(`${service.origin}/demo/v3/any${path}`)
    t.ok(fetched.headers.get('content-encoding'))
    t.equal(await fetched.text(), plain.text)
    const short = await get(service, `/storage/${full}/${address}/${slot}`, { 'accept-encoding': 'gzip' })
    t.equal(short.headers['content-encoding'], undefined, 'what is short is not compressed')
  })

  t.test(`${name}: a client's good copy is not sent again`, async (t) => {
    const path = `/receipts/${full}`
    for (const accepted of ['identity', 'gzip', 'br']) {
      const first = await get(service, path, { 'accept-encoding': accepted })
      const tag = String(first.headers.etag)
      for (const named of [tag, `W/${tag}`, `"x", ${tag}`, '*']) {
        const { status, headers, text } = await get(service, path, {
          'accept-encoding': accepted,
          'if-none-match': named,
        })
        t.equal(status, 304, `${accepted} ${named}`)
        t.equal(text, '')
        t.equal(headers.etag, tag)
        t.equal(headers['cache-control'], 'private, max-age=31536000, immutable')
        t.strictSame(headers.vary, ['accept-encoding', 'origin'])
        t.equal(headers['content-type'], undefined)
      }
      for (const named of ['"x"', `"${tag}"`, tag.slice(1, -1)]) {
        const headers = { 'accept-encoding': accepted, 'if-none-match': named }
        t.equal((await get(service, path, headers)).status, 200, named)
      }
    }
  })

  t.test(`${name}: HEAD has the headers of GET and no body`, async (t) => {
    for (const accepted of ['identity', 'gzip']) {
      const headers = { 'accept-encoding': accepted }
      const whole = await get(service, `/block/${full}`, headers)
      const head = await get(service, `/block/${full}`, headers, 'HEAD')
      t.equal(head.status, 200)
      t.equal(head.text, '')
      for (const same of ['etag', 'content-length', 'content-encoding', 'cache-control', 'vary']) {
        t.strictSame(head.headers[same], whole.headers[same], same)
      }
    }
    const tag = String((await get(service, `/block/${full}`)).headers.etag)
    t.equal((await get(service, `/block/${full}`, { 'if-none-match': tag }, 'HEAD')).status, 304)
    t.equal((await get(service, '/block/0x1', {}, 'HEAD')).status, 400)
  })

  t.test(`${name}: what is wrong is said with its status, and is not kept`, async (t) => {
    const unknown = `0x${'1'.repeat(64)}`
    const cases: readonly (readonly [path: string, status: number, message: string])[] = [
      ['/block/latest', 400, 'invalid request: want a block hash (0x and 64 hex digits), got "latest"'],
      ['/block/0x1', 400, 'invalid request: want a block hash (0x and 64 hex digits), got "0x1"'],
      ['/receipts/latest', 400, 'invalid request: want a block hash (0x and 64 hex digits), got "latest"'],
      ['/block', 400, 'invalid request: want block/<block hash>?full=true'],
      [`/block/${full}/1`, 400, 'invalid request: want block/<block hash>?full=true'],
      [`/block/${full}?full=1`, 400, 'invalid request: want full=true or full=false, got "1"'],
      [`/block/${full}?x=1`, 400, 'invalid request: unknown parameter "x"'],
      [`/block/${full}?full=true&full=true`, 400, 'invalid request: parameter "full" is there twice'],
      [`/tx/${full}/-1`, 400, 'invalid argument 1: '],
      [`/tx/${full}/`, 400, 'invalid argument 1: '],
      [`/storage/${full}/0x1/0x0`, 400, 'invalid argument 0: '],
      [`/storage/${full}/${address}/zz`, 400, 'invalid hex in storage key'],
      [`/proof/${full}/${address}?keys=0x1,zz`, 400, 'invalid hex in storage key'],
      [`/block/${unknown}`, 404, 'there is nothing of this name here'],
      [`/receipts/${unknown}`, 404, 'there is nothing of this name here'],
      [`/tx/${full}/200`, 404, 'there is nothing of this name here'],
      [`/storage/${unknown}/${address}/0x0`, 404, 'header for hash not found'],
      [`/proof/${unknown}/${address}`, 404, 'header for hash not found'],
      ['/nothing/0x1', 404, 'no such path'],
    ]
    for (const [path, status, message] of cases) {
      const answer = await get(service, path, { 'if-none-match': '*' })
      t.equal(answer.status, status, path)
      const { error, ...rest } = JSON.parse(answer.text)
      t.same(rest, { jsonrpc: '2.0', id: null })
      t.equal(error.message.slice(0, message.length), message)
      t.equal(answer.headers.etag, undefined)
      if (path !== '/nothing/0x1') t.equal(answer.headers['cache-control'], 'no-store')
    }
    const elsewhere = await fetch(`${service.origin}/nowhere/v3/any/block/${full}`)
    t.equal(elsewhere.status, 404)
    const posted = await service.post(`/demo/v3/any/block/${full}`, '{}')
    t.equal(posted.status, 405)
  })
}
