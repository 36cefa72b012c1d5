import { FaultError } from '../primitives/faults.js'
import type { EventSink } from './eventSink.js'
import { type SubscriberPool, type SubscriptionLimits, tooMuch } from './subscriberPool.js'

/** A subscription as its connection sees it. */
export interface OwnedSubscription {
  readonly id: string
  /** Memory that it takes, as it is counted against {@link SubscriptionLimits}. */
  readonly bytes: number
  /** There is room again, after {@link Subscriber.resumeLater}. */
  resume(): void
  /** Sends nothing more. */
  end(): void
}

/**
 * Bytes that may lie unsent in a socket before events wait instead. What waits is shared by all subscriptions that
 * wait for it, what lies in a socket is its own: 5,000 clients that stop reading hold 80 MB so. 16 KiB is what
 * uWebSockets.js hands to the system at a time.
 */
const unsentBytesMax = 16 * 1024

/**
 * All subscriptions of one connection. A transport makes one for each socket and hands it to methods with each
 * request's Caller. A subscription begins to send when that Caller leaves, so the transport hands an answer over
 * first and calls `leave()` then: no event comes before the id that it belongs to.
 */
export class Subscriber {
  readonly #subscriptions = new Map<string, OwnedSubscription>()
  /** Those that have something to send and no room for it, in the order in which they get their next turn. */
  readonly #waitingForRoom = new Set<OwnedSubscription>()
  readonly #key: string | undefined
  readonly #pool: SubscriberPool
  /** Memory of {@link #subscriptions}. */
  #bytes = 0
  #isClosed = false

  /** `key` is whose connection this is, undefined where keys are not asked for. */
  constructor(
    readonly sink: EventSink,
    key: string | undefined,
    pool: SubscriberPool,
  ) {
    this.#key = key
    this.#pool = pool
  }

  get limits(): SubscriptionLimits {
    return this.#pool.limits
  }

  /** The connection is gone, and nothing is to be sent any more. */
  get isClosed(): boolean {
    return this.#isClosed
  }

  /** Whether an event may be handed over now. */
  get hasRoom(): boolean {
    return !this.#isClosed && this.sink.bufferedBytes <= unsentBytesMax
  }

  /** The socket has sent some of what it held (uWebSockets.js: `drain`). */
  drained(): void {
    for (const subscription of [...this.#waitingForRoom]) {
      if (!this.hasRoom) return
      // Whoever was served goes to the end, so that one with much to send does not keep the others waiting.
      this.#waitingForRoom.delete(subscription)
      subscription.resume()
    }
  }

  /** The connection is gone: nothing is sent any more, and every subscription ends soon. Further calls do nothing. */
  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#waitingForRoom.clear()
    if (this.#subscriptions.size > 0) this.#pool.endLater(this.#endAll())
  }

  *#endAll(): Generator<number, void> {
    for (const subscription of this.#subscriptions.values()) {
      this.#end(subscription)
      yield subscription.bytes
    }
  }

  #end(subscription: OwnedSubscription): void {
    this.#subscriptions.delete(subscription.id)
    subscription.end()
    this.#bytes -= subscription.bytes
    this.#pool.release(this.#key, subscription.bytes)
  }

  /** Ends a subscription of this connection; false where it has none of that id. */
  unsubscribe(id: string): boolean {
    const subscription = this.#subscriptions.get(id)
    if (subscription === undefined) return false
    this.#waitingForRoom.delete(subscription)
    this.#end(subscription)
    return true
  }

  /**
   * Owns `subscription` from now on: ends it with the connection. Throws FaultError where there are too many, or take
   * too much memory.
   */
  add(subscription: OwnedSubscription): void {
    const { bytes } = subscription
    if (this.#isClosed) return subscription.end()
    this.#requireOwnRoom(bytes)
    this.#pool.take(this.#key, bytes)
    this.#bytes += bytes
    this.#subscriptions.set(subscription.id, subscription)
  }

  /** Throws as {@link add} would for a subscription of so many bytes, which is not made yet. */
  requireRoom(bytes: number): void {
    this.#requireOwnRoom(bytes)
    this.#pool.requireRoom(this.#key, bytes)
  }

  #requireOwnRoom(bytes: number): void {
    const { subscriptionsMax, bytesMax } = this.limits
    if (this.#subscriptions.size >= subscriptionsMax) {
      throw new FaultError({ kind: 'TooManySubscriptions', max: subscriptionsMax })
    }
    if (this.#bytes + bytes > bytesMax) throw tooMuch('this connection', bytesMax)
  }

  /** Calls `subscription.resume()` when the socket has sent some of what it held. */
  resumeLater(subscription: OwnedSubscription): void {
    if (!this.#isClosed) this.#waitingForRoom.add(subscription)
  }

  /** Ends the connection because of what this client does or does not do. */
  end(code: number, reason: string): void {
    this.close()
    this.sink.close(code, reason)
  }
}
