/**
 * JSON-RPC over HTTP on uWebSockets.js. Owns methods, headers, limits of what comes in and the life of the listening
 * socket, which WebSockets share (websocket.ts). Does not own who may ask (admission.ts), calls (it asks an endpoint)
 * or configuration.
 *
 * Facts about the server beneath it: requests are answered in order on one connection, and a request that arrives
 * while an earlier one of the same connection waits for a job or sends a long answer ends that connection.
 * `Expect: 100-continue` gets no interim answer; clients send the body after their own short wait.
 */
import uWS, { type HttpRequest, type HttpResponse, type us_listen_socket } from 'uWebSockets.js'
import { OperatorError } from '../primitives/faults.js'
import type { Answer } from '../rpc/answer.js'
import { type DefectLog, thrownToWireError } from '../rpc/wireErrors.js'
import {
  Admission,
  type AdmissionOptions,
  type Refusal,
  type Rejection,
  refusal,
  refusalOfFault,
  unknownNetwork,
} from './admission.js'
import { type CorsOrigins, createCorsHeaders } from './cors.js'
import { Exchange, type ExchangePool, ReceivingList } from './exchange.js'
import { type PathTarget, parsePath, parseSocketPath, redactPath } from './paths.js'
import { RequestHead } from './requestHead.js'
import { type ExtraHeaders, noHeaders, sendAnswer, statusLine } from './sendAnswer.js'
import type { SocketLimits } from './socket.js'
import { localTotals, type ServerTotals } from './totals.js'
import { WebSocketServer } from './websocket.js'

export interface HttpLimits {
  /** Bytes of one request body. go-ethereum's default: 5 MiB. */
  readonly bodyBytesMax: number
  /** Bytes of unfinished bodies over all connections. */
  readonly bufferedBytesMax: number
  /** From a request's headers to the end of its body. */
  readonly bodyMsMax: number
  /** How long {@link HttpServer.close} waits for answers under way. */
  readonly closeMsMax: number
}

export interface HttpServerOptions extends AdmissionOptions {
  readonly host: string
  /** 0 for any free port. */
  readonly port: number
  /**
   * Present where the server is one of several edges that listen on the same port: what they count together. The
   * port is one of {@link findSharedPort} then.
   */
  readonly totals?: ServerTotals
  readonly limits: HttpLimits
  readonly socketLimits: SocketLimits
  readonly cors: CorsOrigins
  /**
   * Refuse requests with more than one Content-Length. The server beneath believes the first; a proxy in front that
   * believes another could be made to pass on hidden requests. nginx, HAProxy, Envoy and Go's proxies refuse such
   * requests themselves.
   */
  readonly refuseRepeatedLength: boolean
  /** The body of `GET /health`; it must be quick and neither throw nor reject. */
  health(): object | Promise<object>
  readonly logDefect: DefectLog
  logRejection?(rejection: Rejection): void
}

export interface HttpServer {
  /** Starts listening; resolves to the port. Throws OperatorError when the address cannot be had. */
  listen(): Promise<number>
  /** Takes no new connections, waits for answers under way for at most `closeMsMax`, then closes everything. */
  close(): Promise<void>
  /** Closes everything at once, answers under way as well. */
  abandon(): void
}

/** How many sweeps a body's time limit is cut into: a body is given up between 1 and 1.1 limits. */
const sweepsPerBodyLimit = 10

