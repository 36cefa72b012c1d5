/**
 * JSON-RPC over WebSockets, on the port of the HTTP server. Owns upgrades and their refusals, the number of
 * connections, and the sweep, which pings clients and ends idle connections and those of revoked keys. Does not own a
 * single connection (socket.ts) nor admission (admission.ts).
 */

import { defer } from '../../primitives/deferred.js'
import { reportingErrors, setInterval } from '../../primitives/timers.js'
import { TimeSlices } from '../../primitives/timeSlices.js'
import type { Answer } from '../rpc/answers/answer.js'
import { SubscriberPool } from '../streams/subscriberPool.js'
import {
  type Admission,
  foreignHost,
  type Refusal,
  type RefusedRequest,
  refusal,
  refusalOfFault,
  unknownNetwork,
} from './admission.js'
import { type FloodPenalties, keyPaused } from './floodPenalties.js'
import { parsePath, parseSocketPath, redactPath } from './paths.js'
import type { RequestHead } from './requestHead.js'
import type { RequestLog } from './requestLog.js'
import { closeCodes, Socket, type SocketData, type SocketLimits, type SocketPool } from './socket.js'
import type { ServerTotals, Total } from './totals.js'
import type { SocketPermit, SocketWire } from './wire.js'

interface WebSocketServerOptions {
  readonly admission: Admission
  /** As in {@link AdmissionOptions}. */
  changedKeys(): readonly string[] | undefined
  readonly noAuth: boolean
  /** Whether pages of this origin may connect; an empty text means that the client is no page. */
  readonly allowsOrigin: (origin: string) => boolean
  /** See {@link HostGate}. */
  readonly allowsHost: (host: string) => boolean
  readonly limits: SocketLimits
  readonly totals: ServerTotals
  readonly floodPenalties: FloodPenalties
  defect(error: unknown): void
  readonly requestLog: RequestLog | undefined
  readonly logRefused: ((refused: RefusedRequest) => void) | undefined
  /** Milliseconds on a clock that never goes back. */
  readonly clockMs: () => number
  /** The time of day, for the end of keys and tokens. */
  readonly dateMs: () => number
}

/**
 * Time between two sweeps. The key checker notices a changed key within 250 ms, and the sweep within another 250 ms. So
 * sockets of the key are updated or end within half a second.
 */
const sweepMs = 250

/**
 * WebSockets of a key that may end unused between two sweeps, at 0.3 ms each; a client may close a pool of a hundred.
 */
const unusedMax = 256

/** Messages and bytes of one socket in one turn: half a millisecond of cached reads. */
const messagesPerTurn = 32
const bytesPerTurn = 64 * 1024

/** Maximum time of a turn for messages of all sockets; the same again for messages that waited. */
const turnMsMax = 6

const keyForm = '/ws/v3/<key>'
const notFound: Refusal = {
  answer: refusal(404, -32600, 'no such path: use /ws/v3/<key> or /<network>/ws/v3/<key>'),
  reason: 'path',
  why: 'unknown path',
}
const stopping: Refusal = {
  answer: refusalOfFault(503, { kind: 'ServerBusy', retryAfterMs: 1000 }),
  reason: 'busy',
  why: 'the server is stopping',
}
const foreignOrigin: Refusal = {
  answer: refusal(
    403,
    -32001,
    'forbidden: pages of this origin may not connect; the operator of the server lets them with --cors',
  ),
  reason: 'origin',
  why: 'origin',
}

export class WebSocketServer implements SocketPool {
  readonly limits: SocketLimits
  readonly bytes: Total
  readonly count: Total
  readonly subscribers: SubscriberPool
  readonly requestLog: RequestLog | undefined
  /** If a client sends 600,000 messages at once, others are read and answered in between. */
  readonly slices = new TimeSlices<Socket>({
    goOn: (socket) => socket.onTurn(),
    msMaxOf: () => turnMsMax,
    share: { tasksMax: messagesPerTurn, costMax: bytesPerTurn, msMax: turnMsMax },
  })
  nowMs: number
  readonly #options: WebSocketServerOptions
  /** Key id → its connections; the key id is undefined if no keys are needed. */
  readonly #sockets = new Map<string | undefined, Set<Socket>>()
  /** Key → its WebSockets that ended before any message, since the last sweep. */
  readonly #unused = new Map<string, number>()
  #openSockets = 0
  #isClosing = false
  /** Resolves when the last WebSocket of a closing server has ended. */
  readonly #idle = defer<void>()
  #sweeper: NodeJS.Timeout | undefined

