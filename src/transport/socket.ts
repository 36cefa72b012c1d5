/**
 * One WebSocket from its opening to its end: takes messages in, hands them to the endpoint, hands answers and events
 * over, and counts what waits on the way. Owns the connection: once it is closed nothing touches it again. Does not
 * own who may connect, nor the clock (websocket.ts).
 *
 * A client that asks faster than it reads is held back before it is turned away: above {@link heldAboveBytes} of
 * unsent answers its messages wait, beyond `callsMax` they are answered `server busy`, and with more than
 * `unsentBytesMax` unsent the connection ends.
 */
import type { Fault } from '../primitives/faults.js'
import type { AnswerBody } from '../rpc/answer.js'
import { Caller, type Identity } from '../rpc/caller.js'
import type { Endpoint } from '../rpc/dispatch.js'
import type { EventSink } from '../streams/eventSink.js'
import { Subscriber } from '../streams/subscriber.js'
import type { SubscriberPool, SubscriptionLimits } from '../streams/subscriberPool.js'
import type { Total } from './totals.js'
import type { SocketHandler, SocketWire } from './wire.js'

export interface SocketLimits {
  /** Bytes of one message. */
  readonly messageBytesMax: number
  /** Calls of one socket that wait at the same time, for a job or for unsent answers. */
  readonly callsMax: number
  /** Bytes that may lie unsent when something more is to be sent. */
  readonly unsentBytesMax: number
  /** Unsent bytes and waiting messages of all sockets. */
  readonly bufferedBytesMax: number
  readonly socketsMax: number
  readonly socketsPerKeyMax: number
  /** From one ping to the next. */
  readonly pingMs: number
  /** How long a client may be silent, pongs included. */
  readonly idleMsMax: number
  /** How long a connection that is to end waits until what was sent is read. */
  readonly endMsMax: number
  readonly subscriptions: SubscriptionLimits
}

/** What the sockets of one server share. */
export interface SocketPool {
  readonly limits: SocketLimits
  /** Unsent bytes and waiting messages of all sockets. */
  readonly bytes: Total
  /** Sockets that {@link bytes} belong to. */
  readonly count: Total
  readonly subscribers: SubscriberPool
  /** Time of the last sweep. */
  readonly nowMs: number
  /** A socket is over. */
  gone(socket: Socket): void
  /** Reports a thrown value that nothing on the way here expected. */
  defect(error: unknown): void
}

/** Who a connection belongs to, and who answers. */
export interface SocketData {
  readonly endpoint: Endpoint
  /** Undefined where keys are not asked for. */
  readonly key: string | undefined
  readonly identity: Identity
}

/** Why a connection ends. RFC 6455, section 7.4.1, and 1013 of the registry that it founds. */
export const closeCodes = {
  goingAway: 1001,
  unsupportedData: 1003,
  policy: 1008,
  tooBig: 1009,
  tryLater: 1013,
} as const

/**
 * Unsent bytes above which messages wait. The system's own buffers take 3.9 MB on a loopback connection before
 * anything stays unsent, so a reader has enough to do, and answers made earlier would only lie about.
 */
const heldAboveBytes = 1024 * 1024

const busy: Fault = { kind: 'ServerBusy', retryAfterMs: 1000 }

export class Socket implements EventSink, SocketHandler {
  readonly key: string | undefined
  readonly identity: Identity
  readonly #wire: SocketWire
  readonly #endpoint: Endpoint
  readonly #pool: SocketPool
  readonly subscriber: Subscriber
  /** Messages whose answers are under way. */
  readonly #callers = new Set<MessageCaller>()
  /** Messages that wait until answers are read, oldest first. */
  readonly #held: Uint8Array[] = []
  #callsWaiting = 0
  #waitingBytes = 0
  #unsentBytes = 0
  #heardMs: number
  #pingedMs: number
  #isDraining = false
  #drainDue: NodeJS.Immediate | undefined
  /** Set when the connection ends as soon as all is sent. */
  #ending: { readonly code: number; readonly reason: string; readonly sinceMs: number } | undefined
  #isOver = false

