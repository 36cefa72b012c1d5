import { FaultError } from '../../primitives/faults.js'
import type { Place, Work } from '../../primitives/timeSlices.js'
import type { EventSink } from './eventSink.js'
import { type SubscriberPool, type SubscriptionLimits, tooMuch } from './subscriberPool.js'

/** What a connection needs of its subscriptions. */
export interface OwnedSubscription {
  readonly id: string
  /** Memory counted for it against {@link SubscriptionLimits}. */
  readonly bytes: number
  /** Called when there is room again, after {@link Subscriber.resumeLater}; what takes long goes on until `isOver`. */
  resume(isOver: () => boolean): void
  /** Sends nothing more. */
  end(): void
}

/**
 * Unsent bytes in a socket above which events wait in the queue of their subscription. Waiting events are shared by
 * all subscriptions, unsent bytes are held per socket: 80 MB for 5,000 clients that stop reading. 16 KiB is what
 * uWebSockets.js passes to the operating system at a time.
 */
const unsentBytesMax = 16 * 1024

/**
 * All subscriptions of one connection. A transport makes one per socket and passes it to methods in each request's
 * RequestContext. A subscription begins to send when that request is finished. The transport sends the answer first and
 * then calls `finish()`, so no event comes before the answer with its subscription id.
 */
export class Subscriber implements Work {
  /** For a turn of the event loop ({@link TimeSlices}). */
  place: Place | undefined
  readonly #subscriptions = new Map<string, OwnedSubscription>()
  /** Subscriptions with events to send and no room for them, in the order in which they are served next. */
  readonly #waitingForRoom = new Set<OwnedSubscription>()
  readonly #pool: SubscriberPool
  /** Memory of {@link #subscriptions}. */
  #bytes = 0
  #isClosed = false
  /** Subscriptions of all connections of the key; undefined: no limit. */
  ofKeyMax: number | undefined

  /** `key` is the id of the connection's API key, undefined where no keys are needed. */
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

  /** Open subscriptions. */
  get count(): number {
    return this.#subscriptions.size
  }

  /** Whether the connection is gone. */
  get isClosed(): boolean {
    return this.#isClosed
  }

  /** Whether an event may be sent at once. */
  get hasRoom(): boolean {
    return !this.#isClosed && this.sink.bufferedBytes <= unsentBytesMax
  }

  /** The socket has sent some of what it held (uWebSockets.js: `drain`). */
  drained(): void {
    if (this.#waitingForRoom.size > 0) this.#pool.resume(this)
  }

  /** Has one subscription after the other go on, at least one, until `isOver`. */
  resume(isOver: () => boolean): void {
    // One that was served goes to the end of the line, so that one with much to send does not delay the others.
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
   * Call it when the connection is gone: stops sending; every subscription ends soon after. Further calls do nothing.
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

  /** Ends a subscription of this connection; false where it has none of that id. */
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

  /** Throws what {@link add} would throw for a subscription of `bytes`. */
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

  /** Calls `subscription.resume()` when the socket has sent some of what it held, or in a later turn where it has room. */
  resumeLater(subscription: OwnedSubscription): void {
    if (this.#isClosed) return
    this.#waitingForRoom.add(subscription)
    if (this.hasRoom) this.#pool.resumeLater(this)
  }

  /** Counts further memory of a subscription; false where there is no room. */
  charge(bytes: number): boolean {
    if (this.#bytes + bytes > this.limits.bytesMax) return false
    if (this.#pool.takeBytes(this.key, bytes) !== undefined) return false
    this.#bytes += bytes
    return true
  }

  /** Gives back what {@link charge} counted. */
  discharge(bytes: number): void {
    this.#bytes -= bytes
    this.#pool.releaseBytes(this.key, bytes)
  }

  /** Counts events that a subscription skips. */
  countSkipped(count: number): void {
    this.#pool.skippedEvents += count
  }

  /** Closes the connection with a WebSocket close code and reason. */
  end(code: number, reason: string): void {
    this.close()
    this.sink.close(code, reason)
  }
}
