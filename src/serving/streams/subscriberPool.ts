import { FaultError } from '../../primitives/faults.js'
import { type Task, TimeSlices } from '../../primitives/timeSlices.js'

export interface SubscriptionLimits {
  /** Subscriptions of one connection at the same time. */
  readonly subscriptionsMax: number
  /** Memory of the subscriptions of one connection, as {@link OwnedSubscription.bytes} counts it. */
  readonly bytesMax: number
  /** Memory of the subscriptions of all connections of one key. */
  readonly bytesPerKeyMax: number
  /** Memory of the subscriptions of all connections. */
  readonly bytesInAllMax: number
  /** Bytes of events that may wait for a slow reader, per subscription, if the client sets no bound. */
  readonly queueBytesDefault: number
  /** The largest bound that a client may set. */
  readonly queueBytesMax: number
}

/** Counters that the {@link SubscriberPool}s of several threads may share. `add` returns the new count. */
export interface SubscriptionTotals {
  readonly subscriptionBytes: { add(change: number): number }
  addSubscriptionBytesOfKey(key: string, change: number): number
  addSubscriptionsOfKey(key: string, change: number): number
}

/** A connection whose subscriptions wait for room. */
interface SlowSubscriber extends Task {
  readonly key: string | undefined
  /** Resumes its subscriptions until `isOver`, at least one. */
  resume(isOver: () => boolean): void
}

/** Bytes counted for a subscription with all its data; V8 counts 1,500. */
export const subscriptionBytes = 2_000

/**
 * Bytes counted for an address or topic of a filter. Up to 32 are in the filter itself, up to 56 in an index of
 * filters, and 6 for blooms.
 */
export const filterKeyBytes = 100

/** Bytes counted for a subscription whose filter has `filterKeys` addresses and topics in all. */
export function bytesOfSubscription(filterKeys: number): number {
  return subscriptionBytes + filterKeys * filterKeyBytes
}

const ofServer = 'this server'
const ofKey = 'this API key'

/** Longest time that waiting events occupy the event loop at once, so that other answers are sent in between. */
export const turnMsMax = 4

/**
 * Memory of ended subscriptions that is freed in one turn of the event loop: 2,600 addresses, or 130 subscriptions
 * without filters. Takes 0.5 ms.
 */
const endedBytesPerTurn = 256 * 1024

/**
 * Shared by all connections of one edge. Counts the memory of subscriptions by connection, by key and in all. Ends
 * subscriptions of closed connections a few per turn of the event loop: a thousand clients that leave at once do not
 * delay the others.
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

  readonly #isResumeOver = () => this.#resumes.isOver(turnMsMax)
  readonly #resumes: TimeSlices<SlowSubscriber> = new TimeSlices<SlowSubscriber>({
    goOn: (subscriber) => subscriber.resume(this.#isResumeOver),
    flowOf: ({ key = '' }) => key,
    msMaxOf: () => turnMsMax,
  })

  constructor(
    readonly limits: SubscriptionLimits,
    totals: SubscriptionTotals,
  ) {
    this.#totals = totals
  }

  /**
   * Counts a subscription of `bytes` for a connection of `key` (undefined if no keys are needed), which may have
   * `ofKeyMax` of them. Throws FaultError, and counts nothing, if a limit would be exceeded.
   */
  take(key: string | undefined, bytes: number, ofKeyMax = Number.POSITIVE_INFINITY): void {
    const { bytesPerKeyMax, bytesInAllMax } = this.limits
    const whose = this.takeBytes(key, bytes)
    if (whose !== undefined) throw tooMuch(whose, whose === ofServer ? bytesInAllMax : bytesPerKeyMax)
    if (key === undefined) return
    const count = this.#totals.addSubscriptionsOfKey(key, 1)
    if (count <= ofKeyMax) return
    if (Number.isFinite(count)) this.#totals.addSubscriptionsOfKey(key, -1)
    this.releaseBytes(key, bytes)
    throw new FaultError({ kind: 'TooManySubscriptions', whose: 'of this API key', max: ofKeyMax })
  }

  /** Counts only memory. Returns undefined if there is room, otherwise the owner of the exceeded limit. */
  takeBytes(key: string | undefined, bytes: number): typeof ofServer | typeof ofKey | undefined {
    const { bytesPerKeyMax, bytesInAllMax } = this.limits
    const { subscriptionBytes } = this.#totals
    // Added before the comparison, so that two edges cannot exceed the limit by adding at the same time.
    const inAll = subscriptionBytes.add(bytes)
    const sum = key === undefined ? 0 : this.#totals.addSubscriptionBytesOfKey(key, bytes)
    if (inAll <= bytesInAllMax && sum <= bytesPerKeyMax) return undefined
    subscriptionBytes.add(-bytes)
    if (key !== undefined && Number.isFinite(sum)) this.#totals.addSubscriptionBytesOfKey(key, -bytes)
    return inAll > bytesInAllMax ? ofServer : ofKey
  }

  /** Throws as {@link take} would; counts nothing. */
  requireRoom(key: string | undefined, bytes: number, ofKeyMax?: number): void {
    this.take(key, bytes, ofKeyMax)
    this.release(key, bytes)
  }

  release(key: string | undefined, bytes: number): void {
    this.releaseBytes(key, bytes)
    if (key !== undefined) this.#totals.addSubscriptionsOfKey(key, -1)
  }

  /** Reverses {@link takeBytes}. */
  releaseBytes(key: string | undefined, bytes: number): void {
    this.#totals.subscriptionBytes.add(-bytes)
    if (key !== undefined) this.#totals.addSubscriptionBytesOfKey(key, -bytes)
  }

  /** Resumes the subscriptions of a connection that has room again: now, or in later turns. */
  resume(subscriber: SlowSubscriber): void {
    this.#resumes.begin()
    if (this.#resumes.isEmpty && !this.#isResumeOver()) subscriber.resume(this.#isResumeOver)
    else this.resumeLater(subscriber)
  }

  resumeLater(subscriber: SlowSubscriber): void {
    this.#resumes.wait(subscriber)
  }

  /**
   * Runs `ends` in later turns of the event loop. Each step ends a subscription and yields the bytes that it freed.
   */
  endLater(ends: Iterator<number>): void {
    this.#ends.push(ends)
    this.#slices.begin()
  }

  /** Returns whether more subscriptions wait for their end. */
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
