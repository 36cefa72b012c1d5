/**
 * One WebSocket from its opening to its end: passes messages to the endpoint, sends answers and events, and counts
 * waiting messages and unsent bytes. Owns the connection: after its close nothing uses it. Does not own admission nor
 * the clock (websocket.ts).
 *
 * A client that sends faster than it reads is limited in three steps. Above {@link queueAboveBytes} of unsent answers
 * its messages wait, beyond `callsMax` they are answered `server busy`, and above `unsentBytesMax` the connection ends.
 * A client with many concurrent messages gets its share of each turn of the event loop. Its other messages wait, and
 * the library stops reading if it can.
 */
import { isUtf8 } from 'node:buffer'
import type { Fault } from '../../primitives/faults.js'
import { Fifo } from '../../primitives/fifo.js'
import { type Place, Share, type TimeSlices } from '../../primitives/timeSlices.js'
import type { AnswerBody } from '../rpc/answers/answer.js'
import { RequestContext } from '../rpc/contexts/requestContext.js'
import type { Endpoint } from '../rpc/dispatch/endpoint.js'
import { type EventSink, Subscriber } from '../streams/subscriber.js'
import type { SubscriberPool, SubscriptionLimits } from '../streams/subscriberPool.js'
import type { Allowed, KeyUse, Route } from './admission.js'
import { type CallRoom, MessageContext } from './messageCaller.js'
import type { RequestLog } from './requestLog.js'
import { SocketSends } from './socketSends.js'
import type { Total } from './totals.js'
import type { SocketHandler, SocketWire } from './wire.js'

/** Limits of one WebSocket, and of all together. */
export interface SocketLimits {
  readonly messageBytesMax: number
  /** Calls of one socket that wait at the same time, for a job or for unsent answers. */
  readonly callsMax: number
  /** Unsent bytes above which a further send ends the connection. */
  readonly unsentBytesMax: number
  /** Unsent bytes and waiting messages of all sockets. */
  readonly bufferedBytesMax: number
  readonly socketsMax: number
  readonly socketsPerKeyMax: number
  readonly pingMs: number
  /** Maximum time without any data from the client, not even a pong. */
  readonly idleMsMax: number
  /** Maximum time that a closing connection waits until everything is sent. */
  readonly endMsMax: number
  readonly subscriptions: SubscriptionLimits
}

/** Close codes of RFC 6455, section 7.4.1, and 1013 of the IANA registry that it establishes. */
export const closeCodes = {
  goingAway: 1001,
  notUtf8: 1007,
  policy: 1008,
  tooBig: 1009,
  tryLater: 1013,
} as const

/** The network of a connection, its key, and its origin and address at the opening. */
export interface SocketData {
  readonly route: Route
  readonly use: KeyUse
  /** Undefined if no keys are needed. */
  readonly keyId: string | undefined
  readonly identity: Allowed
}

/** Shared by the sockets of one server. */
export interface SocketPool {
  readonly limits: SocketLimits
  /** Bytes of all sockets: unsent ones, waiting messages and unfinished messages. */
  readonly bytes: Total
  readonly count: Total
  readonly subscribers: SubscriberPool
  readonly slices: TimeSlices<Socket>
  readonly requestLog: RequestLog | undefined
  /** Time of the last sweep. */
  readonly nowMs: number
  /** Holds off a key that exceeded `limit` of `what`; see floodPenalties.ts. */
  penalize(keyId: string, what: string, limit: number): void
  gone(socket: Socket): void
  /** Logs a message that was too long to be read, if its client got no close code. */
  logTooBig(socket: Socket): void
  defect(error: unknown): void
}

/**
 * Unsent bytes above which messages wait. The operating system's buffers contain up to 3.9 MB more, so the client has
 * enough to read, and further answers would only take memory.
 */
const queueAboveBytes = 1024 * 1024

/** Memory of a waiting message besides its bytes. */
const queuedBytes = 128

/**
 * Minimum memory for waiting messages of one socket, whatever `messageBytesMax` is. node:http reads 64 KiB of empty
 * messages at once. They take 1.4 MB and must be stored although reading stops.
 */
const queuedBytesMin = 2 * 1024 * 1024

/** Maximum pings of a client that reads no pongs: 128 KiB at 125 bytes each; ordinary clients never send as many. */
const pingsUnreadMax = 1024

