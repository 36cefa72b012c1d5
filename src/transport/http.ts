/**
 * JSON-RPC over HTTP. Owns HTTP methods, headers, limits of incoming data and the life of the listening socket, which
 * WebSockets share (websocket.ts). Does not own admission (admission.ts), calls (the endpoint's), configuration, or
 * the HTTP library (wire.ts).
 */

import { setInterval } from '../primitives/timers.js'
import type { Answer } from '../rpc/answers/answer.js'
import { thrownToWireError } from '../rpc/answers/wireErrors.js'
import { isResource, resourceCall } from '../rpc/reading/resources.js'
import type { SubscriberPool } from '../streams/subscriberPool.js'
import {
  Admission,
  type AdmissionOptions,
  type Allowed,
  foreignHost,
  type Refusal,
  type RefusedRequest,
  type Route,
  refusal,
  refusalOfFault,
  unknownNetwork,
} from './admission.js'
import { BodyTurns } from './bodyTurns.js'
import { CompressedCopies } from './compressedCopies.js'
import { type CorsOrigins, createCorsHeaders } from './cors.js'
import { everythingRead, within } from './eventLoop.js'
import { Exchange, type ExchangePool, ReceivingList } from './exchange.js'
import { HoldOffs, heldOff } from './holdOffs.js'
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
import { RequestLog, type RequestLogOptions, readRequestId, withRequestId } from './requestLog.js'
import { notKept, ResourceExchange } from './resourceExchange.js'
import type { ServerSettings } from './serverSettings.js'
import type { SocketLimits } from './socketLimits.js'
import type { TlsFiles } from './tlsFiles.js'
import { localTotals, type ServerTotals } from './totals.js'
import { TrustedProxies } from './trustedProxies.js'
import { requestsOfKeyMax, TurnShares } from './turnShares.js'
import { WebSocketServer } from './websocket.js'
import { type ExtraHeaders, noHeaders, type Reply, type Transport } from './wire.js'

export interface HttpLimits {
  /** Bytes of one request body. go-ethereum's default: 5 MiB. */
  readonly bodyBytesMax: number
  /** Bytes of unfinished bodies of all connections. */
  readonly bufferedBytesMax: number
  /** Time from a request's headers to the end of its body. */
  readonly bodyMsMax: number
  /** How long {@link HttpServer.close} waits for answers under way. */
  readonly closeMsMax: number
  /** Bytes of compressed copies of answers; 0: nothing is compressed. */
  readonly compressedBytesMax: number
}

export interface HttpServerOptions extends AdmissionOptions {
  readonly transport: Transport
  readonly host: string
  /** 0 for any free port. */
  readonly port: number
  /**
   * Counters shared with the other edges, where several listen on the same port; the port is then from
   * {@link Transport.findPort}.
   */
  readonly totals?: ServerTotals
  /** Where given, HTTPS and WSS are spoken. */
  readonly tls?: TlsFiles | undefined
  readonly limits: HttpLimits
  readonly socketLimits: SocketLimits
  readonly cors: CorsOrigins
  /** As in {@link ServerSettings}. */
  readonly allowedHosts?: readonly string[] | undefined
  readonly trustedProxies?: readonly string[]
  /** Path → the status and the JSON that GET answers. The functions must be fast and never throw or reject. */
  readonly pages: ReadonlyMap<string, () => Page | Promise<Page>>
  logRefused?(refused: RefusedRequest): void
  /** Absent: requests are not logged. */
  readonly requestLog?: Omit<RequestLogOptions, 'routes'> | undefined
  /** Clock for pings and time limits of WebSockets and for hold-offs, in milliseconds; never goes back. */
  readonly clockMs?: () => number
}

/** What GET answers at a path of its own. */
export type Page = Pick<Answer, 'status' | 'body'>

