/**
 * The listener for operators, on an address of its own: `/live`, `/ready`, `/metrics`, the API and the dashboard. Owns
 * paths, the token, and which requests are acceptable. Does not own the data. Uses node:http on the main thread, with
 * any transport for the public.
 */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { OperatorError, UsageError } from '../../primitives/faults.js'
import { httpOrigin } from '../../primitives/urls.js'
import { UnknownKey } from '../../serving/access/keyChanges.js'
import { KeysUnreachable } from '../../serving/access/keyRepository.js'
import { TokenGate } from './adminToken.js'
import { fitToRoute, isOwnHost, Refusal, readBody } from './apiRequest.js'
import { ConnectionPlaces } from './connectionPlaces.js'
import { dashboardHeaders, readDashboard } from './dashboard.js'
import { FailedLogIns, type FailedLogInsNote } from './failedLogIns.js'
import { LiveStreams } from './liveStreams.js'
import { buildOpenApi } from './openApi.js'
import type { Readiness } from './readiness.js'
import { type ApiServices, findRoute } from './routes.js'

interface AdminOptions {
  readonly host: string
  /** 0 for any free port. */
  readonly port: number
  /** Names that a Host header may have besides addresses, `localhost` and `host`. */
  readonly hosts: readonly string[]
  readonly token: string
  readonly version: string
  /** Names of threads whose event loops are stuck; none if all is well. */
  stuck(): readonly string[]
  ready(): Readiness | Promise<Readiness>
  metrics(): { readonly contentType: string; readonly text: string }
  readonly api: ApiServices
  /** Called about wrong tokens, at most once a minute. */
  noteFailedLogIns(failed: FailedLogInsNote): void
  /** Called each second. */
  tick(): void
  /** Called and awaited when the listener closes. */
  onClose(): Promise<void>
  logDefect(error: unknown): void
}

interface Page {
  readonly status: number
  readonly contentType: string
  readonly body: string | Uint8Array
  readonly headers?: Readonly<Record<string, string>>
}

/** Time for a whole request, headers and body: no client here is slow. */
const requestMsMax = 10_000
/** Time for the request's head. */
const headMsMax = 2_000
/** Time between two checks of these limits. */
const checkMs = 500
/** Bytes of headers; a token is short. */
const headerBytesMax = 8 * 1024
/** Connections at once: scrapers, probes and a few people. A new connection replaces an idle one. */
const connectionsMax = 100

export class AdminListener {
  readonly #server: Server
  readonly #options: AdminOptions
  readonly #gate: TokenGate
  readonly #hosts: ReadonlySet<string>
  readonly #live: LiveStreams
  /** The OpenAPI document, made on the first request: making it takes a twentieth of the time of a start. */
  #openApi: string | undefined
  readonly #dashboard = readDashboard()
  readonly #failedLogIns: FailedLogIns

