/**
 * Routes HTTP requests: finds the endpoint, page or resource of each path and method, checks the caller, and answers
 * refused requests. Does not own admission (admission.ts), nor the answers of endpoints (exchange.ts,
 * resourceExchange.ts).
 */
import type { Answer } from '../rpc/answers/answer.js'
import { isResource, resourceCall } from '../rpc/reading/resources.js'
import {
  type Admission,
  type Allowed,
  foreignHost,
  type Refusal,
  type RefusedRequest,
  type Route,
  refusal,
  refusalOfFault,
  unknownNetwork,
} from './admission.js'
import { type CorsHeaders, type CorsOrigins, createCorsHeaders } from './cors.js'
import { Exchange, type ExchangePool } from './exchange.js'
import { keyPaused } from './floodPenalties.js'
import { HostGate } from './hostGate.js'
import {
  type PathTarget,
  parsePath,
  parseResourcePath,
  parseSocketPath,
  type ResourcePath,
  redactPath,
} from './paths.js'
import type { RequestHead } from './requestHead.js'
import { type RequestLog, type RequestLogSettings, readRequestId, withRequestId } from './requestLog.js'
import { keylessMax, RequestsPerTurn, requestsOfKeyMax } from './requestsPerTurn.js'
import { notKept, ResourceExchange } from './resourceExchange.js'
import type { TlsFiles } from './tlsFiles.js'
import { type ExtraHeaders, noHeaders, type Reply } from './wire.js'

/** The answer of GET at a path of its own. */
export type Page = Pick<Answer, 'status' | 'body'>

export interface HttpRoutesOptions {
  readonly cors: CorsOrigins
  /** As in {@link ServerSettings}. */
  readonly allowedHosts?: readonly string[] | undefined
  /** Path → status and JSON for GET. The functions must be fast and never throw or reject. */
  readonly pages: ReadonlyMap<string, () => Page | Promise<Page>>
  logRefused?(refused: RefusedRequest): void
}

export class HttpRoutes {
  tick = 0
  /** Requests since the server began to close. */
  lateRequests = 0
  #cors: CorsHeaders
  #hostGate: HostGate | undefined
  /** The path of the last request, parsed: most clients use one path, and comparing is faster than parsing. */
  #lastPath = ''
  #lastTarget: PathTarget | undefined
  readonly #shares = new RequestsPerTurn()
  readonly #options: HttpRoutesOptions
  readonly #admission: Admission
  readonly #pool: ExchangePool
  readonly #requestLog: RequestLog | undefined
  readonly #connections: () => number

  /** `connections`: open HTTP connections. */
  constructor(
    options: HttpRoutesOptions,
    admission: Admission,
    pool: ExchangePool,
    requestLog: RequestLog | undefined,
    connections: () => number,
  ) {
    this.#options = options
    this.#admission = admission
    this.#pool = pool
    this.#requestLog = requestLog
    this.#connections = connections
    this.#cors = createCorsHeaders(options.cors)
    this.#hostGate = options.allowedHosts && new HostGate(options.allowedHosts)
  }

  configure({ cors, allowedHosts }: Pick<ServerSettings, 'cors' | 'allowedHosts'>): void {
    this.#cors = createCorsHeaders(cors)
    this.#hostGate = allowedHosts && new HostGate(allowedHosts)
  }

  allowsOrigin(origin: string): boolean {
    return this.#cors.allows(origin)
  }

  allowsHost(host: string): boolean {
    return this.#hostGate?.allows(host) !== false
  }

