/**
 * JSON-RPC over HTTP. Owns limits of incoming data and the life of the listening socket, which WebSockets share
 * (websocket.ts). Does not own the meaning of paths and methods (httpRoutes.ts), calls (the endpoint), configuration,
 * or the HTTP library (wire.ts).
 */

import { randomBytes } from 'node:crypto'
import { setImmediate, setTimeout as sleep } from 'node:timers/promises'
import { waitFor } from '../../primitives/deferred.js'
import { LinkedList } from '../../primitives/linkedList.js'
import { setInterval } from '../../primitives/timers.js'
import { Share } from '../../primitives/timeSlices.js'
import { thrownToWireError } from '../rpc/answers/wireErrors.js'
import type { SubscriberPool } from '../streams/subscriberPool.js'
import { Admission, type AdmissionOptions, refusal, refusalOfFault } from './admission.js'
import { CompressedCopies } from './compressedCopies.js'
import { type ExchangePool, slicesOfBodies } from './exchange.js'
import { FloodPenalties } from './floodPenalties.js'
import { HttpRoutes, type HttpRoutesOptions, type ServerSettings } from './httpRoutes.js'
import { RequestLog, type RequestLogOptions } from './requestLog.js'
import type { SocketLimits } from './socket.js'
import type { TlsFiles } from './tlsFiles.js'
import { localTotals, type ServerTotals } from './totals.js'
import { TrustedProxies } from './trustedProxies.js'
import { WebSocketServer } from './websocket.js'
import type { Transport, Wire } from './wire.js'

export interface HttpLimits {
  readonly bodyBytesMax: number
  /** Bytes of unfinished bodies of all connections. */
  readonly bufferedBytesMax: number
  /** Time from a request's headers to the end of its body. */
  readonly bodyMsMax: number
  /** Maximum wait of {@link HttpServer.close} for unfinished answers. */
  readonly closeMsMax: number
  /**
   * Maximum connections, WebSockets included; if absent, no limit. At a process's limit of open files, the listener can
   * neither accept a waiting connection nor drop it, and would retry without end.
   */
  readonly connectionsMax?: number
  /** Bytes of compressed copies of answers; 0: answers are not compressed. */
  readonly compressedBytesMax: number
}

/** Where, and with which key, {@link HttpServer.serveAlone} serves. */
export interface OwnAddress {
  readonly host: string
  readonly port: number
  readonly key: string
}

export interface HttpServerOptions extends AdmissionOptions, HttpRoutesOptions {
  readonly transport: Transport
  readonly host: string
  /** 0 for any free port. */
  readonly port: number
  /** Shared with the other edges that listen on the same port, which is then from {@link Transport.findPort}. */
  readonly totals?: ServerTotals
  /** If present, the server speaks HTTPS and WSS. */
  readonly tls?: TlsFiles | undefined
  readonly limits: HttpLimits
  readonly socketLimits: SocketLimits
  readonly trustedProxies?: readonly string[]
  /** Called at most once a minute, with the number of connections closed since because of `connectionsMax`. */
  logFull?(ended: number): void
  /** Options of the request log; if absent, requests are not logged. */
  readonly requestLog?: Omit<RequestLogOptions, 'routes'> | undefined
  /** Clock for pings and time limits of WebSockets and for hold-offs, in milliseconds; never goes back. */
  readonly clockMs?: () => number
  /** The time of day, for the end of keys and tokens; `Date.now` if absent. */
  readonly dateMs?: () => number
}

/** Minimum time between two reports of connections without room. */
const fullMsMin = 60_000

/**
 * Without traffic for this time, `close` closes the open connections. A busy client that got an answer just before the
 * drain sends its next request within this time. The answer to it ends the connection.
 */
const quietMs = 100
/** Maximum wait for the last connections to be accepted, and again for the quiet time: a stop takes a second longer. */
const quietMsMax = 500

/** Bytes of the random key of {@link HttpServer.serveAlone}: as many as those of a client's key. */
const keyBytes = 32
const loopback = '127.0.0.1'
/** Turns of the event loop in which connections that their client ended are closed; a few are enough. */
const turnsToClose = 100

/** Sweeps per time limit of a body, so that a late body is ended after 1 to 1.1 limits. */
const sweepsPerBodyLimit = 10

