import { FaultError } from '../../primitives/faults.js'
import type { Place, Task } from '../../primitives/timeSlices.js'
import { type SubscriberPool, type SubscriptionLimits, tooMuch } from './subscriberPool.js'

/**
 * Sends the events of one connection. Transports implement it, one object per socket. The sink of a closed socket
 * does nothing.
 */
export interface EventSink {
  /** Bytes passed to {@link send} that the operating system has not accepted yet; 0 once the socket is closed. */
  readonly bufferedBytes: number
  /** Sends one text message, UTF-8. `message` is copied before the call returns. */
  send(message: Uint8Array): void
  /** Ends the connection with a WebSocket close code and a reason of at most 123 bytes. */
  close(code: number, reason: string): void
}

/** A connection's view of one of its subscriptions. */
export interface OwnedSubscription {
  readonly id: string
  /** Memory counted for it against {@link SubscriptionLimits}. */
  readonly bytes: number
  /** Called when there is room again, after {@link Subscriber.resumeLater}; long work continues until `isOver`. */
  resume(isOver: () => boolean): void
  /** Stops sending. */
  end(): void
}

/**
 * Unsent bytes in a socket above which events wait in the queue of their subscription. Subscriptions share waiting
 * events, but each socket stores its unsent bytes: 80 MB for 5,000 clients that stop reading. uWebSockets.js passes
 * 16 KiB to the operating system at a time.
 */
const unsentBytesMax = 16 * 1024

/**
 * All subscriptions of one connection. A transport makes one per socket and passes it to methods in each request's
 * RequestContext. A subscription begins to send when that request is finished. The transport sends the answer first and
 * then calls `finish()`, so no event comes before the answer with its subscription id.
 */
export class Subscriber implements Task {
  /** Place in a turn of the event loop (see `TimeSlices`). */
  place: Place | undefined
  readonly #subscriptions = new Map<string, OwnedSubscription>()
  /** Subscriptions with events to send and no room for them, next one first. */
  readonly #waitingForRoom = new Set<OwnedSubscription>()
  readonly #pool: SubscriberPool
  /** Memory of {@link #subscriptions}. */
  #bytes = 0
  #isClosed = false
  /** Subscriptions of all connections of the key; if undefined, no limit. */
  ofKeyMax: number | undefined

  /** `key` is the id of the connection's API key, undefined if no keys are needed. */
  constructor(
    readonly sink: EventSink,
    readonly key: string | undefined,
    pool: SubscriberPool,
  ) {
    this.#pool = pool
  }

  get limits(): SubscriptionLimits {
    return this.#pool.limits
  }

  get count(): number {
    return this.#subscriptions.size
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  get hasRoom(): boolean {
    return !this.#isClosed && this.sink.bufferedBytes <= unsentBytesMax
  }

  /** The socket has sent part of its buffer (uWebSockets.js: `drain`). */
  drained(): void {
    if (this.#waitingForRoom.size > 0) this.#pool.resume(this)
  }

  /** Resumes one subscription after the other, at least one, until `isOver`. */
  resume(isOver: () => boolean): void {
    // A served subscription goes to the end of the queue, so that one with much to send does not delay the others.
    for (let left = this.#waitingForRoom.size; left > 0 && this.hasRoom; left--) {
      const [subscription] = this.#waitingForRoom
      if (subscription === undefined) break
      this.#waitingForRoom.delete(subscription)
      subscription.resume(isOver)
      if (isOver()) break
    }
    if (this.#waitingForRoom.size > 0 && this.hasRoom) this.#pool.resumeLater(this)
  }

  /**
   * Must be called when the connection has ended: stops sending; every subscription ends soon after. Further calls do
   * nothing.
   */
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
    this.#pool.open--
    subscription.end()
    this.#bytes -= subscription.bytes
    this.#pool.release(this.key, subscription.bytes)
  }

  /** Ends a subscription of this connection; false if it has none with this id. */
  unsubscribe(id: string): boolean {
    const subscription = this.#subscriptions.get(id)
    if (subscription === undefined) return false
    this.#waitingForRoom.delete(subscription)
    this.#end(subscription)
    return true
  }

  /**
   * Takes over `subscription` and ends it with the connection. Throws FaultError for too many subscriptions, or too
   * much memory for them.
   */
  add(subscription: OwnedSubscription): void {
    const { bytes } = subscription
    if (this.#isClosed) return subscription.end()
    this.#requireOwnRoom(bytes)
    this.#pool.take(this.key, bytes, this.ofKeyMax)
    this.#bytes += bytes
    this.#subscriptions.set(subscription.id, subscription)
    this.#pool.open++
  }

  /** Throws as {@link add} would for a subscription of `bytes`. */
  requireRoom(bytes: number): void {
    this.#requireOwnRoom(bytes)
    this.#pool.requireRoom(this.key, bytes, this.ofKeyMax)
  }

  #requireOwnRoom(bytes: number): void {
    const { subscriptionsMax, bytesMax } = this.limits
    if (this.#subscriptions.size >= subscriptionsMax) {
      throw new FaultError({
        kind: 'TooManySubscriptions',
        whose: 'on one connection',
        max: subscriptionsMax,
      })
    }
    if (this.#bytes + bytes > bytesMax) throw tooMuch('this connection', bytesMax)
  }

  /** Calls `subscription.resume()` when the socket has sent part of its buffer, or in a later turn if it has room. */
  resumeLater(subscription: OwnedSubscription): void {
    if (this.#isClosed) return
    this.#waitingForRoom.add(subscription)
    if (this.hasRoom) this.#pool.resumeLater(this)
  }

  /** Counts further memory of a subscription; false if there is no room. */
  charge(bytes: number): boolean {
    if (this.#bytes + bytes > this.limits.bytesMax) return false
    if (this.#pool.takeBytes(this.key, bytes) !== undefined) return false
    this.#bytes += bytes
    return true
  }

  /** Reverses {@link charge}. */
  discharge(bytes: number): void {
    this.#bytes -= bytes
    this.#pool.releaseBytes(this.key, bytes)
  }

  countSkipped(count: number): void {
    this.#pool.skippedEvents += count
  }

  /** Closes the connection with a WebSocket close code and reason. */
  end(code: number, reason: string): void {
    this.close()
    this.sink.close(code, reason)
  }
}
