/**
 * One WebSocket from its opening to its end: takes messages in, hands them to the endpoint, hands answers and events
 * over, and counts what waits on the way. Owns the connection: once it is closed nothing touches it again. Does not
 * own who may connect, nor the clock (websocket.ts).
 *
 * A client that asks faster than it reads is held back before it is turned away: above {@link heldAboveBytes} of
 * unsent answers its messages wait, beyond `callsMax` they are answered `server busy`, and with more than
 * `unsentBytesMax` unsent the connection ends. One that asks much at once has its share of each turn of the event loop
 * (messageTurns.ts); the rest waits, and is read no further where the library can leave it.
 */
import type { Fault } from '../primitives/faults.js'
import type { AnswerBody } from '../rpc/answer.js'
import { Caller, type Identity } from '../rpc/caller.js'
import type { Endpoint } from '../rpc/dispatch.js'
import type { EventSink } from '../streams/eventSink.js'
import { Subscriber } from '../streams/subscriber.js'
import type { SubscriberPool } from '../streams/subscriberPool.js'
import { HeldMessages } from './heldMessages.js'
import { type CallRoom, MessageCaller } from './messageCaller.js'
import { type MessageTurns, TurnShare } from './messageTurns.js'
import type { SocketLimits } from './socketLimits.js'
import type { Total } from './totals.js'
import type { SocketHandler, SocketWire } from './wire.js'

/** What the sockets of one server share. */
export interface SocketPool {
  readonly limits: SocketLimits
  /** Unsent bytes, and messages that wait or are not whole yet, of all sockets. */
  readonly bytes: Total
  /** Sockets that {@link bytes} belong to. */
  readonly count: Total
  readonly subscribers: SubscriberPool
  readonly turns: MessageTurns
  /** Time of the last sweep. */
  readonly nowMs: number
  /** A key has sent more than its share of `what`; see holdOffs.ts. */
  holdOff(keyId: string, what: string, limit: number): void
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

/** What a waiting message takes beside its bytes. */
const heldBytes = 128

/**
 * What waiting messages of one socket may take at least, however short a message may be: those that node:http has read
 * at once, 64 KiB of empty ones, take 1.4 MB, and a socket that is read no further then has to keep them.
 */
const heldBytesMin = 2 * 1024 * 1024

/** Pings of a client that reads none of the pongs: of 125 bytes each they are 128 KiB, and no client has as many. */
const pingsUnreadMax = 1024

/** Pings between two sweeps, of a client that reads the pongs: a library that keeps a connection alive sends none or one. */
const pingsRecentMax = 1024

const busy: Fault = { kind: 'ServerBusy', retryAfterMs: 1000 }

export class Socket implements EventSink, SocketHandler, CallRoom {
  readonly key: string | undefined
  readonly identity: Identity
  readonly #wire: SocketWire
  readonly #endpoint: Endpoint
  readonly #pool: SocketPool
  readonly subscriber: Subscriber
  /** Messages whose answers are under way. */
  readonly #callers = new Set<MessageCaller>()
  /** Messages that wait for their turn, or until answers are read. */
  readonly #held = new HeldMessages()
  readonly #share = new TurnShare()
  #callsWaiting = 0
  #waitingBytes = 0
  #unsentBytes = 0
  /** Of a message that is not whole yet. */
  #unfinishedBytes = 0
  /** Since all was read. */
  #pings = 0
  /** Since the last sweep. */
  #recentPings = 0
  #activeMs: number
  #pingedMs: number
  /** Whether a message has come. */
  isUsed = false
  #isDraining = false
  #drainDue: NodeJS.Immediate | undefined
  /** Set when the connection ends as soon as all is sent. */
  #ending: { readonly code: number; readonly reason: string; sinceMs: number } | undefined
  #isOver = false

  /** Takes `wire` over. */
  constructor(wire: SocketWire, { endpoint, key, identity }: SocketData, pool: SocketPool) {
    this.#wire = wire
    this.key = key
    this.identity = identity
    this.#endpoint = endpoint
    this.#pool = pool
    this.#activeMs = pool.nowMs
    this.#pingedMs = pool.nowMs
    this.subscriber = new Subscriber(this, key, pool.subscribers)
  }

  get bufferedBytes(): number {
    return this.#isOpen ? this.#unsentBytes : 0
  }

