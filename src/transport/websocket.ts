/**
 * JSON-RPC over WebSockets, on the port of the HTTP server. Owns upgrades and their refusals, the number of
 * connections, and the sweep that pings, finds silent clients and ends the sockets of revoked keys. Does not own what
 * happens on one connection (socket.ts) nor who may ask (admission.ts).
 *
 * Facts about the server beneath it: it ends a connection without a close code for text that is no UTF-8, for frames
 * that break the protocol and for messages over its own bound; an unfinished message lies in its memory, up to that
 * bound and uncounted here; its idle time counts what comes in, and ends a connection without a code as well; after
 * its drain handler it forgets a connection in which that handler left something unsent; a connection that was ended
 * is over for us once the close frame is out, and it waits 16 s at most for the client's before it drops the rest.
 */
import uWS, {
  type HttpRequest,
  type HttpResponse,
  type TemplatedApp,
  type us_socket_context_t,
  type WebSocket,
} from 'uWebSockets.js'
import {
  type Admission,
  type Authorization,
  type Refusal,
  type Rejection,
  refusal,
  refusalOfFault,
  unknownNetwork,
} from './admission.js'
import type { CorsHeaders } from './cors.js'
import { parseSocketPath, redactPath } from './paths.js'
import { noHeaders, sendAnswer } from './sendAnswer.js'
import { closeCodes, Socket, type SocketData, type SocketLimits, type SocketPool } from './socket.js'
import type { ServerTotals, Total } from './totals.js'

export interface WebSocketServerOptions {
  readonly admission: Admission
  /** As the HTTP server's. */
  authorize(key: string): Authorization
  readonly noAuth: boolean
  readonly cors: CorsHeaders
  readonly limits: SocketLimits
  readonly totals: ServerTotals
  /** Reports a thrown value that nothing on the way here expected. */
  defect(error: unknown): void
  readonly logRejection: ((rejection: Rejection) => void) | undefined
}

/**
 * How often sockets are looked at. A revoked key is noticed one such time after the key ring notices it, which takes
 * as long again: half a second in all.
 */
const sweepMs = 250

/** The idle times that uWebSockets.js accepts. */
const deadSecondsMin = 8
const deadSecondsMax = 960

/** Messages are read up to this many times the limit, so that the client can be told that they are too long. */
const tooBigFactor = 2

const keyForm = '/ws/v3/<key>'
const notFound: Refusal = {
  answer: refusal(404, -32600, 'no such path: use /ws/v3/<key> or /<network>/ws/v3/<key>'),
  why: 'unknown path',
}
const stopping: Refusal = {
  answer: refusalOfFault(503, { kind: 'ServerBusy', retryAfterMs: 1000 }),
  why: 'the server is stopping',
}
const foreignOrigin: Refusal = {
  answer: refusal(403, -32001, 'forbidden: pages of this origin may not connect'),
  why: 'origin',
}

export class WebSocketServer implements SocketPool {
  readonly limits: SocketLimits
  readonly bytes: Total
  readonly count: Total
  nowMs = performance.now()
  readonly #options: WebSocketServerOptions
  /** Connections by their key. */
  readonly #sockets = new Map<string | undefined, Set<Socket>>()
  /** Of this edge. */
  #open = 0
  #isClosing = false
  #onIdle = () => {}
  #sweeper: NodeJS.Timeout | undefined

  constructor(options: WebSocketServerOptions) {
    this.#options = options
    this.limits = options.limits
    this.bytes = options.totals.socketBytes
    this.count = options.totals.sockets
  }

  /** Adds its route, which leaves requests that want no WebSocket to the routes after it. */
  attach(app: TemplatedApp): void {
    const { messageBytesMax, idleMsMax } = this.limits
    app.ws<SocketData>('/*', {
      compression: uWS.DISABLED,
      maxPayloadLength: Math.min(messageBytesMax * tooBigFactor, 2 ** 32 - 1),
      // No bound: it would drop messages without a word.
      maxBackpressure: 0,
      // After our own sweep, which can say why.
      idleTimeout: Math.min(Math.ceil(idleMsMax / 1000) + deadSecondsMin, deadSecondsMax),
      sendPingsAutomatically: false,
      upgrade: (res, req, context) => this.#upgrade(res, req, context),
      open: (ws) => this.#onOpen(ws),
      message: (ws, message, isBinary) => ws.getUserData().socket?.onMessage(message, isBinary),
      drain: (ws) => ws.getUserData().socket?.onDrain(),
      ping: (ws) => ws.getUserData().socket?.onHeard(),
      pong: (ws) => ws.getUserData().socket?.onHeard(),
      close: (ws) => ws.getUserData().socket?.onClose(),
    })
    this.#sweeper = setInterval(() => this.#sweep(), sweepMs)
    // A timer alone is no reason for the process to live on.
    this.#sweeper.unref()
  }

