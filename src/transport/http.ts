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
import type { Endpoint } from '../rpc/dispatch.js'
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
  readonly limits: HttpLimits
  readonly socketLimits: SocketLimits
  readonly cors: CorsOrigins
  /**
   * Refuse requests with more than one Content-Length. The server beneath believes the first; a proxy in front that
   * believes another could be made to pass on hidden requests. nginx, HAProxy, Envoy and Go's proxies refuse such
   * requests themselves.
   */
  readonly refuseRepeatedLength: boolean
  /** The body of `GET /health`; it must be quick and not throw. */
  health(): object
  readonly logDefect: DefectLog
  logRejection?(rejection: Rejection): void
}

export interface HttpServer {
  /** Starts listening; resolves to the port. Throws OperatorError when the address cannot be had. */
  listen(): Promise<number>
  /** Takes no new connections, waits for answers under way for at most `closeMsMax`, then closes everything. */
  close(): Promise<void>
}

/** How many sweeps a body's time limit is cut into: a body is given up between 1 and 1.1 limits. */
const sweepsPerBodyLimit = 10

export function createHttpServer(options: HttpServerOptions): HttpServer {
  const { limits } = options
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
    bufferedBytes: 0,
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

  /** Who is to answer a POST, or why nobody does. */
  function admit(req: HttpRequest): Endpoint | Refusal {
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
    const refused = admission.refuseKey(target?.key, keyForm)
    if (refused !== undefined) return refused
    if (isJsonContentType(head.contentType)) return endpoint
    return { answer: wrongContentType, why: 'content type' }
  }

  function onPost(res: HttpResponse, req: HttpRequest): void {
    const admitted = admit(req)
    if ('why' in admitted) reject(res, req, admitted)
    else new Exchange(res, pool, admitted, cors.answer(head.origin), tick, head.at)
  }

  function onOptions(res: HttpResponse): void {
    res.writeStatus(statusLine(204))
    for (const [name, value] of cors.preflight(head.origin)) res.writeHeader(name, value)
    // Without arguments: given a length or undefined, this binary leaves the response open and then aborts.
    res.endWithoutBody()
  }

  function onHealth(res: HttpResponse): void {
    const answer: Answer = { status: 200, body: JSON.stringify(options.health()), retryAfterMs: undefined }
    sendAnswer(res, answer, cors.answer(head.origin), pool.isClosing)
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
      const socket = await bind(app, options.host, options.port)
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
  }
}

/** The overload that the package's types leave out: a host with options. */
interface AppWithExclusiveListen {
  listen(
    host: string,
    port: number,
    options: uWS.ListenOptions,
    callback: (socket: us_listen_socket | false) => void,
  ): void
}

/** `LIBUS_LISTEN_EXCLUSIVE_PORT`: without it two processes started by mistake would share the port's connections. */
const exclusivePort = 1 as uWS.ListenOptions

function bind(app: uWS.TemplatedApp, host: string, port: number): Promise<us_listen_socket> {
  return new Promise((resolve, reject) => {
    const exclusive = app as unknown as AppWithExclusiveListen
    exclusive.listen(host, port, exclusivePort, (socket) => {
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
