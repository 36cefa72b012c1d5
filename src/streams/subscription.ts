import { randomBytes } from 'node:crypto'
import { Fifo } from '../primitives/fifo.js'
import { type EventMessage, idDigits, Skipped } from './eventMessage.js'
import type { Subscriber } from './subscriber.js'

/** What happens to a subscription whose reader is too slow. */
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

/** Callbacks to whoever produces a subscription's events. */
interface SubscriptionEvents {
  /** The socket accepted all waiting events, or has room again after {@link Subscription.waitForRoom}. */
  onIdle(): void
  /** The subscription ended, for any reason; called once. */
  onEnd(): void
}

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
 * behind. Waiting events are shared between subscriptions. Does not know what is subscribed to.
 *
 * The policy is applied when the first event of a new block arrives, not within a block: a block with more events
 * than `queueBytes` closes no reader that can take them before the next block.
 */
export class Subscription {
  readonly id: string
  readonly #idBytes: Uint8Array
  #sequence = 0
  readonly #waiting = new Fifo<EventMessage>()
  #waitingBytes = 0
  #skipped: Skipped | undefined
  #last: EventMessage | undefined
  #isEnded = false
  readonly #subscriber: Subscriber
  readonly #delivery: Delivery
  readonly #events: SubscriptionEvents

  /** `bytes` is its memory, with all that the producer of its events keeps for it. */
  constructor(
    subscriber: Subscriber,
    delivery: Delivery,
    events: SubscriptionEvents,
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

  /** Whether the next event would be sent at once. */
  get hasRoom(): boolean {
    return this.#waiting.length === 0 && this.#subscriber.hasRoom
  }

  /** Calls `onIdle` once there is room. */
  waitForRoom(): void {
    this.#subscriber.resumeLater(this)
  }

  /** Sends an event, or queues it while the reader is behind. */
  deliver(message: EventMessage): void {
    if (this.isEnded) return
    if (this.hasRoom) this.#send(message)
    else this.#enqueue(message)
  }

  /** Sends waiting events while there is room. */
  resume(): void {
    if (this.isEnded) return
    while (this.#waiting.length > 0) {
      if (!this.#subscriber.hasRoom) {
        this.#subscriber.resumeLater(this)
        return
      }
      this.#send(this.#shift())
      // A sink may end the connection during a send.
      if (this.isEnded) return
    }
    this.#events.onIdle()
  }

  /** Closes the connection, because an event cannot be rendered and the client would not notice the gap. */
  fail(): void {
    if (!this.isEnded) this.#subscriber.end(internalError, failureReason)
  }

  /** Closes the connection, because the events that come next were removed before its reader came to them. */
  miss(): void {
    if (!this.isEnded) this.#subscriber.end(tryAgainLater, missedReason)
  }

  /** Sends nothing more. Called by the {@link Subscriber}. */
  end(): void {
    if (this.#isEnded) return
    this.#isEnded = true
    this.#waiting.clear()
    this.#waitingBytes = 0
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

  #enqueue(message: EventMessage): void {
    const isNextBlock = message.origin !== this.#last?.origin
    this.#last = message
    if (isNextBlock && this.#waitingBytes > this.#delivery.queueBytes) {
      if (this.#delivery.policy === 'close') {
        this.#subscriber.end(tryAgainLater, slowReaderReason)
        return
      }
      const bytesMax = this.#delivery.policy === 'conflate' ? 0 : this.#delivery.queueBytes
      while (this.#waitingBytes > bytesMax) this.#skip(this.#shift())
    }
    const isConflating = this.#delivery.policy === 'conflate' && this.#skipped !== undefined
    if (isConflating) while (this.#waiting.length > 0) this.#skip(this.#shift())
    this.#waiting.push(message)
    this.#waitingBytes += message.size
    this.#subscriber.resumeLater(this)
  }

  #skip(message: EventMessage): void {
    this.#skipped ??= new Skipped()
    this.#skipped.add(message)
    this.#subscriber.countSkipped()
  }

  /** Removes and returns the oldest waiting event. */
  #shift(): EventMessage {
    const message = this.#waiting.shift()
    this.#waitingBytes -= message.size
    return message
  }
}
