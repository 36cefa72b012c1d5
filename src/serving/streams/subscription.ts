import { randomBytes } from 'node:crypto'
import { Fifo } from '../../primitives/fifo.js'
import { type EventMessage, type EventOrigin, idDigits, Skipped } from './eventMessage.js'
import type { Subscriber } from './subscriber.js'

/** How a subscription treats a reader that is too slow. */
export const policies = ['close', 'conflate', 'dropOldest'] as const
/**
 * - `close`: the connection ends with code 1013; the client resumes from the last block it has.
 * - `conflate`: all waiting events are skipped, and until the reader catches up only the newest head is kept.
 * - `dropOldest`: the oldest events are skipped.
 */
export type Policy = (typeof policies)[number]

export interface Delivery {
  readonly policy: Policy
  /** Bytes of events that may still wait when the next block comes; with more, the policy applies. */
  readonly queueBytes: number
}

/** Callbacks to the producer of a subscription's events. */
interface SubscriptionEvents<O extends EventOrigin> {
  /**
   * Makes again the events of `origin` for this subscription, from index `first`. Numbers in between count the events
   * checked so far. If events cannot be made, ends the subscription and yields no more.
   */
  again(origin: O, first: number): Iterable<EventMessage<O> | number>
  /** The socket accepted all waiting events, or has room again after {@link Subscription.waitForRoom}. */
  onIdle(): void
  /** The subscription ended, for any reason; called once. */
  onEnd(): void
}

/** Waiting events of one origin. The events are not stored: with many slow readers their bytes would add up. */
interface Waiting<O> {
  readonly origin: O
  /** Index of the first event that may be one of them. */
  first: number
  /** Number of skipped events at their start. */
  skipped: number
  /** Infinity: all events from the first. */
  count: number
  bytes: number
}

/**
 * Memory charged for the waiting events of one origin. Every subscription is charged for the first such origin, so that
 * a pause of one block ends no subscription.
 */
const waitingBytes = 100

/** WebSocket close code "try again later" (IANA registry of RFC 6455). */
const tryAgainLater = 1013

/** WebSocket close code of RFC 6455 for a server that met an unexpected condition. */
const internalError = 1011
const failureReason = 'internal error: the next event could not be read; resume with fromBlock'

const missedReason =
  'slow reader: the next events were removed; read those that are kept, and subscribe again'

/** Reason in the close frame, at most 123 bytes. */
const slowReaderReason =
  'slow reader: events exceed queueBytes; resume with fromBlock, or choose another policy'

/**
 * One subscription of one connection: its id, its sequence numbers, and the events that wait while the reader is
 * behind. Waiting events are not stored, but noted and made again once there is room. Does not know the topic of the
 * subscription.
 *
 * The policy is applied when the first event of a new block arrives, not within a block. So a block with more events
 * than `queueBytes` closes no reader that can take them before the next block. The policy also applies if the memory of
 * subscriptions has no room for the note.
 */
export class Subscription<O extends EventOrigin = EventOrigin> {
  readonly id: string
  readonly #idBytes: Uint8Array
  #sequence = 0
  readonly #waiting = new Fifo<Waiting<O>>()
  #newest: Waiting<O> | undefined
  #waitingBytes = 0
  #skipped: Skipped | undefined
  #isEnded = false
  readonly #subscriber: Subscriber
  readonly #delivery: Delivery
  readonly #events: SubscriptionEvents<O>

  /** `bytes` is the memory of the subscription, including the data of the producer of its events. */
  constructor(
    subscriber: Subscriber,
    delivery: Delivery,
    events: SubscriptionEvents<O>,
    readonly bytes: number,
  ) {
    this.#subscriber = subscriber
    this.#delivery = delivery
    this.#events = events
    const digits = randomBytes(idDigits / 2).toString('hex')
    this.id = `0x${digits}`
    this.#idBytes = Buffer.from(digits, 'latin1')
  }

  get isEnded(): boolean {
    return this.#isEnded || this.#subscriber.isClosed
  }

  get hasRoom(): boolean {
    return this.#waiting.length === 0 && this.#subscriber.hasRoom
  }

  /** Calls `onIdle` once there is room. */
  waitForRoom(): void {
    this.#subscriber.resumeLater(this)
  }

  /** Sends an event, or notes it while the reader is behind. */
  deliver(message: EventMessage<O>): void {
    if (this.isEnded) return
    if (this.hasRoom) this.#send(message)
    else this.#wait(message)
  }

  /** Makes all events of an origin wait, from index `first`. */
  waitFrom(origin: O, first: number): void {
    if (this.isEnded) return
    this.#waiting.push({ origin, first, skipped: 0, count: Number.POSITIVE_INFINITY, bytes: 0 })
    this.#subscriber.resumeLater(this)
  }