export interface HttpServer {
  /** Number of open HTTP connections, without WebSockets. */
  readonly connections: number
  /** Subscriptions of its WebSockets. */
  readonly subscribers: Pick<SubscriberPool, 'open' | 'skippedEvents'>
  /** Bytes of compressed copies. */
  readonly copyBytes: number
  /** What its limits are compared with; shared by all edges. */
  readonly totals: ServerTotals
  /** Starts listening; resolves to the port. Rejects with OperatorError where the address cannot be listened on. */
  listen(): Promise<number>
  /**
   * Accepts no new connections; answers the requests that have arrived, for at most `closeMsMax`, each with
   * `connection: close`; ends WebSockets with 1001; then closes everything.
   */
  close(): Promise<void>
  /** Closes everything at once, answers under way as well. */
  abandon(): void
  /** Applies the settings; rejects as {@link Wire.renewTls} does, and all others apply then. */
  reconfigure(settings: ServerSettings): Promise<void>
}

/** Sweeps per time limit of a body, so that a late body is ended after 1 to 1.1 limits. */
const sweepsPerBodyLimit = 10

export function createHttpServer(options: HttpServerOptions): HttpServer {
  const { limits, totals = localTotals() } = options
  const admission = new Admission(options)
  let cors = createCorsHeaders(options.cors)
  const { routes } = options
  const requestLog = options.requestLog && new RequestLog({ ...options.requestLog, routes })
  let proxies = new TrustedProxies(options.trustedProxies ?? [])
  let hostGate = options.allowedHosts && new HostGate(options.allowedHosts)
  /** The path of the last request, parsed: most clients use one path, and comparing is faster than parsing. */
  let lastPath = ''
  let lastTarget: PathTarget | undefined
  const idleListeners: (() => void)[] = []
  /** Requests since the server began to close. */
  let lateRequests = 0
  let tick = 0
  const shares = new TurnShares()
  const clockMs = options.clockMs ?? (() => performance.now())
  const holdOffs = new HoldOffs(clockMs)

  const pool: ExchangePool = {
    bodyBytesMax: limits.bodyBytesMax,
    bufferedBytesMax: limits.bufferedBytesMax,
    bufferedBytes: totals.bodyBytes,
    open: 0,
    isClosing: false,
    receiving: new ReceivingList(),
    holdOffs,
    bodyTurns: new BodyTurns(),
    copies: new CompressedCopies(limits.compressedBytesMax),
    onIdle: () => {
      for (const listener of idleListeners.splice(0)) listener()
    },
    tooLong: (bytes) => refusal(413, -32600, `content length too large (${bytes}>${limits.bodyBytesMax})`),
    noRoom: () => refusalOfFault(503, { kind: 'ServerBusy', retryAfterMs: 1000 }),
    defect: (error) => void thrownToWireError(error, 'http', options.logDefect),
  }

  /**
   * Answers without reading the body. The rest of the body is skipped; if it is too long or its length unknown, the
   * connection ends.
   */
  function reject(head: RequestHead, reply: Reply, refusal: Refusal, extra: ExtraHeaders = []): void {
    if (!shares.admit(nobody, tick, wire.connections)) return reply.cut()
    const { answer, why } = refusal
    options.logRefused?.({ status: answer.status, path: redactPath(head.path), address: head.address, why })
    const upgrade = answer === wrongTransport ? upgradeHeader : noHeaders
    const common = withRequestId(cors.answer(head.origin), readRequestId(head.requestId))
    const headers = [...common, ...extra, ...upgrade]
    const endless = answer.status === 413 || head.transferEncoding !== ''
    reply.send(answer, headers, endless || pool.isClosing)
  }

  /** Passes a POST to its endpoint, or returns why it is refused. */
  function take(head: RequestHead, reply: Reply): Refusal | undefined {
    const { path } = head
    if (path !== lastPath) {
      lastPath = path
      lastTarget = parsePath(path)
    }
    const target = lastTarget
    const route = target && admission.findRoute(target, head.host)
    if (target === undefined || route === undefined) {
      if (parseSocketPath(path) !== undefined) return { answer: wrongTransport, why: 'path of WebSockets' }
      return target === undefined ? { answer: notFound, why: 'unknown path' } : unknownNetwork
    }
    const length = Number(head.contentLength)
    if (length > limits.bodyBytesMax) return { answer: pool.tooLong(length), why: 'body too long' }
    const admitted = admit(head, reply, route, target)
    if (admitted === undefined || 'why' in admitted) return admitted
    if (!isJsonContentType(head.contentType)) return { answer: wrongContentType, why: 'content type' }
    const requestId = readRequestId(head.requestId)
    const watched = requestLog?.watch(route.endpoint, requestId, head.traceParent)
    const extra = withRequestId(cors.answer(head.origin), watched?.requestId ?? requestId)
    const { at, acceptEncoding } = head
    const asked = watched ?? route.endpoint
    new Exchange(reply, pool, asked, admitted, extra, tick, at, length || Number.NaN, acceptEncoding)
    return undefined
  }

  /** Who asks, or why he is refused; undefined where that is settled here. */
  function admit(
    head: RequestHead,
    reply: Reply,
    route: Route,
    target: PathTarget,
  ): Allowed | Refusal | undefined {
    const admitted = admission.admit(route, target.key, head, keyForm)
    if ('why' in admitted) return admitted
    const { id } = admitted.key
    const laterRefusal = holdOffs.refusalOf(id)
    if (laterRefusal !== undefined) {
      holdBack(head, reply, laterRefusal)
      return undefined
    }
    if (!shares.admit(id, tick, wire.connections)) {
      holdOffs.begin(id, 'requests sent at once by this API key', requestsOfKeyMax)
      reply.cut()
      return undefined
    }
    return admitted
  }

  /** Answers a GET or HEAD of a resource, or returns why it is refused. */
  function show(head: RequestHead, reply: Reply, { target, segments }: ResourcePath): Refusal | undefined {
    const route = admission.findRoute(target, head.host)
    if (route === undefined) return unknownNetwork
    const admitted = admit(head, reply, route, target)
    if (admitted === undefined || 'why' in admitted) return admitted
    const body = resourceCall({ segments, query: head.query })
    if (typeof body !== 'string') return { answer: refusalOfFault(400, body), why: 'name of a resource' }
    const { acceptEncoding, ifNoneMatch } = head
    const requestId = readRequestId(head.requestId)
    const watched = requestLog?.watch(route.endpoint, requestId, head.traceParent)
    const headers = withRequestId(cors.answer(head.origin), watched?.requestId ?? requestId)
    const exchange = new ResourceExchange(reply, pool, admitted, headers)
    void exchange.answer(watched ?? route.endpoint, body, { acceptEncoding, ifNoneMatch })
    return undefined
  }

  /** Lets a request of a key that is held off wait for its refusal. */
  function holdBack(head: RequestHead, reply: Reply, refusal: Promise<Answer>): void {
    options.logRefused?.({ status: 429, path: redactPath(head.path), address: head.address, why: heldOff })
    const headers = cors.answer(head.origin)
    reply.wait()
    void refusal.then((answer) => reply.send(answer, headers, true))
  }

  function sendPage(page: () => Page | Promise<Page>, { origin }: RequestHead, reply: Reply): void {
    const headers = cors.answer(origin)
    const send = ({ status, body }: Page) =>
      reply.send({ status, body, retryAfterMs: undefined }, headers, pool.isClosing)
    const shown = page()
    if (!(shown instanceof Promise)) return send(shown)
    reply.wait()
    void shown.then(send)
  }

  const isResourcePath = (path: string): boolean => isResource(parseResourcePath(path)?.segments ?? [])

  function onOther(head: RequestHead, reply: Reply): void {
    const { path } = head
    const isPage = options.pages.has(path)
    const isSocketPath = parseSocketPath(path) !== undefined
    const isResource = isResourcePath(path)
    const isKnown = isPage || isResource || parsePath(path) !== undefined
    const answer = isSocketPath ? wrongTransport : isKnown ? wrongMethod : notFound
    const allow: ExtraHeaders =
      answer !== wrongMethod ? [] : [['allow', isPage || isResource ? 'GET, HEAD, OPTIONS' : 'POST, OPTIONS']]
    reject(head, reply, { answer, why: 'method' }, allow)
  }

  function onRequest(head: RequestHead, reply: Reply): void {
    const { method, path, doubt } = head
    if (pool.isClosing) lateRequests++
    if (doubt !== undefined) {
      options.logRefused?.({ status: 400, path: redactPath(path), address: head.address, why: doubt })
      return reply.refuse(refusal(400, -32600, doubt))
    }
    if (hostGate?.allows(head.host) === false) return reject(head, reply, foreignHost)
    if (method === 'POST') {
      const refused = take(head, reply)
      if (refused === undefined) return
      return options.pages.has(path) || isResourcePath(path)
        ? onOther(head, reply)
        : reject(head, reply, refused)
    }
    const isRead = method === 'GET' || method === 'HEAD'
    const page = isRead ? options.pages.get(path) : undefined
    const resource = isRead && page === undefined ? parseResourcePath(path) : undefined
    if (page !== undefined) sendPage(page, head, reply)
    else if (resource !== undefined && isResource(resource.segments)) {
      const refused = show(head, reply, resource)
      if (refused !== undefined) reject(head, reply, refused, notKept)
    } else if (method === 'OPTIONS') reply.send(noContent, cors.preflight(head.origin), pool.isClosing)
    else onOther(head, reply)
  }

  /** Resolves once all requests are answered, those as well that the system has taken and nobody has read. */
  async function allAnswered(): Promise<void> {
    for (let seen = -1; pool.open > 0 || seen !== lateRequests; ) {
      seen = lateRequests
      if (pool.open > 0) await new Promise<void>((resolve) => idleListeners.push(resolve))
      await everythingRead()
    }
  }

  const sockets = new WebSocketServer({
    admission,
    allowsOrigin: (origin) => cors.allows(origin),
    allowsHost: (host) => hostGate?.allows(host) !== false,
    changedKeys: options.changedKeys,
    noAuth: options.noAuth,
    limits: options.socketLimits,
    totals,
    holdOffs,
    defect: (error) => void thrownToWireError(error, 'websocket', options.logDefect),
    logRefused: options.logRefused,
    requestLog,
    clockMs,
  })
  const { messageBytesMax, idleMsMax } = options.socketLimits
  const wire = options.transport.createWire(
    {
      onRequest,
      onUpgrade: (head) => sockets.admit(head),
      clientOf: (peer, forwardedFor) => proxies.clientOf(peer, forwardedFor),
    },
    { headMsMax: limits.bodyMsMax, messageBytesMax, idleMsMax },
    options.tls,
  )
  let isListening = false
  let sweep: NodeJS.Timeout | undefined

  return {
    get connections() {
      return wire.connections
    },
    subscribers: sockets.subscribers,
    get copyBytes() {
      return pool.copies.bytes
    },
    totals,
    async listen() {
      const port = await wire.listen(options, options.totals !== undefined)
      isListening = true
      sockets.start()
      sweep = setInterval(() => {
        tick++
        pool.receiving.closeBefore(tick - sweepsPerBodyLimit)
      }, limits.bodyMsMax / sweepsPerBodyLimit)
      // The timer alone must not keep the process alive.
      sweep.unref()
      return port
    },
    async close() {
      if (!isListening) return
      isListening = false
      pool.isClosing = true
      wire.stopListening()
      await within(limits.closeMsMax, Promise.all([allAnswered(), sockets.close()]))
      clearInterval(sweep)
      wire.close()
    },
    abandon() {
      isListening = false
      pool.isClosing = true
      clearInterval(sweep)
      wire.close()
    },
    async reconfigure(settings) {
      cors = createCorsHeaders(settings.cors)
      requestLog?.configure(settings.requestLog)
      proxies = new TrustedProxies(settings.trustedProxies)
      hostGate = settings.allowedHosts && new HostGate(settings.allowedHosts)
      admission.setHosts(settings.hosts)
      if (options.tls && settings.tls && isListening) await wire.renewTls(settings.tls)
    },
  }
}

/** Key in {@link TurnShares} of all requests without a valid key. */
const nobody = ''

const keyForm = '/v3/<key>'
const notFound = refusal(404, -32600, 'no such path: use /v3/<key> or /<network>/v3/<key>')
const wrongTransport = refusal(426, -32600, 'this path is for WebSockets: connect to it with ws://')
const upgradeHeader: ExtraHeaders = [['upgrade', 'websocket']]
const wrongMethod = refusal(405, -32600, 'method not allowed: send JSON-RPC requests with POST')
const wrongContentType = refusal(415, -32600, 'invalid content type, only application/json is supported')
/** The answer to a preflight. */
const noContent: Answer = { status: 204, body: '', retryAfterMs: undefined }

const jsonContentTypePattern = /^\s*application\/json\s*(?:;|$)/i

function isJsonContentType(value: string): boolean {
  return value === 'application/json' || jsonContentTypePattern.test(value)
}