export function createHttpServer(options: HttpServerOptions): HttpServer {
  const { limits, totals = localTotals() } = options
  const admission = new Admission(options)
  const cors = createCorsHeaders(options.cors)
  /** Of the request at hand. */
  const head = new RequestHead()
  /** The path seen last and what it asks for: most clients keep to one, and telling texts equal is quicker than cutting. */
  let lastPath = ''
  let lastTarget: PathTarget | undefined
  const idleListeners: (() => void)[] = []
  let tick = 0

  const pool: ExchangePool = {
    bodyBytesMax: limits.bodyBytesMax,
    bufferedBytesMax: limits.bufferedBytesMax,
    bufferedBytes: totals.bodyBytes,
    open: 0,
    isClosing: false,
    receiving: new ReceivingList(),
    onIdle: () => {
      for (const listener of idleListeners.splice(0)) listener()
    },
    tooLong: (bytes) => refusal(413, -32600, `content length too large (${bytes}>${limits.bodyBytesMax})`),
    noRoom: () => refusalOfFault(503, { kind: 'ServerBusy', retryAfterMs: 1000 }),
    defect: (error) => void thrownToWireError(error, 'http', options.logDefect),
  }

  /** Answers without taking the body in. What is left of it is read past, unless it is long or its length in doubt. */
  function reject(res: HttpResponse, req: HttpRequest, refusal: Refusal, extra: ExtraHeaders = []): void {
    const { answer, why } = refusal
    options.logRejection?.({ status: answer.status, path: redactPath(req.getUrl()), why })
    const upgrade = answer === wrongTransport ? upgradeHeader : noHeaders
    const headers = [...cors.answer(head.origin), ...extra, ...upgrade]
    const endless = answer.status === 413 || req.getHeader('transfer-encoding') !== ''
    sendAnswer(res, answer, headers, endless || pool.isClosing)
  }

  /**
   * Where such a body ends is in doubt, so nothing after it may run. While this answer waits, a further request of
   * the connection ends it; had the answer gone out already, one in the same packet would run.
   */
  function refuseRepeatedLength(res: HttpResponse, req: HttpRequest): void {
    options.logRejection?.({ status: 400, path: redactPath(req.getUrl()), why: 'repeated Content-Length' })
    let isOver = false
    res.onAborted(() => {
      isOver = true
    })
    setImmediate(() => {
      if (!isOver) res.cork(() => sendAnswer(res, repeatedLength, noHeaders, true))
    })
  }

  /** Hands a POST to the one who is to answer it, or says why nobody does. */
  function take(res: HttpResponse, req: HttpRequest): Refusal | undefined {
    const path = req.getUrl()
    if (path !== lastPath) {
      lastPath = path
      lastTarget = parsePath(path)
    }
    const target = lastTarget
    const endpoint = target && admission.findEndpoint(target, req)
    if (endpoint === undefined) {
      if (parseSocketPath(path) !== undefined) return { answer: wrongTransport, why: 'path of WebSockets' }
      return target === undefined ? { answer: notFound, why: 'unknown path' } : unknownNetwork
    }
    const length = Number(head.contentLength)
    if (length > limits.bodyBytesMax) return { answer: pool.tooLong(length), why: 'body too long' }
    const admitted = admission.admitKey(target?.key, keyForm)
    if ('why' in admitted) return admitted
    if (!isJsonContentType(head.contentType)) return { answer: wrongContentType, why: 'content type' }
    new Exchange(res, pool, endpoint, admitted, cors.answer(head.origin), tick, head.at)
    return undefined
  }

  function onPost(res: HttpResponse, req: HttpRequest): void {
    const refused = take(res, req)
    if (refused !== undefined) reject(res, req, refused)
  }

  function onOptions(res: HttpResponse): void {
    res.writeStatus(statusLine(204))
    for (const [name, value] of cors.preflight(head.origin)) res.writeHeader(name, value)
    // Without arguments: given a length or undefined, this binary leaves the response open and then aborts.
    res.endWithoutBody()
  }

  function onHealth(res: HttpResponse): void {
    const headers = cors.answer(head.origin)
    const send = (health: object) => {
      const answer: Answer = { status: 200, body: JSON.stringify(health), retryAfterMs: undefined }
      sendAnswer(res, answer, headers, pool.isClosing)
    }
    const health = options.health()
    if (!(health instanceof Promise)) return send(health)
    let isOver = false
    res.onAborted(() => {
      isOver = true
    })
    void health.then((found) => {
      if (!isOver) res.cork(() => send(found))
    })
  }

  function onOther(res: HttpResponse, req: HttpRequest): void {
    const path = req.getUrl()
    const isSocketPath = parseSocketPath(path) !== undefined
    const isKnown = path === '/health' || parsePath(path) !== undefined
    const answer = isSocketPath ? wrongTransport : isKnown ? wrongMethod : notFound
    const allow: ExtraHeaders =
      answer !== wrongMethod ? [] : [['allow', path === '/health' ? 'GET, OPTIONS' : 'POST, OPTIONS']]
    if (req.getMethod() !== 'head') {
      reject(res, req, { answer, why: 'method' }, allow)
      return
    }
    // An answer to HEAD has no body.
    res.writeStatus(statusLine(answer.status))
    for (const [name, value] of allow) res.writeHeader(name, value)
    res.endWithoutBody()
  }

  /** Reads the head before a handler runs, and refuses repeated lengths where that is asked for. */
  function headed(handle: (res: HttpResponse, req: HttpRequest) => void): typeof handle {
    return (res, req) => {
      head.read(req)
      if (options.refuseRepeatedLength && head.contentLengths > 1) refuseRepeatedLength(res, req)
      else handle(res, req)
    }
  }

  const app = uWS.App()
  const sockets = new WebSocketServer({
    admission,
    cors,
    authorize: options.authorize,
    noAuth: options.noAuth,
    limits: options.socketLimits,
    totals,
    defect: (error) => void thrownToWireError(error, 'websocket', options.logDefect),
    logRejection: options.logRejection,
  })
  sockets.attach(app)
  app.post('/health', headed(onOther))
  app.post('/*', headed(onPost))
  app.get('/health', headed(onHealth))
  app.options('/*', headed(onOptions))
  app.any('/*', headed(onOther))

  let listenSocket: us_listen_socket | undefined
  let sweep: NodeJS.Timeout | undefined

  return {
    async listen() {
      const socket = await bind(app, options, options.totals === undefined ? exclusivePort : sharedPort)
      listenSocket = socket
      sweep = setInterval(() => {
        tick++
        pool.receiving.closeBefore(tick - sweepsPerBodyLimit)
      }, limits.bodyMsMax / sweepsPerBodyLimit)
      // A timer alone is no reason for the process to live on.
      sweep.unref()
      return uWS.us_socket_local_port(socket)
    },
    async close() {
      if (listenSocket === undefined) return
      pool.isClosing = true
      uWS.us_listen_socket_close(listenSocket)
      listenSocket = undefined
      const idle = new Promise<void>((resolve) => {
        if (pool.open === 0) resolve()
        else idleListeners.push(resolve)
      })
      await within(limits.closeMsMax, Promise.all([idle, sockets.close()]))
      clearInterval(sweep)
      app.close()
    },
    abandon() {
      listenSocket = undefined
      pool.isClosing = true
      clearInterval(sweep)
      app.close()
    },
  }
}