  /** A message has come in; `body` is read before the call returns. */
  onMessage(body: Uint8Array, isBinary: boolean): void {
    const { messageBytesMax } = this.#pool.limits
    this.isUsed = true
    this.onActivity()
    if (!this.#isOpen) return
    if (isBinary) return this.close(closeCodes.unsupportedData, 'only text messages are understood')
    if (body.length > messageBytesMax) {
      return this.close(closeCodes.tooBig, `message too big (${body.length}>${messageBytesMax})`)
    }
    // What is asked during the drain is not begun; close code 1001 tells so.
    if (this.#isDraining) return
    const isFirst = this.#held.length === 0 && this.#unsentBytes <= heldAboveBytes
    if (isFirst && this.#takeTurn(body)) this.#answer(body)
    else if (this.#hold(body)) this.#answerHeld()
    else if (this.#takeTurn(body)) this.#refuse(body)
    else {
      this.#pool.holdOff(this.identity.key.id, 'messages sent at once on one WebSocket', this.#held.length)
      this.close(closeCodes.tryLater, 'more messages at once than can wait; ask more slowly')
    }
  }

  /** It is this socket's turn again. */
  onTurn(): void {
    this.#answerHeld()
    this.#endIfDrained()
  }

  /** So many bytes have come of a message that is not whole yet. */
  onUnfinished(bytes: number): void {
    const { bytes: total, count, limits } = this.#pool
    if (this.#isOver) return
    const change = bytes - this.#unfinishedBytes
    if (change === 0) return
    total.add(change)
    this.#unfinishedBytes = bytes
    // One as long as a message may be always finds room when alone.
    if (change < 0 || total.value <= limits.bufferedBytesMax || total.value === bytes) return
    if (bytes <= limits.bufferedBytesMax / count.value) return
    this.close(closeCodes.tryLater, 'too much of unfinished messages is waiting; try again later')
    // The library holds what it has until the connection is over, so the next sweep ends it.
    if (this.#ending !== undefined) this.#ending.sinceMs = Number.NEGATIVE_INFINITY
  }

  /** A ping has come, which the library answers. */
  onPing(): void {
    this.onActivity()
    if (this.#isOver) return
    if (++this.#recentPings > pingsRecentMax) {
      this.#pool.holdOff(this.identity.key.id, 'pings of one WebSocket', pingsRecentMax)
      return this.#wire.cut()
    }
    this.#countUnsent()
    if (this.#unsentBytes === 0) this.#pings = 0
    else if (++this.#pings > 2 * pingsUnreadMax) this.#wire.cut()
    else if (this.#pings > pingsUnreadMax)
      this.close(closeCodes.policy, 'too many pings whose pongs are not read')
  }

  /** The client has shown that it is there. */
  onActivity(): void {
    this.#activeMs = this.#pool.nowMs
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
    this.#cancelAll()
    this.#pool.bytes.add(-this.#unsentBytes - this.#unfinishedBytes)
    this.#pool.gone(this)
  }

  /** Looks after the time; to be called every now and then. */
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

  /** Takes no more messages in, and ends the connection as soon as everything under way is sent. */
  drain(): void {
    this.#isDraining = true
    this.#endIfDrained()
  }

  send(message: Uint8Array): void {
    this.#deliver(message)
  }

  /**
   * Ends the connection: nothing more is taken in or begun, and the client learns code and reason once it has read
   * what was sent before. The server beneath could wait for that by itself, but not tell how long it takes.
   */
  close(code: number, reason: string): void {
    if (!this.#isOpen) return
    this.#ending = { code, reason, sinceMs: this.#pool.nowMs }
    this.#cancelAll()
    if (this.#unsentBytes === 0) this.#wire.end(code, reason)
    else if (this.#pool.bytes.value > this.#pool.limits.bufferedBytesMax) this.#wire.cut()
  }

  /** Whether a call of a message may wait. {@link MessageCaller} alone asks. */
  admit(): boolean {
    const held = this.#unsentBytes > heldAboveBytes ? this.#held.length : 0
    if (this.#callsWaiting + held >= this.#pool.limits.callsMax) return false
    this.#callsWaiting++
    return true
  }

  release(): void {
    this.#callsWaiting--
  }

  /** Whether there is room for a message that waits. One as long as a message may be always finds some when alone. */
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
    this.#answerHeld()
    this.subscriber.drained()
    this.#endIfDrained()
  }

  /** Cancels what is under way. */
  #cancelAll(): void {
    this.subscriber.close()
    for (const caller of this.#callers) caller.leave()
    this.#callers.clear()
    while (this.#held.length > 0) this.unreserve(this.#held.pop().length + heldBytes)
    this.#pool.turns.forget(this)
    if (!this.#isOver) this.#wire.resume()
  }

  /** Does what waits as far as it may be done in this turn. */
  #answerHeld(): void {
    while (this.#held.length > 0) {
      const isHeldBack = this.#unsentBytes > heldAboveBytes
      if (isHeldBack && this.#callsWaiting + this.#held.length <= this.#pool.limits.callsMax) break
      if (!this.#takeTurn(this.#held.oldest)) {
        this.#wire.pause()
        return this.#pool.turns.wait(this)
      }
      // Where messages wait for the reader, those that have come last find no room.
      const body = isHeldBack ? this.#held.pop() : this.#held.shift()
      this.unreserve(body.length + heldBytes)
      if (isHeldBack) this.#refuse(body)
      else this.#answer(body)
    }
    this.#wire.resume()
  }

  #takeTurn(body: Uint8Array): boolean {
    return this.#pool.turns.take(this.#share, body.length)
  }

  #refuse(body: Uint8Array): void {
    this.#deliver(this.#endpoint.refuse(body, busy, new Caller(undefined, this.identity)).body)
  }

  #hold(body: Uint8Array): boolean {
    const bytesMax = Math.max(this.#pool.limits.messageBytesMax + heldBytes, heldBytesMin)
    if (!this.reserve(body.length + heldBytes, bytesMax)) return false
    // Its memory is another's again when the handler returns.
    this.#held.push(new Uint8Array(body))
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
    if (this.#isOpen) this.#deliver(body)
    // After the answer, because subscriptions that it tells of begin to send now.
    caller.leave()
    this.#endIfDrained()
  }

  /** Hands a message over; what the connection cannot take now waits in the server's memory. */
  #deliver(message: AnswerBody | Uint8Array): void {
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