/** Maximum pings between two sweeps from a client that reads the pongs; ordinary clients send at most one. */
const pingsRecentMax = 1024

const busy: Fault = { kind: 'ServerBusy', retryAfterMs: 1000 }

export class Socket implements EventSink, SocketHandler, CallRoom {
  /** Place of the socket in {@link TimeSlices}. */
  place: Place | undefined
  readonly keyId: string | undefined
  readonly route: SocketData['route']
  readonly use: SocketData['use']
  identity: Allowed
  readonly #wire: SocketWire
  readonly #sends: SocketSends
  readonly #endpoint: Endpoint
  readonly #pool: SocketPool
  readonly subscriber: Subscriber
  /** Messages with an unfinished answer. */
  readonly #callers = new Set<MessageContext>()
  /** Messages that wait for a turn, or until answers are read. */
  readonly #queued = new Fifo<Uint8Array>()
  readonly #share = new Share()
  #callsWaiting = 0
  #waitingBytes = 0
  #unsentBytes = 0
  #unfinishedBytes = 0
  /** Pings since everything was sent. */
  #pings = 0
  /** Pings since the last sweep. */
  #recentPings = 0
  #activeMs: number
  #pingedMs: number
  /** Whether a message has arrived. */
  isUsed = false
  #isDraining = false
  #drainDue: NodeJS.Immediate | undefined
  /** Set if the connection ends as soon as everything is sent. */
  #ending: { readonly code: number; readonly reason: string; sinceMs: number } | undefined
  #isOver = false

  constructor(wire: SocketWire, { route, use, keyId, identity }: SocketData, pool: SocketPool) {
    this.#wire = wire
    this.#sends = new SocketSends(wire, identity.key.id, () => this.#drained())
    this.keyId = keyId
    this.route = route
    this.use = use
    this.identity = identity
    this.#endpoint = route.endpoint
    this.#pool = pool
    this.#activeMs = pool.nowMs
    this.#pingedMs = pool.nowMs
    this.subscriber = new Subscriber(this, keyId, pool.subscribers)
    this.subscriber.ofKeyMax = identity.key.limits?.subscriptions
  }

  get bufferedBytes(): number {
    return this.#isOpen ? this.#unsentBytes : 0
  }