  constructor(options: WebSocketServerOptions) {
    this.#options = options
    this.limits = options.limits
    this.requestLog = options.requestLog
    this.nowMs = options.clockMs()
    this.bytes = options.totals.socketBytes
    this.count = options.totals.sockets
    this.subscribers = new SubscriberPool(options.limits.subscriptions, options.totals)
  }

  start(): void {
    const followKeys = reportingErrors(this.#options.defect, () => this.#followKeys())
    const sweep = reportingErrors(this.#options.defect, () => this.#sweep())
    this.#sweeper = setInterval(() => {
      followKeys()
      sweep()
    }, sweepMs)
    // This timer must not keep the process alive.
    this.#sweeper.unref()
  }

  /** Refuses new connections; resolves once every connection has sent its unfinished answers and has ended. */
  async close(): Promise<void> {
    this.#isClosing = true
    for (const sockets of this.#sockets.values()) for (const socket of sockets) socket.drain()
    if (this.#openSockets > 0) await this.#idle.promise
    clearInterval(this.#sweeper)
  }

  /** A permit for a WebSocket to open, or the answer that refuses it. */
  admit(head: RequestHead): SocketPermit | Answer | Promise<Answer> {
    const permit = this.#permit(head)
    if (permit instanceof Promise) this.#logRefused(head, keyPaused.status, keyPaused)
    if (permit instanceof Promise || !('why' in permit)) return permit
    this.#logRefused(head, permit.answer.status, permit)
    return permit.answer
  }

  gone(socket: Socket): void {
    const sockets = this.#sockets.get(socket.keyId)
    if (sockets?.delete(socket) !== true) return
    if (sockets.size === 0) this.#sockets.delete(socket.keyId)
    this.#uncount(socket.keyId)
    if (!socket.isUsed) this.#countUnused(socket.identity.key.id)
    if (--this.#openSockets === 0 && this.#isClosing) this.#idle.resolve()
  }

  logTooBig({ use: { address }, route, identity }: Socket): void {
    const why = `a message of more than ${this.limits.messageBytesMax} bytes on a WebSocket of network ${route.name}`
    const path = '/(network)/ws'
    this.#options.logRefused?.({ status: 413, path, address, reason: 'length', why, keyId: identity.key.id })
  }

  penalize(keyId: string, what: string, limit: number): void {
    this.#options.floodPenalties.begin(keyId, what, limit)
  }

  defect(error: unknown): void {
    this.#options.defect(error)
  }

  #logRefused(
    { path, address }: RequestHead,
    status: number,
    { reason, why, keyId }: Omit<Refusal, 'answer'>,
  ): void {
    this.#options.logRefused?.({ status, path: redactPath(path), address, reason, why, keyId })
  }

  #permit(head: RequestHead): SocketPermit | Refusal | Promise<Answer> {
    const { admission, noAuth, allowsOrigin, allowsHost, floodPenalties } = this.#options
    // Clients that know only one address use it for everything.
    const target = parseSocketPath(head.path) ?? (noAuth ? parsePath(head.path) : undefined)
    if (target === undefined) return notFound
    const { ambiguity } = head
    if (ambiguity !== undefined) {
      return { answer: refusal(400, -32600, ambiguity), reason: 'malformed', why: ambiguity }
    }
    if (!allowsHost(head.host)) return foreignHost
    const route = admission.findRoute(target, head.host)
    if (route === undefined) return unknownNetwork
    const admitted = admission.admit(route, target.key, head, keyForm)
    if ('why' in admitted) return admitted
    const { id } = admitted.key
    if (!allowsOrigin(head.origin)) return { ...foreignOrigin, keyId: id }
    const { origin, address } = head
    const use = { origin, address }
    const keyId = noAuth ? undefined : id
    return (
      floodPenalties.refusalOf(id) ??
      this.#countIn(keyId, admitted.key.limits?.sockets) ?? {
        open: (wire) => this.#open(wire, { route, use, keyId, identity: admitted }),
        release: () => this.#uncount(keyId),
      }
    )
  }

  /**
   * Counts a connection that is about to open, or returns the refusal, for this key or in total. Adds before it
   * compares, so that two edges at the same time cannot accept one too many.
   */
  #countIn(keyId: string | undefined, ofKeyMax = this.limits.socketsPerKeyMax): Refusal | undefined {
    const { socketsMax } = this.limits
    if (this.#isClosing) return stopping
    const max = Math.min(ofKeyMax, this.limits.socketsPerKeyMax)
    const { sockets, addOfKey } = this.#options.totals
    if (sockets.add(1) > socketsMax) {
      sockets.add(-1)
      return tooMany(503, 'WebSockets of this server', socketsMax)
    }
    if (keyId === undefined) return undefined
    const ofKey = addOfKey(keyId, 1)
    if (ofKey <= max) return undefined
    if (Number.isFinite(ofKey)) addOfKey(keyId, -1)
    sockets.add(-1)
    return { ...tooMany(429, 'WebSockets of this API key', max), keyId }
  }

  #countUnused(keyId: string): void {
    const count = (this.#unused.get(keyId) ?? 0) + 1
    this.#unused.set(keyId, count)
    if (count > unusedMax) this.penalize(keyId, 'WebSockets of this API key that end unused', unusedMax)
  }

  #uncount(keyId: string | undefined): void {
    const { sockets, addOfKey } = this.#options.totals
    sockets.add(-1)
    if (keyId !== undefined) addOfKey(keyId, -1)
  }