  /** Sends waiting events while there is room, until `isOver`. */
  resume(isOver: () => boolean): void {
    while (!this.isEnded) {
      if (this.#waiting.length === 0) return this.#events.onIdle()
      if (!this.#sendOf(this.#waiting.oldest, isOver)) return
      this.#shift()
    }
  }

  /** Closes the connection, because an event cannot be rendered and the client would not notice the gap. */
  fail(): void {
    if (!this.isEnded) this.#subscriber.end(internalError, failureReason)
  }

  /** Closes the connection, because the next events were pruned before they could be sent. */
  miss(): void {
    if (!this.isEnded) this.#subscriber.end(tryAgainLater, missedReason)
  }

  /** Ends the subscription because no more events will come. */
  finish(): void {
    if (!this.isEnded) this.#subscriber.unsubscribe(this.id)
  }

  /** Stops sending. Called by the {@link Subscriber}. */
  end(): void {
    if (this.#isEnded) return
    this.#isEnded = true
    while (this.#waiting.length > 0) this.#shift()
    this.#events.onEnd()
  }

  #send(message: EventMessage): void {
    const { sink } = this.#subscriber
    if (this.#skipped !== undefined) {
      const notice = this.#skipped.message()
      this.#skipped = undefined
      sink.send(notice.address(this.#idBytes, ++this.#sequence))
    }
    sink.send(message.address(this.#idBytes, ++this.#sequence))
  }

  /** Sends events of one origin. Returns whether none of them waits any more. */
  #sendOf(waiting: Waiting<O>, isOver: () => boolean): boolean {
    for (const message of this.#events.again(waiting.origin, waiting.first)) {
      const isMessage = typeof message !== 'number'
      if (isMessage && waiting.skipped > 0) waiting.skipped--
      else if (isMessage) {
        if (!this.#subscriber.hasRoom) {
          this.#subscriber.resumeLater(this)
          return false
        }
        this.#send(message)
        // A sink may end the connection during a send.
        if (this.isEnded) return false
        this.#take(waiting, 1, Math.min(message.size, waiting.bytes))
      }
      waiting.first = isMessage ? message.index + 1 : message
      if (waiting.count === 0) break
      if (isOver()) {
        this.#subscriber.resumeLater(this)
        return false
      }
    }
    return !this.isEnded
  }

  #wait(message: EventMessage<O>): void {
    const { origin, index, size } = message
    if (this.#newest?.origin !== origin) {
      const { policy, queueBytes } = this.#delivery
      if (this.#waitingBytes > queueBytes && !this.#apply(queueBytes)) return
      if (policy === 'conflate' && this.#skipped !== undefined) this.#skipDownTo(0)
      if (this.#waiting.length > 0 && !this.#subscriber.charge(waitingBytes) && !this.#apply(0)) return
      this.#newest = { origin, first: index, skipped: 0, count: 0, bytes: 0 }
      this.#waiting.push(this.#newest)
    }
    this.#take(this.#newest as Waiting<O>, -1, -size)
    this.#subscriber.resumeLater(this)
  }

  /** Applies the policy so that at most `bytesMax` wait. Returns whether the subscription continues. */
  #apply(bytesMax: number): boolean {
    const { policy } = this.#delivery
    if (policy === 'close') {
      this.#subscriber.end(tryAgainLater, slowReaderReason)
      return false
    }
    this.#skipDownTo(policy === 'conflate' ? 0 : bytesMax)
    return true
  }

  /** Skips the oldest events until at most `bytesMax` wait; 0 skips all. */
  #skipDownTo(bytesMax: number): void {
    while (this.#waiting.length > 0 && (bytesMax === 0 || this.#waitingBytes > bytesMax)) {
      const { oldest } = this.#waiting
      const each = oldest.bytes / oldest.count
      const many = bytesMax === 0 ? oldest.count : Math.ceil((this.#waitingBytes - bytesMax) / each)
      const count = Math.min(many, oldest.count)
      this.#skipped ??= new Skipped()
      this.#skipped.add(oldest.origin, count)
      this.#subscriber.countSkipped(count)
      if (count === oldest.count) this.#shift()
      else {
        oldest.skipped += count
        this.#take(oldest, count, count * each)
      }
    }
  }

  /** Counts events of an origin as no longer waiting. */
  #take(waiting: Waiting<O>, count: number, bytes: number): void {
    waiting.count -= count
    waiting.bytes -= bytes
    this.#waitingBytes -= bytes
  }

  #shift(): void {
    const waiting = this.#waiting.shift()
    this.#waitingBytes -= waiting.bytes
    if (waiting === this.#newest) this.#newest = undefined
    if (this.#waiting.length > 0) this.#subscriber.discharge(waitingBytes)
  }
}
