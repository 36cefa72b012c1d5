import type { RefusedRequest } from '../../../../src/serving/transport/admission.js'
import {
  type HttpLimits,
  HttpServer,
  type HttpServerOptions,
} from '../../../../src/serving/transport/http.js'
import type { Page } from '../../../../src/serving/transport/httpRoutes.js'
import type { SocketLimits } from '../../../../src/serving/transport/socket.js'
import { transportOf } from '../../../transport/eachTransport.js'
import { wideHttpLimits, wideSocketLimits } from '../../../transport/serverLimits.js'
import { createTestEndpoint, type TestEndpoint } from '../rpc/testMethods.js'

export interface TestServer extends TestEndpoint {
  readonly server: HttpServer
  readonly port: number
  readonly base: string
  readonly rejections: RefusedRequest[]
  /** A POST of JSON through fetch. */
  post(path: string, body: string, headers?: Record<string, string>): Promise<Response>
}

export const goodKey = 'good-key'
export const goodKeyId = '0123456789ab'
export const otherKey = 'other-key'
const keyIds: ReadonlyMap<string, string> = new Map([
  [goodKey, goodKeyId],
  [otherKey, 'ba9876543210'],
])

/** The result of `authorize` for a text in place of the key with this id. */
export const accepted = (id: string, text = id) =>
  ({ ok: true, credentials: [Buffer.from(text)], key: { id } }) as const

export const call = (method: string, params = '[]', id = '1') =>
  `{"jsonrpc":"2.0","id":${id},"method":"${method}","params":${params}}`
export const echo = call('test_echo', '["x"]')
export const echoed = '{"jsonrpc":"2.0","id":1,"result":["x",null]}'

/** A server that does not listen yet, with networks `testnet` (the default) and `other`, on the transport of `t`. */
export function createTestServer(
  t: Parameters<typeof transportOf>[0],
  limits: Partial<HttpLimits> = {},
  options: Partial<HttpServerOptions> = {},
  socketLimits: Partial<SocketLimits> = {},
): TestEndpoint & Pick<TestServer, 'server' | 'rejections'> {
  const endpoint = createTestEndpoint()
  const other = createTestEndpoint()
  other.network.runs = 1000
  const rejections: RefusedRequest[] = []
  const server = new HttpServer({
    transport: transportOf(t),
    host: '127.0.0.1',
    port: 0,
    routes: [
      { name: 'testnet', endpoint: endpoint.endpoint, hosts: [] },
      { name: 'other', endpoint: other.endpoint, hosts: ['Other.example'] },
    ],
    authorize(key) {
      const id = keyIds.get(String(key))
      return id === undefined ? { ok: false, reason: 'unknown API key' } : accepted(id, String(key))
    },
    changedKeys: () => undefined,
    noAuth: false,
    limits: { ...wideHttpLimits, ...limits },
    socketLimits: { ...wideSocketLimits, ...socketLimits },
    cors: '*',
    pages: new Map<string, () => Page | Promise<Page>>([
      ['/health', () => ({ status: 200, body: '{"status":"ok"}' })],
      // An answer that is longer than the system's buffers take at once.
      ['/long', () => ({ status: 200, body: JSON.stringify('x'.repeat(8_000_000)) })],
      ['/failing', () => Promise.resolve({ status: 503, body: '{"status":"failing"}' })],
    ]),
    logDefect: (defect) => endpoint.defects.push(defect),
    logRefused: (rejection) => rejections.push(rejection),
    ...options,
  })
  return { ...endpoint, server, rejections }
}

/** Like {@link createTestServer}, on a free loopback port. */
export async function startTestServer(...args: Parameters<typeof createTestServer>): Promise<TestServer> {
  const created = createTestServer(...args)
  const port = await created.server.listen()
  const base = `http://127.0.0.1:${port}`
  return {
    ...created,
    port,
    base,
    post: (path, body, headers = {}) =>
      fetch(base + path, {
        method: 'POST',
        body,
        headers: { 'content-type': 'application/json', ...headers },
      }),
  }
}

type ServerArguments = Parameters<typeof startTestServer> extends [unknown, ...infer R] ? R : never

/** Like {@link startTestServer}, closed when the test ends. */
export async function withServer(
  t: Parameters<typeof transportOf>[0] & { teardown(run: () => Promise<void>): void },
  ...args: ServerArguments
): Promise<TestServer> {
  const server = await startTestServer(t, ...args)
  t.teardown(() => server.server.close())
  return server
}