  constructor(options: AdminOptions) {
    this.#options = options
    this.#gate = new TokenGate(options.token)
    this.#hosts = new Set([options.host, ...options.hosts].map((name) => name.toLowerCase()))
    this.#failedLogIns = new FailedLogIns((note) => options.noteFailedLogIns(note))
    this.#live = new LiveStreams(
      () => options.tick(),
      () => options.api.readLive(),
    )
    const limits = {
      requestTimeout: requestMsMax,
      headersTimeout: headMsMax,
      connectionsCheckingInterval: checkMs,
      maxHeaderSize: headerBytesMax,
    }
    const places = new ConnectionPlaces(connectionsMax)
    this.#server = createServer(limits, (request, response) => {
      const { socket } = request
      places.begin(socket)
      const answered = this.#answer(request, response).catch((error) => {
        // The client left before its body was complete; no answer is needed.
        if (request.errored === error) return
        options.logDefect(error)
        if (response.headersSent) response.destroy()
        else send(response, request.method, problem(500, 'internal error; see the log'))
      })
      // A stream does not end here, and keeps its place until it closes.
      void answered.then(() => response.writableEnded && places.end(socket))
    })
    this.#server.on('connection', (socket) => places.take(socket))
    this.#server.unref()
  }

  /** `http://HOST:PORT`, once it listens. */
  get url(): string {
    return httpOrigin(this.#options.host, (this.#server.address() as AddressInfo).port)
  }

  /**
   * Listens on the first free port of `portsMax` ports, from the given one. Rejects with OperatorError if it cannot
   * listen on the address.
   */
  async listen(portsMax = 1): Promise<void> {
    const { host, port } = this.#options
    for (let at = 0; ; at++) {
      this.#server.listen({ host, port: port + at, exclusive: true })
      try {
        await once(this.#server, 'listening')
        return
      } catch (error) {
        const { code = '' } = error as NodeJS.ErrnoException
        if (code === 'EADDRINUSE' && at + 1 < portsMax) continue
        const why = whyNotListening[code] ?? code
        const ports = at === 0 ? String(port) : `${port} to ${port + at}`
        throw new OperatorError(`the admin listener cannot listen on ${host}:${ports} (${why})`)
      }
    }
  }

  /** Ends all connections. */
  async close(): Promise<void> {
    this.#live.close()
    this.#failedLogIns.close()
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()))
    this.#server.closeAllConnections()
    await closed
    await this.#options.onClose()
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const page = await this.#page(request, response).catch((thrown) => refusalPage(thrown))
    if (page !== undefined) send(response, request.method, page)
  }

  /** The answer; undefined if it is sent already. */
  async #page(request: IncomingMessage, response: ServerResponse): Promise<Page | undefined> {
    const { method = '', headers, socket } = request
    const [path = '', search = ''] = (request.url ?? '').split('?')
    if (path === '/live') return readOnly(method, () => this.#readLive())
    if (path === '/ready') return readOnly(method, () => this.#readReady())
    if (!isOwnHost(headers.host, this.#hosts)) {
      throw new Refusal(403, 'this host name is not served here: use an address, or add it to "admin.hosts"')
    }
    const file = this.#dashboard.get(path)
    if (file !== undefined) {
      return readOnly(method, () => ({ status: 200, ...file, headers: dashboardHeaders }))
    }
    const refused = await this.#refuse(socket.remoteAddress ?? '', headers.authorization)
    if (refused !== undefined) return refused
    if (path === '/metrics') return readOnly(method, () => this.#readMetrics())
    if (path === '/openapi.json') {
      return readOnly(method, () => {
        this.#openApi ??= JSON.stringify(buildOpenApi(this.#options.version))
        return { status: 200, contentType: 'application/json', body: this.#openApi }
      })
    }
    return this.#callApi(path, search, request, response)
  }

  /** The answer to a request without the right token; undefined for a right one. */
  async #refuse(address: string, authorization: string | undefined): Promise<Page | undefined> {
    if (this.#gate.admits(authorization)) return undefined
    if (authorization !== undefined) {
      this.#failedLogIns.note(address)
      if (!(await this.#gate.delayWrong())) {
        const why = 'this is not the admin token, and many wrong ones arrive; try again later'
        return { ...problem(429, why), headers: { 'retry-after': '1' } }
      }
    }
    const why =
      'the admin token is required: Authorization: Bearer TOKEN, from node/admin-token in the data folder'
    return { ...problem(401, why), headers: { 'www-authenticate': 'Bearer' } }
  }

  async #callApi(
    path: string,
    search: string,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<Page | undefined> {
    const found = findRoute(path, request.method ?? '')
    if (found === undefined) {
      throw new Refusal(404, 'no such path: use /, /live, /ready, /metrics, or one of /openapi.json')
    }
    if ('allow' in found) return notAllowed(found.allow)
    const { route, id } = found
    const { query, body } = fitToRoute(route, new URLSearchParams(search), await readBody(request))
    if (route.isStream && request.method !== 'HEAD') {
      if (this.#live.open(response)) return undefined
      throw new Refusal(503, 'too many listen to the live state; close one of those pages')
    }
    const address = request.socket.remoteAddress ?? ''
    return json(route.status, await route.run(this.#options.api, { id, address, query, body }))
  }

  #readLive(): Page {
    const found = this.#options.stuck()
    return json(found.length === 0 ? 200 : 503, { live: found.length === 0, stuck: found })
  }

  async #readReady(): Promise<Page> {
    const readiness = await this.#options.ready()
    return json(readiness.ready ? 200 : 503, readiness)
  }

  #readMetrics(): Page {
    const { contentType, text } = this.#options.metrics()
    return { status: 200, contentType, body: text }
  }
}

function send(response: ServerResponse, method: string | undefined, page: Page): void {
  response.writeHead(page.status, {
    ...page.headers,
    'content-type': page.contentType,
    'content-length': Buffer.byteLength(page.body),
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  })
  response.end(method === 'HEAD' ? undefined : page.body)
}

function readOnly(method: string, read: () => Page | Promise<Page>): Page | Promise<Page> {
  return method === 'GET' || method === 'HEAD' ? read() : notAllowed(['GET', 'HEAD'])
}

function notAllowed(allow: readonly string[]): Page {
  const methods = allow.join(', ')
  return { ...problem(405, `method not allowed: use ${methods}`), headers: { allow: methods } }
}

/** The answer to a refused request; throws any other error again. */
function refusalPage(thrown: unknown): Page {
  if (thrown instanceof Refusal) return problem(thrown.status, thrown.message)
  if (thrown instanceof UnknownKey) return problem(404, thrown.message)
  if (thrown instanceof KeysUnreachable) return problem(503, thrown.message)
  if (thrown instanceof UsageError) return problem(400, thrown.message)
  if (thrown instanceof OperatorError) return problem(409, thrown.message)
  throw thrown
}

function json(status: number, value: unknown): Page {
  return { status, contentType: 'application/json', body: `${JSON.stringify(value)}\n` }
}

function problem(status: number, error: string): Page {
  return json(status, { error })
}

const whyNotListening: Readonly<Record<string, string>> = {
  EADDRINUSE: 'the port is taken',
  EACCES: 'this user may not use that port',
  EADDRNOTAVAIL: 'this machine has no such address',
}