  /** Takes no new connection or message; resolves once every connection has sent what was under way and ended. */
  async close(): Promise<void> {
    this.#isClosing = true
    const idle = new Promise<void>((resolve) => {
      this.#onIdle = resolve
    })
    for (const sockets of this.#sockets.values()) for (const socket of sockets) socket.drain()
    if (this.#open > 0) await idle
    clearInterval(this.#sweeper)
  }

  gone(socket: Socket): void {
    const sockets = this.#sockets.get(socket.key)
    if (sockets?.delete(socket) !== true) return
    if (sockets.size === 0) this.#sockets.delete(socket.key)
    this.#uncount(socket.key)
    if (--this.#open === 0) this.#onIdle()
  }

  defect(error: unknown): void {
    this.#options.defect(error)
  }

  #upgrade(res: HttpResponse, req: HttpRequest, context: us_socket_context_t): void {
    const admitted = this.#admit(req)
    if ('why' in admitted) {
      const { answer, why } = admitted
      this.#options.logRejection?.({ status: answer.status, path: redactPath(req.getUrl()), why })
      sendAnswer(res, answer, noHeaders, true)
      return
    }
    // Neither a subprotocol nor an extension is offered.
    res.upgrade<SocketData>(admitted, req.getHeader('sec-websocket-key'), '', '', context)
  }

  #admit(req: HttpRequest): SocketData | Refusal {
    const { admission, noAuth, cors } = this.#options
    const target = parseSocketPath(req.getUrl())
    if (target === undefined) return notFound
    const endpoint = admission.findEndpoint(target, req)
    if (endpoint === undefined) return unknownNetwork
    const admitted = admission.admitKey(target.key, keyForm)
    if ('why' in admitted) return admitted
    if (!cors.allows(req.getHeader('origin'))) return foreignOrigin
    const key = noAuth ? undefined : target.key
    return this.#countIn(key) ?? { endpoint, key, identity: admitted, socket: undefined }
  }

  /**
   * Counts a connection that is about to open, or says why no further one is taken, of this key or at all. Counted
   * before it is compared, so that edges that do so at the same time do not take one too many.
   */
  #countIn(key: string | undefined): Refusal | undefined {
    const { socketsMax, socketsPerKeyMax } = this.limits
    if (this.#isClosing) return stopping
    const { sockets, addOfKey } = this.#options.totals
    if (sockets.add(1) > socketsMax) {
      sockets.add(-1)
      return tooMany(503, 'WebSockets of this server', socketsMax)
    }
    if (key === undefined) return undefined
    const ofKey = addOfKey(key, 1)
    if (ofKey <= socketsPerKeyMax) return undefined
    if (Number.isFinite(ofKey)) addOfKey(key, -1)
    sockets.add(-1)
    return tooMany(429, 'WebSockets of this API key', socketsPerKeyMax)
  }

  #uncount(key: string | undefined): void {
    const { sockets, addOfKey } = this.#options.totals
    sockets.add(-1)
    if (key !== undefined) addOfKey(key, -1)
  }

  #onOpen(ws: WebSocket<SocketData>): void {
    const data = ws.getUserData()
    const socket = new Socket(ws, this)
    data.socket = socket
    const sockets = this.#sockets.get(data.key)
    if (sockets === undefined) this.#sockets.set(data.key, new Set([socket]))
    else sockets.add(socket)
    this.#open++
  }

  #sweep(): void {
    this.nowMs = performance.now()
    for (const [key, sockets] of this.#sockets) {
      const authorization = key === undefined ? undefined : this.#options.authorize(key)
      for (const socket of sockets) {
        if (authorization?.ok === false) {
          socket.close(closeCodes.policy, `unauthorized: ${authorization.reason}`)
        }
        socket.sweep()
      }
    }
  }
}

function tooMany(status: number, what: string, limit: number): Refusal {
  return {
    answer: refusalOfFault(status, { kind: 'LimitExceeded', what, limit, retryAfterMs: 1000 }),
    why: `too many ${what}`,
  }
}
