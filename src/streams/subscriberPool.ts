import { FaultError } from '../primitives/faults.js'
import { TimeSlices } from '../primitives/timeSlices.js'

/** Limits of subscriptions. */
export interface SubscriptionLimits {
  /** Subscriptions of one connection at the same time. */
  readonly subscriptionsMax: number
  /** Memory of the subscriptions of one connection, as {@link OwnedSubscription.bytes} counts it. */
  readonly bytesMax: number
  /** The same for all connections of one key. */
  readonly bytesPerKeyMax: number
  /** The same of all connections. */
  readonly bytesInAllMax: number
  /** Bytes of events that may wait for a slow reader, per subscription, where the client names no other bound. */
  readonly queueBytesDefault: number
  /** The largest bound that a client may name. */
  readonly queueBytesMax: number
}

/** Counters that the {@link SubscriberPool}s of several threads may share. `add` returns the new count. */
export interface SubscriptionTotals {
  readonly subscriptionBytes: { add(change: number): number }
  addSubscriptionBytesOfKey(key: string, change: number): number
  addSubscriptionsOfKey(key: string, change: number): number
}

/** Bytes counted for a subscription with all that is kept for it; V8 counts 1,500. */
export const subscriptionBytes = 2_000

/**
 * Bytes counted for an address or topic of a filter: up to 32 in the filter itself, up to 56 in an index of filters,
 * and 6 for blooms.
 */
export const filterKeyBytes = 100

/** Bytes counted for a subscription whose filter has `filterKeys` addresses and topics in all. */
export function bytesOfSubscription(filterKeys: number): number {
  return subscriptionBytes + filterKeys * filterKeyBytes
}

/**
 * Memory of ended subscriptions that is freed in one turn of the event loop: 2,600 addresses, or 130 subscriptions
 * without filters. Takes 0.5 ms.
 */
const endedBytesPerTurn = 256 * 1024

/**
 * Shared by all connections of one edge. Counts the memory of subscriptions by connection, by key and in all. Ends
 * subscriptions of closed connections a few per turn of the event loop, so that a thousand clients that leave at once
 * do not delay the others.
 */
export class SubscriberPool {
  /** Open subscriptions. */
  open = 0
  /** Events that were skipped because their readers were too slow. */
  skippedEvents = 0
  readonly #totals: SubscriptionTotals
  /** Iterators that end the subscriptions of closed connections, one per step. */
  readonly #ends: Iterator<number>[] = []
  readonly #slices = new TimeSlices<never>({ onTurn: () => this.#endSome(), goOn: () => undefined })

  constructor(
    readonly limits: SubscriptionLimits,
    totals: SubscriptionTotals,
  ) {
    this.#totals = totals
  }

  /**
   * Counts a subscription of `bytes` for a connection of `key` (undefined where no keys are needed), which may have
   * `ofKeyMax` of them. Throws FaultError, and counts nothing, where a limit would be exceeded.
   */
  take(key: string | undefined, bytes: number, ofKeyMax = Number.POSITIVE_INFINITY): void {
    const { bytesPerKeyMax, bytesInAllMax } = this.limits
    const { subscriptionBytes } = this.#totals
    // Added before it is compared, so that two edges that do so at the same time cannot exceed the limit together.
    if (subscriptionBytes.add(bytes) > bytesInAllMax) {
      subscriptionBytes.add(-bytes)
      throw tooMuch('this server', bytesInAllMax)
    }
    if (key === undefined) return
    const ofKey = this.#totals.addSubscriptionBytesOfKey(key, bytes)
    const count = ofKey <= bytesPerKeyMax ? this.#totals.addSubscriptionsOfKey(key, 1) : 0
    if (ofKey <= bytesPerKeyMax && count <= ofKeyMax) return
    if (Number.isFinite(ofKey)) this.#totals.addSubscriptionBytesOfKey(key, -bytes)
    subscriptionBytes.add(-bytes)
    if (count === 0) throw tooMuch('this API key', bytesPerKeyMax)
    if (Number.isFinite(count)) this.#totals.addSubscriptionsOfKey(key, -1)
    throw new FaultError({ kind: 'TooManySubscriptions', whose: 'of this API key', max: ofKeyMax })
  }

  /** Throws what {@link take} would throw; counts nothing. */
  requireRoom(key: string | undefined, bytes: number, ofKeyMax?: number): void {
    this.take(key, bytes, ofKeyMax)
    this.release(key, bytes)
  }

  release(key: string | undefined, bytes: number): void {
    this.#totals.subscriptionBytes.add(-bytes)
    if (key === undefined) return
    this.#totals.addSubscriptionBytesOfKey(key, -bytes)
    this.#totals.addSubscriptionsOfKey(key, -1)
  }

  /**
   * Runs `ends` in later turns of the event loop. Each step ends a subscription and yields the bytes that it freed.
   */
  endLater(ends: Iterator<number>): void {
    this.#ends.push(ends)
    this.#slices.begin()
  }

  /** Returns whether there are more to end. */
  #endSome(): boolean {
    for (let bytes = 0; this.#ends.length > 0 && bytes < endedBytesPerTurn; ) {
      const step = (this.#ends[0] as Iterator<number>).next()
      if (step.done) this.#ends.shift()
      else bytes += step.value
    }
    return this.#ends.length > 0
  }
}

/** The fault for a subscription that, with the others of `whose`, would take too much memory. */
export function tooMuch(whose: string, max: number): FaultError {
  return new FaultError({ kind: 'TooMuchSubscriptionMemory', whose, max })
}
