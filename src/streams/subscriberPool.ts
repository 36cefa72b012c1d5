import { FaultError } from '../primitives/faults.js'

/** What connections may ask for. */
export interface SubscriptionLimits {
  /** Subscriptions of one connection at the same time. */
  readonly subscriptionsMax: number
  /** Memory of the subscriptions of one connection, as {@link OwnedSubscription.bytes} counts it. */
  readonly bytesMax: number
  /** The same of all connections of one key. */
  readonly bytesPerKeyMax: number
  /** The same of all connections. */
  readonly bytesInAllMax: number
  /** Bytes of events that may wait for a slow reader, per subscription, where the client names no other bound. */
  readonly queueBytesDefault: number
  /** The largest bound that a client may name. */
  readonly queueBytesMax: number
}

/** Counts that {@link SubscriberPool}s of several threads may share. Each `add` returns the new count. */
export interface SubscriptionTotals {
  readonly subscriptionBytes: { add(change: number): number }
  addSubscriptionBytesOfKey(key: string, change: number): number
}

/** Memory of a subscription with everything that is kept for it: 1,500 bytes by V8's own count. */
export const subscriptionBytes = 2_000

/**
 * Memory of an address or topic of a filter: 32 bytes at most in the filter itself, 56 at most in an index of
 * filters, and 6 once blooms are looked at.
 */
export const filterKeyBytes = 100

/** Memory of a subscription whose filter has so many addresses and topics. */
export function bytesOfSubscription(filterKeys: number): number {
  return subscriptionBytes + filterKeys * filterKeyBytes
}

/**
 * What subscriptions of closed connections give back in one turn of the event loop: 2,600 addresses, or 130
 * subscriptions without any. It takes some 0.5 ms.
 */
const endedBytesPerTurn = 256 * 1024

/**
 * What all connections of one edge share: the memory that their subscriptions may take, counted in all, by connection
 * and by key, and the ends of subscriptions whose connection is gone, a few in each turn of the event loop, so that a
 * thousand clients who leave at once do not hold up those who stay.
 */
export class SubscriberPool {
  readonly #totals: SubscriptionTotals
  /** Steps in which subscriptions end that nobody receives any more. */
  readonly #ends: Iterator<number>[] = []
  #nextTurn: NodeJS.Immediate | undefined

  constructor(
    readonly limits: SubscriptionLimits,
    totals: SubscriptionTotals,
  ) {
    this.#totals = totals
  }

  /**
   * Counts memory that a connection of `key` is about to take; undefined where keys are not asked for. Throws
   * FaultError, and counts nothing, where that is too much.
   */
  take(key: string | undefined, bytes: number): void {
    const { bytesPerKeyMax, bytesInAllMax } = this.limits
    const { subscriptionBytes } = this.#totals
    // Counted before it is compared, so that edges that do so at the same time do not take too much together.
    if (subscriptionBytes.add(bytes) > bytesInAllMax) {
      subscriptionBytes.add(-bytes)
      throw tooMuch('this server', bytesInAllMax)
    }
    if (key === undefined) return
    const ofKey = this.#totals.addSubscriptionBytesOfKey(key, bytes)
    if (ofKey <= bytesPerKeyMax) return
    if (Number.isFinite(ofKey)) this.#totals.addSubscriptionBytesOfKey(key, -bytes)
    subscriptionBytes.add(-bytes)
    throw tooMuch('this API key', bytesPerKeyMax)
  }

  /** Throws as {@link take}, which is to come. */
  requireRoom(key: string | undefined, bytes: number): void {
    this.take(key, bytes)
    this.release(key, bytes)
  }

  release(key: string | undefined, bytes: number): void {
    this.#totals.subscriptionBytes.add(-bytes)
    if (key !== undefined) this.#totals.addSubscriptionBytesOfKey(key, -bytes)
  }

  /** Runs `ends` in turns to come. Each step ends a subscription and yields the bytes that it gave back. */
  endLater(ends: Iterator<number>): void {
    this.#ends.push(ends)
    this.#nextTurn ??= setImmediate(() => this.#takeTurn())
  }

  #takeTurn(): void {
    this.#nextTurn = undefined
    for (let bytes = 0; this.#ends.length > 0 && bytes < endedBytesPerTurn; ) {
      const step = (this.#ends[0] as Iterator<number>).next()
      if (step.done) this.#ends.shift()
      else bytes += step.value
    }
    if (this.#ends.length > 0) this.#nextTurn = setImmediate(() => this.#takeTurn())
  }
}

/** Why a subscription is refused that would take too much memory together with the others of `whose`. */
export function tooMuch(whose: string, max: number): FaultError {
  return new FaultError({ kind: 'TooMuchSubscriptionMemory', whose, max })
}
