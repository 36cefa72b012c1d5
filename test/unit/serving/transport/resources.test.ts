import { resourceStatus } from '../../../../src/serving/rpc/reading/resources.js'
import { test } from '../../../transport/eachTransport.js'
import { createTestEndpoint } from '../rpc/testMethods.js'
import { goodKey, withServer } from './testServer.js'

const block = `/block/0x${'12'.repeat(32)}`
const origin = 'https://app.example'

test('a resource asks for a key as POST does, and the log has none', async (t) => {
  const { base, rejections } = await withServer(t)
  const refused = await fetch(`${base}/v3/secret${block}`, { headers: { origin } })
  t.equal(refused.status, 401)
  t.equal(refused.headers.get('access-control-allow-origin'), '*')
  t.equal(refused.headers.get('cache-control'), 'no-store')
  t.same(await refused.json(), {
    jsonrpc: '2.0',
    id: null,
    error: { code: -32001, message: 'unauthorized: unknown API key' },
  })
  t.equal((await fetch(`${base}/v3/${goodKey}/block/secret`)).status, 400)
  t.equal((await fetch(`${base}/v3/secret${block}`, { method: 'PUT' })).status, 405)
  t.equal(rejections.length, 3)
  t.notMatch(JSON.stringify(rejections), /secret/)
})

test('on a network without the method there is no such resource', async (t) => {
  const { base } = await withServer(t)
  const answer = await fetch(`${base}/v3/${goodKey}${block}`, { headers: { origin } })
  t.equal(answer.status, 404)
  t.equal(answer.headers.get('access-control-allow-origin'), '*')
  t.match(await answer.json(), { id: null, error: { code: -32601 } })
})

test('a resource that cannot be paid is refused with the time to wait', async (t) => {
  const anonymousAllowance = { unitsPerSecond: 1, charge: () => 1_500, debit() {} }
  const { base } = await withServer(t, {}, { noAuth: true, anonymousAllowance })
  const answer = await fetch(`${base}/v3/any${block}`)
  t.equal(answer.status, 429)
  t.equal(answer.headers.get('retry-after'), '2')
  t.equal(answer.headers.get('cache-control'), 'no-store')
  t.match(await answer.json(), { error: { code: -32005 } })
})

test('each fault has its status', async (t) => {
  t.equal(resourceStatus(undefined), 500)
  t.equal(resourceStatus({ kind: 'ServerBusy', retryAfterMs: 1 }), 503)
  t.equal(resourceStatus({ kind: 'RequestTimedOut' }), 503)
  t.equal(resourceStatus({ kind: 'MethodNotAllowed', method: 'eth_getProof' }), 403)
  t.equal(resourceStatus({ kind: 'TooManyStorageKeys', max: 1, got: 2 }), 400)
  t.equal(resourceStatus({ kind: 'StateNotAvailable', stateRoot: '0x' }), 404)
})

test('an answer that a browser keeps may be shown to pages, whoever fetched it first', async (t) => {
  const { endpoint } = createTestEndpoint()
  const handle = () => ({ status: 200, body: ['"x"'], result: '"x"', retryAfterMs: undefined })
  const routes = [{ name: 'testnet', endpoint: { ...endpoint, handle }, hosts: [] }]
  const url = `/v3/${goodKey}${block}`
  const headersOf = async (base: string, headers = {}) => {
    const answer = await fetch(base + url, { headers })
    return [answer.headers.get('access-control-allow-origin'), answer.headers.get('vary')]
  }
  const all = await withServer(t, {}, { routes })
  t.strictSame(await headersOf(all.base), ['*', 'accept-encoding'])
  t.strictSame(await headersOf(all.base, { origin }), ['*', 'accept-encoding'])
  const same = await fetch(all.base + url, { headers: { 'if-none-match': '*' } })
  t.strictSame([same.status, same.headers.get('access-control-allow-origin')], [304, '*'])
  const listed = await withServer(t, {}, { routes, cors: [origin] })
  t.strictSame(await headersOf(listed.base), [null, 'accept-encoding, origin'])
  t.strictSame(await headersOf(listed.base, { origin }), [origin, 'accept-encoding, origin'])
  t.strictSame(await headersOf(listed.base, { origin: 'https://evil.example' }), [
    null,
    'accept-encoding, origin',
  ])
})

test('an answer that is only believed says so in each form', async (t) => {
  const { endpoint } = createTestEndpoint()
  let result = JSON.stringify('x'.repeat(20_000))
  const handle = () => ({
    status: 200,
    body: [result],
    result,
    retryAfterMs: undefined,
    trust: 'quorum' as const,
  })
  const routes = [{ name: 'testnet', endpoint: { ...endpoint, handle }, hosts: [] }]
  const { base } = await withServer(t, {}, { routes })
  const get = (headers: Record<string, string>) => fetch(`${base}/v3/${goodKey}${block}`, { headers })
  const plain = await get({ 'accept-encoding': 'identity' })
  t.match([plain.status, plain.headers.get('tidegate-trust')], [200, 'quorum'])
  const short = await get({ 'accept-encoding': 'gzip' })
  t.match([short.headers.get('content-encoding'), short.headers.get('tidegate-trust')], ['gzip', 'quorum'])
  const same = await get({ 'if-none-match': plain.headers.get('etag') ?? '', 'accept-encoding': 'identity' })
  t.match([same.status, same.headers.get('tidegate-trust')], [304, 'quorum'])
  result = 'null'
  const nothing = await get({})
  t.match([nothing.status, nothing.headers.get('tidegate-trust')], [404, 'quorum'])
})