  /** Takes `wire` over. */
  constructor(wire: SocketWire, { endpoint, key, identity }: SocketData, pool: SocketPool) {
    this.#wire = wire
    this.key = key
    this.identity = identity
    this.#endpoint = endpoint
    this.#pool = pool
    this.#heardMs = pool.nowMs
    this.#pingedMs = pool.nowMs
    this.subscriber = new Subscriber(this, key, pool.subscribers)
  }

  get bufferedBytes(): number {
    return this.#isOpen ? this.#unsentBytes : 0
  }

  /** A message has come in; `body` is read before the call returns. */
  onMessage(body: Uint8Array, isBinary: boolean): void {
    const { messageBytesMax } = this.#pool.limits
    this.onHeard()
    if (!this.#isOpen) return
    if (isBinary) return this.close(closeCodes.unsupportedData, 'only text messages are understood')
    if (body.length > messageBytesMax) {
      return this.close(closeCodes.tooBig, `message too big (${body.length}>${messageBytesMax})`)
    }
    // What is asked during the drain is not begun; close code 1001 tells so.
    if (this.#isDraining) return
    if (this.#held.length === 0 && this.#unsentBytes <= heldAboveBytes) this.#answer(body)
    else if (!this.#hold(body)) this.#hand(this.#endpoint.refuse(body, busy).body)
  }

  /** The client has shown that it is there. */
  onHeard(): void {
    this.#heardMs = this.#pool.nowMs
  }

  /** The system has taken some of what was unsent. */
  onDrain(): void {
    if (this.#drainDue !== undefined) return
    // What is sent inside the drain handler and does not go out at once would never be sent.
    this.#drainDue = setImmediate(() => {
      this.#drainDue = undefined
      this.#drained()
    })
  }

  /** The connection is over, whoever ended it. */
  onClose(): void {
    this.#isOver = true
    clearImmediate(this.#drainDue)
    this.#letGo()
    if (this.#unsentBytes > 0) this.#pool.bytes.add(-this.#unsentBytes)
    this.#pool.gone(this)
  }

  /** Looks after the time; to be called every now and then. */
  sweep(): void {
    const { limits, nowMs } = this.#pool
    if (this.#isOver) return
    if (this.#ending !== undefined) {
      if (nowMs - this.#ending.sinceMs >= limits.endMsMax) this.#wire.cut()
    } else if (nowMs - this.#heardMs >= limits.idleMsMax) {
      this.close(closeCodes.policy, `nothing heard for ${limits.idleMsMax / 1000} s, not even a pong`)
    } else if (nowMs - this.#pingedMs >= limits.pingMs) {
      this.#pingedMs = nowMs
      this.#wire.ping()
    }
  }

  /** Takes no more messages in, and ends the connection as soon as everything under way is sent. */
  drain(): void {
    this.#isDraining = true
    this.#endIfDrained()
  }

  send(message: Uint8Array): void {
    this.#hand(message)
  }

  /**
   * Ends the connection: nothing more is taken in or begun, and the client learns code and reason once it has read
   * what was sent before. The server beneath could wait for that by itself, but not tell how long it takes.
   */
  close(code: number, reason: string): void {
    if (!this.#isOpen) return
    this.#ending = { code, reason, sinceMs: this.#pool.nowMs }
    this.#letGo()
    if (this.#unsentBytes === 0) this.#wire.end(code, reason)
    else if (this.#pool.bytes.value > this.#pool.limits.bufferedBytesMax) this.#wire.cut()
  }

  /** Whether a call of a message may wait. {@link MessageCaller} alone asks. */
  admit(): boolean {
    if (this.#callsWaiting + this.#held.length >= this.#pool.limits.callsMax) return false
    this.#callsWaiting++
    return true
  }

  release(): void {
    this.#callsWaiting--
  }

  /** Whether there is room for a message that waits. One as long as a message may be always finds some when alone. */
  reserve(bytes: number): boolean {
    const { messageBytesMax, bufferedBytesMax } = this.#pool.limits
    if (this.#waitingBytes + bytes > messageBytesMax) return false
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
    while (this.#held.length > 0 && this.#unsentBytes <= heldAboveBytes) {
      const body = this.#held.shift() as Uint8Array
      this.unreserve(body.length)
      this.#answer(body)
    }
    this.subscriber.drained()
    this.#endIfDrained()
  }

  /** Cancels what is under way. */
  #letGo(): void {
    this.subscriber.close()
    for (const caller of this.#callers) caller.leave()
    this.#callers.clear()
    for (const body of this.#held.splice(0)) this.unreserve(body.length)
  }

  #hold(body: Uint8Array): boolean {
    if (this.#callsWaiting + this.#held.length >= this.#pool.limits.callsMax) return false
    if (!this.reserve(body.length)) return false
    // Its memory is another's again when the handler returns.
    this.#held.push(body.slice())
    return true
  }

  #answer(body: Uint8Array): void {
    const caller = new MessageCaller(this, body.length)
    const answer = this.#endpoint.handle(body, caller)
    if (answer instanceof Promise) {
      this.#callers.add(caller)
      answer
        .then(({ body }) => this.#finish(caller, body))
        .catch((error) => {
          this.#pool.defect(error)
          if (!this.#isOver) this.#wire.cut()
        })
    } else this.#finish(caller, answer.body)
  }

  #finish(caller: MessageCaller, body: AnswerBody): void {
    this.#callers.delete(caller)
    if (this.#isOpen) this.#hand(body)
    // After the answer, because subscriptions that it tells of begin to send now.
    caller.leave()
    this.#endIfDrained()
  }

  /** Hands a message over; what the connection cannot take now waits in the server's memory. */
  #hand(message: AnswerBody | Uint8Array): void {
    if (!this.#isOpen || message.length === 0) return
    const { unsentBytesMax, bufferedBytesMax } = this.#pool.limits
    if (this.#unsentBytes > unsentBytesMax) {
      return this.close(closeCodes.tryLater, `more than ${unsentBytesMax} bytes wait to be read; read faster`)
    }
    this.#wire.send(message)
    this.#countUnsent()
    // Where all hold too much together, those go that hold more than their share.
    const { bytes, count } = this.#pool
    if (this.#unsentBytes === 0 || bytes.value <= bufferedBytesMax) return
    if (this.#unsentBytes > bufferedBytesMax / count.value) this.#wire.cut()
  }

  #countUnsent(): void {
    const unsentBytes = this.#wire.unsentBytes
    if (unsentBytes === this.#unsentBytes) return
    this.#pool.bytes.add(unsentBytes - this.#unsentBytes)
    this.#unsentBytes = unsentBytes
  }

  #endIfDrained(): void {
    if (!this.#isDraining || !this.#isOpen) return
    if (this.#callers.size > 0 || this.#held.length > 0 || this.#unsentBytes > 0) return
    this.close(closeCodes.goingAway, 'the server is stopping')
  }
}

/** Who waits for the answer to one message. */
class MessageCaller extends Caller {
  readonly #socket: Socket
  readonly #bytes: number
  #isReserved = false

  constructor(socket: Socket, bytes: number) {
    super(socket.subscriber, socket.identity)
    this.#socket = socket
    this.#bytes = bytes
  }

  override admit(): boolean {
    // What is parsed of a message lives on until its last call is answered.
    if (!this.#isReserved) this.#isReserved = this.#socket.reserve(this.#bytes)
    return this.#isReserved && this.#socket.admit()
  }

  override release(): void {
    this.#socket.release()
  }

  override leave(): void {
    super.leave()
    if (this.#isReserved) this.#socket.unreserve(this.#bytes)
    this.#isReserved = false
  }
}
