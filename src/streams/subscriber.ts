import { FaultError } from '../primitives/faults.js'
import type { EventSink } from './eventSink.js'

/** A subscription as its connection sees it. */
export interface OwnedSubscription {
  readonly id: string
  /** There is room again, after {@link Subscriber.resumeLater}. */
  resume(): void
  /** Sends nothing more. */
  end(): void
}

/** What one connection may ask for. */
export interface SubscriptionLimits {
  /** Subscriptions of one connection at the same time. */
  readonly subscriptionsMax: number
  /** Bytes of events that may wait for a slow reader, per subscription, where the client names no other bound. */
  readonly queueBytesDefault: number
  /** The largest bound that a client may name. */
  readonly queueBytesMax: number
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
  readonly #behind = new Set<OwnedSubscription>()
  #isClosed = false

  constructor(
    readonly sink: EventSink,
    readonly limits: SubscriptionLimits,
  ) {}

  /** Whether an event may be handed over now. */
  get hasRoom(): boolean {
    return this.sink.bufferedBytes <= unsentBytesMax
  }

  /** The socket has sent some of what it held (uWebSockets.js: `drain`). */
  drained(): void {
    for (const subscription of [...this.#behind]) {
      if (!this.hasRoom) return
      // Whoever was served goes to the end, so that one with much to send does not keep the others waiting.
      this.#behind.delete(subscription)
      subscription.resume()
    }
  }

  /** The connection is gone: every subscription ends. Further calls do nothing. */
  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    for (const subscription of this.#subscriptions.values()) subscription.end()
    this.#subscriptions.clear()
    this.#behind.clear()
  }

  /** Ends a subscription of this connection; false where it has none of that id. */
  unsubscribe(id: string): boolean {
    const subscription = this.#subscriptions.get(id)
    if (subscription === undefined) return false
    this.#subscriptions.delete(id)
    this.#behind.delete(subscription)
    subscription.end()
    return true
  }

  /** Owns `subscription` from now on: ends it with the connection. Throws FaultError where there are too many. */
  add(subscription: OwnedSubscription): void {
    const { subscriptionsMax } = this.limits
    if (this.#subscriptions.size >= subscriptionsMax) {
      throw new FaultError({ kind: 'TooManySubscriptions', max: subscriptionsMax })
    }
    if (this.#isClosed) subscription.end()
    else this.#subscriptions.set(subscription.id, subscription)
  }

  /** Calls `subscription.resume()` when the socket has sent some of what it held. */
  resumeLater(subscription: OwnedSubscription): void {
    if (!this.#isClosed) this.#behind.add(subscription)
  }

  /** Ends the connection because of what this client does or does not do. */
  end(code: number, reason: string): void {
    this.close()
    this.sink.close(code, reason)
  }
}