  /** Handles a message, text or binary: both are JSON in UTF-8. Does not use `body` after the call returns. */
  onMessage(body: Uint8Array, isBinary: boolean): void {
    const { messageBytesMax } = this.#pool.limits
    this.isUsed = true
    this.onActivity()
    if (!this.#isOpen) return
    // The libraries check only text messages.
    if (isBinary && !isUtf8(body)) return this.close(closeCodes.notUtf8, 'this message is not UTF-8')
    if (body.length > messageBytesMax) {
      return this.close(closeCodes.tooBig, `message too big (${body.length}>${messageBytesMax})`)
    }
    // Messages during the drain are ignored; close code 1001 informs the client.
    if (this.#isDraining) return
    const isFirst = this.#queued.length === 0 && this.#unsentBytes <= queueAboveBytes
    if (isFirst && this.#takeTurn(body)) this.#answer(body)
    else if (this.#hold(body)) this.#answerQueued()
    else if (this.#takeTurn(body, true)) this.#refuse(body)
    else {
      this.#pool.penalize(this.identity.key.id, 'messages sent at once on one WebSocket', this.#queued.length)
      this.close(closeCodes.tryLater, 'more messages at once than can wait; ask more slowly')
    }
  }

  onTurn(): void {
    this.#answerQueued()
    this.#endIfDrained()
  }

  /** Counts the received bytes of an unfinished message. */
  onUnfinished(bytes: number): void {
    const { bytes: total, count, limits } = this.#pool
    if (this.#isOver) return
    const change = bytes - this.#unfinishedBytes
    if (change === 0) return
    total.add(change)
    this.#unfinishedBytes = bytes
    // A single unfinished message is always accepted if nothing else is counted.
    if (change < 0 || total.value <= limits.bufferedBytesMax || total.value === bytes) return
    if (bytes <= limits.bufferedBytesMax / count.value) return
    this.close(closeCodes.tryLater, 'too much of unfinished messages is waiting; try again later')
    // The library keeps its bytes until the connection is over, so the next sweep ends it.
    if (this.#ending !== undefined) this.#ending.sinceMs = Number.NEGATIVE_INFINITY
  }

  /** Counts a ping, which the library answers. */
  onPing(): void {
    this.onActivity()
    if (this.#isOver) return
    if (++this.#recentPings > pingsRecentMax) {
      this.#pool.penalize(this.identity.key.id, 'pings of one WebSocket', pingsRecentMax)
      return this.#wire.cut()
    }
    this.#countUnsent()
    if (this.#unsentBytes === 0) this.#pings = 0
    else if (++this.#pings > 2 * pingsUnreadMax) this.#wire.cut()
    else if (this.#pings > pingsUnreadMax)
      this.close(closeCodes.policy, 'too many pings whose pongs are not read')
  }

  onActivity(): void {
    this.#activeMs = this.#pool.nowMs
  }

  /** Called when some unsent bytes were sent. */
  onDrain(): void {
    if (this.#drainDue !== undefined) return
    // After a send inside its drain handler, uWebSockets.js would never send the unsent rest.
    this.#drainDue = setImmediate(() => {
      this.#drainDue = undefined
      this.#sends.goOn()
      this.#drained()
    })
  }

  /** Releases everything; the connection is over. */
  onClose(isTooBig = false): void {
    if (isTooBig) this.#pool.logTooBig(this)
    this.#isOver = true
    clearImmediate(this.#drainDue)
    this.#sends.forget()
    this.#cancelAll()
    this.#pool.bytes.add(-this.#unsentBytes - this.#unfinishedBytes)
    this.#pool.gone(this)
  }

  /** Applies the time limits; call it regularly. */
  sweep(): void {
    const { limits, nowMs } = this.#pool
    if (this.#isOver) return
    this.#recentPings = 0
    if (this.#ending !== undefined) {
      if (nowMs - this.#ending.sinceMs >= limits.endMsMax) this.#wire.cut()
    } else if (nowMs - this.#activeMs >= limits.idleMsMax) {
      this.close(closeCodes.policy, `nothing heard for ${limits.idleMsMax / 1000} s, not even a pong`)
    } else if (nowMs - this.#pingedMs >= limits.pingMs) {
      this.#pingedMs = nowMs
      this.#wire.ping()
    }
  }

  /**
   * Applies the key's current limits and methods. Open subscriptions may use methods that are no longer allowed, so a
   * change of the methods ends a connection that has any subscription.
   */
  follow(identity: Allowed): void {
    const isOther = identity.methods?.text !== this.identity.methods?.text
    this.identity = identity
    this.subscriber.ofKeyMax = identity.key.limits?.subscriptions
    if (!isOther || this.subscriber.count === 0) return
    this.close(closeCodes.policy, 'the rights of this API key changed; connect again')
  }

  /** Ignores further messages, and ends the connection as soon as all unfinished answers are sent. */
  drain(): void {
    this.#isDraining = true
    this.#endIfDrained()
  }

  send(message: Uint8Array): void {
    this.#deliver(message)
  }

  /**
   * Ends the connection: no further message is handled, and the client gets code and reason after everything sent
   * before. This class waits for that itself, because the library cannot limit the time.
   */
  close(code: number, reason: string): void {
    if (!this.#isOpen) return
    this.#ending = { code, reason, sinceMs: this.#pool.nowMs }
    this.#cancelAll()
    if (this.#unsentBytes === 0) this.#wire.end(code, reason)
    else if (this.#pool.bytes.value > this.#pool.limits.bufferedBytesMax) this.#wire.cut()
  }

  /** Reserves a waiting call, if one is left. Only {@link MessageContext} calls it. */
  admit(): boolean {
    const queued = this.#unsentBytes > queueAboveBytes ? this.#queued.length : 0
    if (this.#callsWaiting + queued >= this.#pool.limits.callsMax) return false
    this.#callsWaiting++
    return true
  }

  release(): void {
    this.#callsWaiting--
  }

  /** Reserves memory for a waiting message. A single message always gets it if nothing else waits. */
  reserve(bytes: number, bytesMax = this.#pool.limits.messageBytesMax): boolean {
    const { bufferedBytesMax } = this.#pool.limits
    if (this.#waitingBytes + bytes > bytesMax) return false
    if (this.#pool.bytes.value + bytes > bufferedBytesMax) return false
    this.#waitingBytes += bytes
    this.#pool.bytes.add(bytes)
    return true
  }

  unreserve(bytes: number): void {
    this.#waitingBytes -= bytes
    this.#pool.bytes.add(-bytes)
  }

  get #isOpen(): boolean {
    return !this.#isOver && this.#ending === undefined
  }

  #drained(): void {
    this.#countUnsent()
    if (this.#ending !== undefined) {
      if (this.#unsentBytes === 0) this.#wire.end(this.#ending.code, this.#ending.reason)
      return
    }
    this.#answerQueued()
    this.subscriber.drained()
    this.#endIfDrained()
  }

  #cancelAll(): void {
    this.subscriber.close()
    for (const context of this.#callers) context.finish()
    this.#callers.clear()
    while (this.#queued.length > 0) this.unreserve(this.#queued.pop().length + queuedBytes)
    this.#pool.slices.forget(this)
    if (!this.#isOver) this.#wire.resume()
  }

  /** Answers waiting messages as far as this turn allows. */
  #answerQueued(): void {
    while (this.#queued.length > 0) {
      const isUnread = this.#unsentBytes > queueAboveBytes
      if (isUnread && this.#callsWaiting + this.#queued.length <= this.#pool.limits.callsMax) break
      if (!this.#takeTurn(this.#queued.oldest)) {
        this.#wire.pause()
        this.#pool.slices.wait(this)
        return
      }
      // While messages wait for the client to read, the newest ones are refused.
      const body = isUnread ? this.#queued.pop() : this.#queued.shift()
      this.unreserve(body.length + queuedBytes)
      if (isUnread) this.#refuse(body)
      else this.#answer(body)
    }
    this.#wire.resume()
  }

  #takeTurn(body: Uint8Array, isRefused = false): boolean {
    return this.#pool.slices.take(this.#share, body.length, isRefused)
  }

  #refuse(body: Uint8Array): void {
    this.#deliver(this.#endpoint.refuse(body, busy, new RequestContext(undefined, this.identity)).body)
  }

  #hold(body: Uint8Array): boolean {
    const bytesMax = Math.max(this.#pool.limits.messageBytesMax + queuedBytes, queuedBytesMin)
    if (!this.reserve(body.length + queuedBytes, bytesMax)) return false
    // Copied, because the library reuses its memory when the handler returns.
    this.#queued.push(new Uint8Array(body))
    return true
  }

  #answer(body: Uint8Array): void {
    const context = new MessageContext(this, body.length)
    const endpoint = this.#pool.requestLog?.watch(this.#endpoint) ?? this.#endpoint
    const answer = endpoint.handle(body, context)
    if (answer instanceof Promise) {
      this.#callers.add(context)
      answer
        .then(({ body }) => this.#finish(context, body))
        .catch((error) => {
          this.#pool.defect(error)
          if (!this.#isOver) this.#wire.cut()
        })
    } else this.#finish(context, answer.body)
  }

  #finish(context: MessageContext, body: AnswerBody): void {
    this.#callers.delete(context)
    if (this.#isOpen) this.#deliver(body)
    // After the answer, because subscriptions that it announces start sending here.
    context.finish()
    this.#endIfDrained()
  }

  /** Sends a message. Bytes that do not fit this turn, or that the system does not accept, wait. */
  #deliver(message: AnswerBody | Uint8Array): void {
    if (!this.#isOpen || message.length === 0) return
    const { unsentBytesMax, bufferedBytesMax } = this.#pool.limits
    if (this.#unsentBytes > unsentBytesMax) {
      return this.close(closeCodes.tryLater, `more than ${unsentBytesMax} bytes wait to be read; read faster`)
    }
    this.#sends.send(message)
    this.#countUnsent()
    // If all sockets together have too many bytes, those with more than the average are closed.
    const { bytes, count } = this.#pool
    if (this.#unsentBytes === 0 || bytes.value <= bufferedBytesMax) return
    if (this.#unsentBytes > bufferedBytesMax / count.value) this.#wire.cut()
  }

  #countUnsent(): void {
    const { unsentBytes } = this.#sends
    if (unsentBytes === this.#unsentBytes) return
    this.#pool.bytes.add(unsentBytes - this.#unsentBytes)
    this.#unsentBytes = unsentBytes
  }

  #endIfDrained(): void {
    if (!this.#isDraining || !this.#isOpen) return
    if (this.#callers.size > 0 || this.#queued.length > 0 || this.#unsentBytes > 0) return
    this.close(closeCodes.goingAway, 'the server is stopping')
  }
}