  onRequest(head: RequestHead, reply: Reply): void {
    const { method, path, ambiguity } = head
    if (this.#pool.isClosing) this.lateRequests++
    if (ambiguity !== undefined) {
      this.#logRefused(head, 400, { reason: 'malformed', why: ambiguity })
      return reply.refuse(refusal(400, -32600, ambiguity))
    }
    if (!this.allowsHost(head.host)) return this.#reject(head, reply, foreignHost)
    if (method === 'POST') {
      const refused = this.#take(head, reply)
      if (refused === undefined) return
      return this.#findPage(path) !== undefined || isResourcePath(path)
        ? this.#onOther(head, reply)
        : this.#reject(head, reply, refused)
    }
    const isRead = method === 'GET' || method === 'HEAD'
    const page = isRead ? (path === '/' ? rootPage : this.#findPage(path)) : undefined
    const resource = isRead && page === undefined ? parseResourcePath(path) : undefined
    if (page !== undefined) this.#sendPage(page, head, reply)
    else if (resource !== undefined && isResource(resource.segments)) {
      const refused = this.#show(head, reply, resource)
      if (refused !== undefined) this.#reject(head, reply, refused, notKept)
    } else if (method === 'OPTIONS') {
      if (!this.#admitsNobody(head)) return reply.cut()
      reply.send(noContent, this.#cors.preflight(head.origin), this.#pool.isClosing)
    } else this.#onOther(head, reply)
  }

  /** Ignores one slash at the end, as {@link parsePath} does. */
  #findPage(path: string): (() => Page | Promise<Page>) | undefined {
    const { pages } = this.#options
    return pages.get(path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path)
  }

  /** Passes a POST to its endpoint, or returns the refusal. */
  #take(head: RequestHead, reply: Reply): Refusal | undefined {
    const { path } = head
    if (path !== this.#lastPath) {
      this.#lastPath = path
      this.#lastTarget = parsePath(path)
    }
    const target = this.#lastTarget
    const route = target && this.#admission.findRoute(target, head.host)
    if (target === undefined || route === undefined) {
      if (parseSocketPath(path) !== undefined) return socketPath
      return target === undefined ? unknownPath : unknownNetwork
    }
    const length = contentLengthOf(head.contentLength)
    if (length > this.#pool.bodyBytesMax) {
      return { answer: this.#pool.tooLong(length), reason: 'length', why: 'body too long' }
    }
    const admitted = this.#admit(head, reply, route, target)
    if (admitted === undefined || 'why' in admitted) return admitted
    if (!isJsonContentType(head.contentType)) {
      return { answer: wrongContentType, reason: 'content type', why: 'content type' }
    }
    if (head.contentEncoding !== '') {
      const encoded = refusedEncoding(head.contentEncoding)
      if (encoded !== undefined) return encoded
    }
    const { at, acceptEncoding } = head
    const watched = this.#watch(head, route)
    const headers = this.#headersFor(head, watched?.requestId)
    const asked = watched ?? route.endpoint
    new Exchange(reply, this.#pool, asked, admitted, headers, this.tick, at, length, acceptEncoding)
    return undefined
  }

  /** Answers a GET or HEAD of a resource, or returns the refusal. */
  #show(head: RequestHead, reply: Reply, { target, segments }: ResourcePath): Refusal | undefined {
    const route = this.#admission.findRoute(target, head.host)
    if (route === undefined) return unknownNetwork
    const admitted = this.#admit(head, reply, route, target)
    if (admitted === undefined || 'why' in admitted) return admitted
    const body = resourceCall({ segments, query: head.query })
    if (typeof body !== 'string') {
      return { answer: refusalOfFault(400, body), reason: 'malformed', why: 'name of a resource' }
    }
    const { acceptEncoding, ifNoneMatch } = head
    const watched = this.#watch(head, route)
    const headers = this.#headersFor(head, watched?.requestId, this.#cors.kept(head.origin))
    const exchange = new ResourceExchange(reply, this.#pool, admitted, headers)
    void exchange.answer(watched ?? route.endpoint, body, { acceptEncoding, ifNoneMatch })
    return undefined
  }

  #watch(head: RequestHead, { endpoint }: Route) {
    return this.#requestLog?.watch(endpoint, readRequestId(head.requestId), head.traceParent)
  }

  #headersFor(
    head: RequestHead,
    requestId = readRequestId(head.requestId),
    ofOrigin = this.#cors.answer(head.origin),
  ): ExtraHeaders {
    return withRequestId(ofOrigin, requestId)
  }

  /** The admitted caller, or the refusal; undefined if this method answers or ends the connection. */
  #admit(head: RequestHead, reply: Reply, route: Route, target: PathTarget): Allowed | Refusal | undefined {
    const admitted = this.#admission.admit(route, target.key, head, keyForm)
    if ('why' in admitted) return admitted
    const { floodPenalties } = this.#pool
    const { id } = admitted.key
    const laterRefusal = floodPenalties.refusalOf(id)
    if (laterRefusal !== undefined) {
      this.#logRefused(head, keyPaused.status, { ...keyPaused, keyId: id })
      const headers = this.#cors.answer(head.origin)
      reply.wait()
      void laterRefusal.then((answer) => reply.send(answer, headers, true))
      return undefined
    }
    if (this.#shares.admit(id, this.tick, this.#connections())) return admitted
    floodPenalties.begin(id, 'requests sent at once by this API key', requestsOfKeyMax)
    reply.cut()
    return undefined
  }

  #sendPage(page: () => Page | Promise<Page>, head: RequestHead, reply: Reply): void {
    if (!this.#admitsNobody(head)) return reply.cut()
    const headers = this.#cors.answer(head.origin)
    const send = ({ status, body }: Page) =>
      reply.send({ status, body, retryAfterMs: undefined }, headers, this.#pool.isClosing)
    const shown = page()
    if (!(shown instanceof Promise)) return send(shown)
    reply.wait()
    void shown.then(send)
  }

  #onOther(head: RequestHead, reply: Reply): void {
    const { path } = head
    if (parseSocketPath(path) !== undefined) return this.#reject(head, reply, socketPath)
    const isRead = this.#findPage(path) !== undefined || isResourcePath(path)
    if (!isRead) {
      const target = parsePath(path)
      if (target === undefined) return this.#reject(head, reply, unknownPath)
      if (this.#admission.findRoute(target, head.host) === undefined) {
        return this.#reject(head, reply, unknownNetwork)
      }
    }
    const allowed = isRead
      ? 'GET, HEAD, OPTIONS'
      : path === '/'
        ? 'GET, HEAD, POST, OPTIONS'
        : 'POST, OPTIONS'
    this.#reject(head, reply, isRead ? wrongReadMethod : wrongMethod, [['allow', allowed]])
  }

  /**
   * Answers without reading the body. If the rest of the body is too long, or of unknown length, the connection ends.
   */
  #reject(head: RequestHead, reply: Reply, refused: Refusal, extra = noHeaders): void {
    if (!this.#admitsNobody(head)) return reply.cut()
    const { answer, why } = refused
    this.#logRefused(head, answer.status, refused)
    const upgrade = answer === socketPath.answer ? upgradeHeader : noHeaders
    const endless = answer.status === 413 || head.transferEncoding !== ''
    const encodings = why === 'content encoding' ? acceptedEncoding : noHeaders
    const headers = [...this.#headersFor(head), ...extra, ...upgrade, ...encodings]
    reply.send(answer, headers, endless || this.#pool.isClosing)
  }

  /** Counts by client address the requests that need no key, or have no valid one; false beyond the share. */
  #admitsNobody({ address }: RequestHead): boolean {
    return this.#shares.admit(address, this.tick, this.#connections(), keylessMax)
  }

  #logRefused(
    { path, address }: RequestHead,
    status: number,
    { reason, why, keyId }: Omit<Refusal, 'answer'>,
  ): void {
    this.#options.logRefused?.({ status, path: redactPath(path), address, reason, why, keyId })
  }
}

function isResourcePath(path: string): boolean {
  return isResource(parseResourcePath(path)?.segments ?? [])
}

/** The answer at `/`: balancers and clients that look for a node expect status 200 there, as from go-ethereum. */
const rootPage = (): Page => ({ status: 200, body: '{"note":"send JSON-RPC with POST"}' })

const keyForm = '/v3/<key>'
const unknownPath: Refusal = {
  answer: refusal(404, -32600, 'no such path: use /v3/<key> or /<network>/v3/<key>'),
  reason: 'path',
  why: 'unknown path',
}
const socketPath: Refusal = {
  answer: refusal(426, -32600, 'this path is for WebSockets: connect to it with ws://'),
  reason: 'transport',
  why: 'path of WebSockets',
}
/** RFC 9110, section 15.5.16. */
const acceptedEncoding: ExtraHeaders = [['accept-encoding', 'identity']]
const upgradeHeader: ExtraHeaders = [['upgrade', 'websocket']]
const wrongMethod: Refusal = {
  answer: refusal(405, -32600, 'method not allowed: send JSON-RPC requests with POST'),
  reason: 'method',
  why: 'method',
}
/** For pages and addresses of results, which are no place for requests. */
const wrongReadMethod: Refusal = {
  answer: refusal(405, -32600, 'method not allowed: this path answers GET and HEAD'),
  reason: 'method',
  why: 'method',
}
const wrongContentType = refusal(415, -32600, 'invalid content type, only application/json is supported')

/** The refusal of a body with this Content-Encoding; undefined for an unencoded one. */
function refusedEncoding(contentEncoding: string): Refusal | undefined {
  const [coded] = contentEncoding.split(',').filter((each) => !/^\s*(identity)?\s*$/i.test(each))
  if (coded === undefined) return undefined
  const name = /^[\w.-]{1,20}$/.test(coded.trim()) ? ` ${coded.trim().toLowerCase()}` : ''
  const what = `content encoding${name} is not supported: send the body as it is`
  return { answer: refusal(415, -32600, what), reason: 'content type', why: 'content encoding' }
}

const noContent: Answer = { status: 204, body: '', retryAfterMs: undefined }

/** The types that go-ethereum accepts. */
const jsonContentTypePattern = /^\s*application\/json(?:-rpc|request)?\s*(?:;|$)/i

/** The value of a Content-Length, which has only digits; NaN if absent. `Number` would be a call of V8's runtime. */
function contentLengthOf(text: string): number {
  let length = text === '' ? Number.NaN : 0
  for (let at = 0; at < text.length; at++) length = length * 10 + text.charCodeAt(at) - 0x30
  return length
}

function isJsonContentType(value: string): boolean {
  return value === 'application/json' || jsonContentTypePattern.test(value)
}

/** Settings that may change while a server runs. */
export interface ServerSettings {
  readonly cors: CorsOrigins
  /** Network → host names that address it; see {@link Route.hosts}. */
  readonly hosts: ReadonlyMap<string, readonly string[]>
  /** Allowed host names besides addresses and `localhost`, in lower case; if undefined, all. */
  readonly allowedHosts: readonly string[] | undefined
  /** IP addresses and networks of proxies whose X-Forwarded-For is trusted. */
  readonly trustedProxies: readonly string[]
  readonly requestLog: RequestLogSettings
  /** The files are read again at each change. Ignored by a server without TLS. */
  readonly tls: TlsFiles | undefined
}