export class HttpServer {
  /** The counts that the limits apply to; shared by all edges. */
  readonly totals: ServerTotals
  readonly #options: HttpServerOptions
  readonly #clockMs: () => number
  readonly #admission: Admission
  readonly #requestLog: RequestLog | undefined
  readonly #pool: ExchangePool
  readonly #routes: HttpRoutes
  readonly #sockets: WebSocketServer
  readonly #wire: Wire
  #proxies: TrustedProxies
  #idleListeners: (() => void)[] = []
  readonly #full = { ended: 0, reportedMs: Number.NEGATIVE_INFINITY }
  #isListening = false
  #sweep: NodeJS.Timeout | undefined

  constructor(options: HttpServerOptions) {
    this.#options = options
    this.totals = options.totals ?? localTotals()
    this.#clockMs = options.clockMs ?? (() => performance.now())
    this.#admission = new Admission(options)
    this.#requestLog = options.requestLog && new RequestLog({ ...options.requestLog, routes: options.routes })
    this.#proxies = new TrustedProxies(options.trustedProxies ?? [])
    const floodPenalties = new FloodPenalties(this.#clockMs)
    this.#pool = this.#createPool(floodPenalties)
    this.#routes = new HttpRoutes(
      options,
      this.#admission,
      this.#pool,
      this.#requestLog,
      () => this.#wire.connections,
    )
    this.#sockets = new WebSocketServer({
      admission: this.#admission,
      allowsOrigin: (origin) => this.#routes.allowsOrigin(origin),
      allowsHost: (host) => this.#routes.allowsHost(host),
      changedKeys: options.changedKeys,
      noAuth: options.noAuth,
      limits: options.socketLimits,
      totals: this.totals,
      floodPenalties,
      defect: (error) => void thrownToWireError(error, 'websocket', options.logDefect),
      logRefused: options.logRefused,
      requestLog: this.#requestLog,
      clockMs: this.#clockMs,
      dateMs: options.dateMs ?? Date.now,
    })
    this.#wire = this.#createWire()
  }

  #createPool(floodPenalties: FloodPenalties): ExchangePool {
    const { limits, logDefect } = this.#options
    return {
      bodyBytesMax: limits.bodyBytesMax,
      bufferedBytesMax: limits.bufferedBytesMax,
      bufferedBytes: this.totals.bodyBytes,
      bufferedOfKeys: new Map(),
      sharedPieces: new Map(),
      open: 0,
      isClosing: false,
      receiving: new LinkedList(),
      floodPenalties,
      bodySlices: slicesOfBodies(),
      bodyShare: new Share(),
      copies: new CompressedCopies(limits.compressedBytesMax),
      onIdle: () => {
        for (const listener of this.#idleListeners.splice(0)) listener()
      },
      tooLong: (bytes) => refusal(413, -32600, `content length too large (${bytes}>${limits.bodyBytesMax})`),
      noRoom: () => refusalOfFault(503, { kind: 'ServerBusy', retryAfterMs: 1000 }),
      defect: (error) => void thrownToWireError(error, 'http', logDefect),
    }
  }

  #createWire(): Wire {
    const { limits, socketLimits, tls, transport } = this.#options
    return transport.createWire(
      {
        onRequest: (head, reply) => this.#routes.onRequest(head, reply),
        onUpgrade: (head) => this.#sockets.admit(head),
        clientOf: (peer, forwardedFor) => this.#proxies.clientOf(peer, forwardedFor),
        onFull: () => this.#onFull(),
      },
      {
        headMsMax: limits.bodyMsMax,
        connectionsMax: limits.connectionsMax ?? Number.POSITIVE_INFINITY,
        messageBytesMax: socketLimits.messageBytesMax,
        idleMsMax: socketLimits.idleMsMax,
      },
      tls,
    )
  }

  #onFull(): void {
    const full = this.#full
    full.ended++
    if (this.#clockMs() - full.reportedMs < fullMsMin) return
    this.#options.logFull?.(full.ended)
    Object.assign(full, { ended: 0, reportedMs: this.#clockMs() })
  }

  /** Number of open HTTP connections, without WebSockets. */
  get connections(): number {
    return this.#wire.connections
  }

  get subscribers(): Pick<SubscriberPool, 'open' | 'skippedEvents'> {
    return this.#sockets.subscribers
  }

  get copyBytes(): number {
    return this.#pool.copies.bytes
  }

  /**
   * Before {@link listen}: serves only `work`, on a port of the loopback address that the system chooses. Only requests
   * with `key` in their path are admitted. They belong to no key of a client, and are neither logged nor traced.
   * Rejects as `work`, and with OperatorError if there is no loopback address.
   */
  async serveAlone(work: (own: OwnAddress) => Promise<void>): Promise<void> {
    const key = randomBytes(keyBytes).toString('hex')
    this.#admission.admitOnly(key)
    this.#requestLog?.pause(true)
    try {
      const port = await this.#wire.listen({ host: loopback, port: 0 }, false)
      await work({ host: loopback, port, key }).finally(() => this.#wire.stopListening())
      for (let turn = 0; this.#wire.connections > 0 && turn < turnsToClose; turn++) await everythingRead()
    } finally {
      this.#requestLog?.pause(false)
      this.#admission.admitOnly(undefined)
    }
  }

  /** Starts listening; resolves to the port. Rejects with OperatorError if the address cannot be used. */
  async listen(): Promise<number> {
    const port = await this.#wire.listen(this.#options, this.#options.totals !== undefined)
    this.#isListening = true
    this.#sockets.start()
    const { receiving } = this.#pool
    this.#sweep = setInterval(() => {
      const oldest = ++this.#routes.tick - sweepsPerBodyLimit
      while (receiving.first !== undefined && receiving.first.startTick < oldest) receiving.first.giveUp()
    }, this.#options.limits.bodyMsMax / sweepsPerBodyLimit)
    // This timer must not keep the process alive.
    this.#sweep.unref()
    return port
  }

  /** From now on each answer ends its connection, so that the client connects to another server; all else continues. */
  drain(): void {
    this.#pool.isClosing = true
  }

  /**
   * Accepts the connections already made, and then no more. Answers the requests that have arrived, and later ones of
   * busy connections, for at most `closeMsMax`, as after {@link drain}. Ends WebSockets with 1001, then closes
   * everything.
   */
  async close(): Promise<void> {
    if (!this.#isListening) return
    this.#isListening = false
    this.drain()
    await this.#allAccepted()
    this.#wire.stopListening()
    await waitFor(Promise.all([this.#allAnswered(), this.#sockets.close()]), this.#options.limits.closeMsMax)
    clearInterval(this.#sweep)
    this.#wire.close()
  }

  /** Closes everything at once, also unfinished answers. */
  abandon(): void {
    this.#isListening = false
    this.drain()
    clearInterval(this.#sweep)
    this.#wire.close()
  }

  /** Applies the settings. Rejects as {@link Wire.renewTls}; the other settings apply even then. */
  async reconfigure(settings: ServerSettings): Promise<void> {
    this.#routes.configure(settings)
    this.#requestLog?.configure(settings.requestLog)
    this.#proxies = new TrustedProxies(settings.trustedProxies)
    this.#admission.setHosts(settings.hosts)
    if (this.#options.tls && settings.tls && this.#isListening) await this.#wire.renewTls(settings.tls)
  }

  /**
   * Resolves right after a turn of the event loop without a new connection or request. Closing the listening socket
   * would reset connections that only the system has accepted.
   */
  async #allAccepted(): Promise<void> {
    const endMs = performance.now() + quietMsMax
    for (let seen = '', now = '-'; now !== seen && performance.now() < endMs; ) {
      seen = now
      await everythingRead()
      now = `${this.#routes.lateRequests} ${this.#wire.connections}`
    }
  }

  /** Resolves once all requests are answered, also those still arriving. */
  async #allAnswered(): Promise<void> {
    const endMs = performance.now() + quietMsMax
    for (let seen = -1; this.#pool.open > 0 || seen !== this.#routes.lateRequests; ) {
      seen = this.#routes.lateRequests
      if (this.#pool.open > 0) await new Promise<void>((resolve) => this.#idleListeners.push(resolve))
      if (this.#wire.connections > 0 && performance.now() < endMs) await sleep(quietMs)
      await everythingRead()
    }
  }
}

/** Resolves once the event loop has read all connections with arrived data. */
async function everythingRead(): Promise<void> {
  // The first may run before the loop reads, the second cannot.
  await setImmediate()
  await setImmediate()
}