/** The overload that the package's types leave out: a host with options. */
interface AppWithListenOptions {
  listen(
    host: string,
    port: number,
    options: uWS.ListenOptions,
    callback: (socket: us_listen_socket | false) => void,
  ): void
}

interface Address {
  readonly host: string
  readonly port: number
}

/** `LIBUS_LISTEN_EXCLUSIVE_PORT`: without it two processes started by mistake would share the port's connections. */
const exclusivePort = 1 as uWS.ListenOptions
/** `LIBUS_LISTEN_DEFAULT`: with SO_REUSEPORT, by which the kernel spreads connections over all who listen so. */
const sharedPort = 0 as uWS.ListenOptions

/**
 * The port on which several edges may listen next. It is taken alone for a moment: that finds a free one for 0, which
 * uWebSockets.js does not share, and another process that listens on it. Throws OperatorError for that one.
 */
export async function findSharedPort(address: Address): Promise<number> {
  const app = uWS.App()
  try {
    return uWS.us_socket_local_port(await bind(app, address, exclusivePort))
  } finally {
    app.close()
  }
}

function bind(
  app: uWS.TemplatedApp,
  { host, port }: Address,
  listenOptions: uWS.ListenOptions,
): Promise<us_listen_socket> {
  return new Promise((resolve, reject) => {
    const listener = app as unknown as AppWithListenOptions
    listener.listen(host, port, listenOptions, (socket) => {
      if (socket !== false) return resolve(socket)
      reject(
        new OperatorError(
          `Cannot listen on ${host}:${port}: choose another address or port, or stop the process that uses it.`,
        ),
      )
    })
  })
}

/** Waits for `promise`, but no longer than `ms`. */
async function within(ms: number, promise: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms)
  })
  await Promise.race([promise, late])
  clearTimeout(timer)
}

const keyForm = '/v3/<key>'
const notFound = refusal(404, -32600, 'no such path: use /v3/<key> or /<network>/v3/<key>')
const wrongTransport = refusal(426, -32600, 'this path is for WebSockets: connect to it with ws://')
const upgradeHeader: ExtraHeaders = [['upgrade', 'websocket']]
const wrongMethod = refusal(405, -32600, 'method not allowed: send JSON-RPC requests with POST')
const wrongContentType = refusal(415, -32600, 'invalid content type, only application/json is supported')
const repeatedLength = refusal(400, -32600, 'more than one content length')

const jsonContentTypePattern = /^\s*application\/json\s*(?:;|$)/i

function isJsonContentType(value: string): boolean {
  return value === 'application/json' || jsonContentTypePattern.test(value)
}