  #open(wire: SocketWire, data: SocketData): Socket {
    const socket = new Socket(wire, data, this)
    const sockets = this.#sockets.get(data.keyId)
    if (sockets === undefined) this.#sockets.set(data.keyId, new Set([socket]))
    else sockets.add(socket)
    this.#openSockets++
    // The key may have changed since it was checked.
    this.#followKey(socket)
    return socket
  }

  #sweep(): void {
    this.nowMs = this.#options.clockMs()
    this.#unused.clear()
    const nowMs = this.#options.dateMs()
    for (const sockets of this.#sockets.values()) {
      for (const socket of sockets) {
        const { untilMs } = socket.identity
        if (untilMs !== undefined && untilMs <= nowMs) this.#followKey(socket)
        socket.sweep()
      }
    }
  }

  /** Updates the sockets of changed keys. Checks no others: more keys may be in use than the key checker caches. */
  #followKeys(): void {
    const changed = this.#options.changedKeys()
    if (changed?.length === 0) return
    for (const keyId of changed ?? [...this.#sockets.keys()]) {
      for (const socket of this.#sockets.get(keyId) ?? []) this.#followKey(socket)
    }
  }

  /** Ends a socket that its key no longer admits; otherwise applies the key's current limits and methods. */
  #followKey(socket: Socket): void {
    if (socket.keyId === undefined) return
    const { route, identity, use } = socket
    const admitted = this.#options.admission.admitAgain(route, identity, use)
    // Status 500: the key could not be read; that must not end an admitted connection.
    if (!('why' in admitted)) socket.follow(admitted)
    else if (admitted.answer.status !== 500) socket.close(closeCodes.policy, closeReason(admitted.answer))
  }
}

/** The message of a refusal, as a close reason. A close frame has at most 123 bytes for it (RFC 6455, section 5.5). */
function closeReason({ body }: Answer): string {
  const { error } = JSON.parse(String(body)) as { readonly error: { readonly message: string } }
  return error.message.slice(0, 120)
}

function tooMany(status: number, what: string, limit: number): Refusal {
  return {
    answer: refusalOfFault(status, { kind: 'LimitExceeded', what, limit, retryAfterMs: 1000 }),
    reason: 'limit',
    why: `too many ${what}`,
  }
}
