/**
 * JSON-RPC over HTTP. Owns methods, headers, limits of what comes in and the life of the listening socket, which
 * WebSockets share (websocket.ts). Does not own who may ask (admission.ts), calls (it asks an endpoint), configuration,
 * or the library that speaks HTTP (wire.ts).
 */
import type { Answer, AnswerBody } from '../rpc/answer.js'
import { thrownToWireError } from '../rpc/wireErrors.js'
import {
  Admission,
  type AdmissionOptions,
  type Refusal,
  type RefusedRequest,
  refusal,
  refusalOfFault,
  unknownNetwork,
} from './admission.js'
import { BodyTurns } from './bodyTurns.js'
import { type CorsOrigins, createCorsHeaders } from './cors.js'
import { Exchange, type ExchangePool, ReceivingList } from './exchange.js'
import { HoldOffs, heldOff } from './holdOffs.js'
import { type PathTarget, parsePath, parseSocketPath, redactPath } from './paths.js'
import type { RequestHead } from './requestHead.js'
import type { SocketLimits } from './socketLimits.js'
import { localTotals, type ServerTotals } from './totals.js'
import { requestsOfKeyMax, TurnShares } from './turnShares.js'
import { WebSocketServer } from './websocket.js'
import { type ExtraHeaders, noHeaders, type Reply, type Transport } from './wire.js'

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
  readonly transport: Transport
  readonly host: string
  /** 0 for any free port. */
  readonly port: number
  /**
   * Present where the server is one of several edges that listen on the same port: what they count together. The
   * port is one of {@link Transport.findSharedPort} then.
   */
  readonly totals?: ServerTotals
  readonly limits: HttpLimits
  readonly socketLimits: SocketLimits
  readonly cors: CorsOrigins
  /** What GET answers, by its path, as JSON; each must be quick and neither throw nor reject. */
  readonly pages: ReadonlyMap<string, () => AnswerBody | Promise<AnswerBody>>
  logRefused?(refused: RefusedRequest): void
  /** By which WebSockets are pinged and ended; monotonic. */
  readonly clockMs?: () => number
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
  /** The path seen last and what it asks for: most clients keep to one, and telling texts equal is quicker than cutting. */
  let lastPath = ''
  let lastTarget: PathTarget | undefined
  const idleListeners: (() => void)[] = []
  let tick = 0
  const shares = new TurnShares()
  const holdOffs = new HoldOffs()

  const pool: ExchangePool = {
    bodyBytesMax: limits.bodyBytesMax,
    bufferedBytesMax: limits.bufferedBytesMax,
    bufferedBytes: totals.bodyBytes,
    open: 0,
    isClosing: false,
    receiving: new ReceivingList(),
    holdOffs,
    bodyTurns: new BodyTurns(),
    onIdle: () => {
      for (const listener of idleListeners.splice(0)) listener()
    },
    tooLong: (bytes) => refusal(413, -32600, `content length too large (${bytes}>${limits.bodyBytesMax})`),
    noRoom: () => refusalOfFault(503, { kind: 'ServerBusy', retryAfterMs: 1000 }),
    defect: (error) => void thrownToWireError(error, 'http', options.logDefect),
  }

  /** Answers without taking the body in. What is left of it is read past, unless it is long or its length in doubt. */
  function reject(head: RequestHead, reply: Reply, refusal: Refusal, extra: ExtraHeaders = []): void {
    if (!shares.admit(nobody, tick, wire.connections)) return reply.cut()
    const { answer, why } = refusal
    options.logRefused?.({ status: answer.status, path: redactPath(head.path), why })
    const upgrade = answer === wrongTransport ? upgradeHeader : noHeaders
    const headers = [...cors.answer(head.origin), ...extra, ...upgrade]
    const endless = answer.status === 413 || head.transferEncoding !== ''
    reply.send(answer, headers, endless || pool.isClosing)
  }

  /** Hands a POST to the one who is to answer it, or says why nobody does. */
  function take(head: RequestHead, reply: Reply): Refusal | undefined {
    const { path } = head
    if (path !== lastPath) {
      lastPath = path
      lastTarget = parsePath(path)
    }
    const target = lastTarget
    const endpoint = target && admission.findEndpoint(target, head.host)
    if (endpoint === undefined) {
      if (parseSocketPath(path) !== undefined) return { answer: wrongTransport, why: 'path of WebSockets' }
      return target === undefined ? { answer: notFound, why: 'unknown path' } : unknownNetwork
    }
    const length = Number(head.contentLength)
    if (length > limits.bodyBytesMax) return { answer: pool.tooLong(length), why: 'body too long' }
    const admitted = admission.admitKey(target?.key, keyForm)
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
    if (!isJsonContentType(head.contentType)) return { answer: wrongContentType, why: 'content type' }
    new Exchange(reply, pool, endpoint, admitted, cors.answer(head.origin), tick, head.at)
    return undefined
  }

  /** Has a request of a key that is held off wait for its refusal. */
  function holdBack(head: RequestHead, reply: Reply, refusal: Promise<Answer>): void {
    options.logRefused?.({ status: 429, path: redactPath(head.path), why: heldOff })
    const headers = cors.answer(head.origin)
    reply.wait()
    void refusal.then((answer) => reply.send(answer, headers, true))
  }

  function sendPage(
    page: () => AnswerBody | Promise<AnswerBody>,
    { origin }: RequestHead,
    reply: Reply,
  ): void {
    const headers = cors.answer(origin)
    const send = (body: AnswerBody) =>
      reply.send({ status: 200, body, retryAfterMs: undefined }, headers, pool.isClosing)
    const body = page()
    if (!(body instanceof Promise)) return send(body)
    reply.wait()
    void body.then(send)
  }

  function onOther(head: RequestHead, reply: Reply): void {
    const { path } = head
    const isPage = options.pages.has(path)
    const isSocketPath = parseSocketPath(path) !== undefined
    const isKnown = isPage || parsePath(path) !== undefined
    const answer = isSocketPath ? wrongTransport : isKnown ? wrongMethod : notFound
    const allow: ExtraHeaders =
      answer !== wrongMethod ? [] : [['allow', isPage ? 'GET, HEAD, OPTIONS' : 'POST, OPTIONS']]
    reject(head, reply, { answer, why: 'method' }, allow)
  }

  function onRequest(head: RequestHead, reply: Reply): void {
    const { method, path, doubt } = head
    if (doubt !== undefined) {
      options.logRefused?.({ status: 400, path: redactPath(path), why: doubt })
      return reply.refuse(refusal(400, -32600, doubt))
    }
    if (method === 'POST') {
      const refused = take(head, reply)
      if (refused !== undefined) options.pages.has(path) ? onOther(head, reply) : reject(head, reply, refused)
      return
    }
    const page = method === 'GET' || method === 'HEAD' ? options.pages.get(path) : undefined
    if (page !== undefined) sendPage(page, head, reply)
    else if (method === 'OPTIONS') reply.send(noContent, cors.preflight(head.origin), pool.isClosing)
    else onOther(head, reply)
  }

  const sockets = new WebSocketServer({
    admission,
    cors,
    authorize: options.authorize,
    changedKeys: options.changedKeys,
    noAuth: options.noAuth,
    limits: options.socketLimits,
    totals,
    holdOffs,
    defect: (error) => void thrownToWireError(error, 'websocket', options.logDefect),
    logRefused: options.logRefused,
    clockMs: options.clockMs ?? (() => performance.now()),
  })
  const { messageBytesMax, idleMsMax } = options.socketLimits
  const wire = options.transport.createWire(
    { onRequest, onUpgrade: (head) => sockets.admit(head) },
    { headMsMax: limits.bodyMsMax, messageBytesMax, idleMsMax },
  )
  let isListening = false
  let sweep: NodeJS.Timeout | undefined

  return {
    async listen() {
      const port = await wire.listen(options, options.totals !== undefined)
      isListening = true
      sockets.start()
      sweep = setInterval(() => {
        tick++
        pool.receiving.closeBefore(tick - sweepsPerBodyLimit)
      }, limits.bodyMsMax / sweepsPerBodyLimit)
      // A timer alone is no reason for the process to live on.
      sweep.unref()
      return port
    },
    async close() {
      if (!isListening) return
      isListening = false
      pool.isClosing = true
      wire.stopListening()
      const idle = new Promise<void>((resolve) => {
        if (pool.open === 0) resolve()
        else idleListeners.push(resolve)
      })
      await within(limits.closeMsMax, Promise.all([idle, sockets.close()]))
      clearInterval(sweep)
      wire.close()
    },
    abandon() {
      isListening = false
      pool.isClosing = true
      clearInterval(sweep)
      wire.close()
    },
  }
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

/** Whoever asks without a good key, in {@link TurnShares}. */
const nobody = ''

const keyForm = '/v3/<key>'
const notFound = refusal(404, -32600, 'no such path: use /v3/<key> or /<network>/v3/<key>')
const wrongTransport = refusal(426, -32600, 'this path is for WebSockets: connect to it with ws://')
const upgradeHeader: ExtraHeaders = [['upgrade', 'websocket']]
const wrongMethod = refusal(405, -32600, 'method not allowed: send JSON-RPC requests with POST')
const wrongContentType = refusal(415, -32600, 'invalid content type, only application/json is supported')
/** To a preflight. */
const noContent: Answer = { status: 204, body: '', retryAfterMs: undefined }

const jsonContentTypePattern = /^\s*application\/json\s*(?:;|$)/i

function isJsonContentType(value: string): boolean {
  return value === 'application/json' || jsonContentTypePattern.test(value)
}
