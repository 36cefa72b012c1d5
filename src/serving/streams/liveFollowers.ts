/**
 * The subscriptions of one network that are at its cursor, and which of them get which events of a step. Owns the
 * order of a step's events, and where telling them may pause: after so many looks at a subscription, whether or not it
 * gets something.
 */
import type { ChainStep } from '../../data/chain/chainSteps.js'
import type { LogFilter } from '../../data/chain/logFilter.js'
import type { BlockEvents } from './blockEvents.js'
import { type BlockRange, type ChainRequest, isWithin, wantsStep } from './chainRequest.js'
import { FilterIndex } from './filterIndex.js'
import type { Subscription } from './subscription.js'

/** Looks between two readings of the clock, each of which may be a system call: 0.1 ms of events that are sent. */
const looksPerPause = 16

/** A subscription to the chain. */
export interface LiveFollower {
  readonly request: ChainRequest
  readonly subscription: Subscription<ChainStep>
}

export class LiveFollowers {
  readonly #heads = new Set<LiveFollower>()
  readonly #receipts = new Set<LiveFollower>()
  /** Those of logs, without the {@link #resting}. */
  readonly #logs = new FilterIndex<LiveFollower>()
  /** Those of logs whose range of blocks the chain has left, or not reached: no log is compared with them. */
  readonly #resting = new Set<LiveFollower>()
  readonly #events: BlockEvents
  readonly #finalized: () => number

  /** `finalized`: number of the newest block that stays. */
  constructor(events: BlockEvents, finalized: () => number) {
    this.#events = events
    this.#finalized = finalized
  }

  get isEmpty(): boolean {
    return this.#heads.size + this.#receipts.size + this.#resting.size === 0 && this.#logs.isEmpty
  }

  *all(): Generator<LiveFollower> {
    yield* this.#heads
    yield* this.#receipts
    yield* this.#resting
    yield* this.#logs.members()
  }

  add(follower: LiveFollower): void {
    const { filter, within } = follower.request
    if (filter === undefined) this.#setOf(follower).add(follower)
    else if (within === undefined) this.#logs.add(filter, follower)
    else this.#resting.add(follower)
  }

  remove(follower: LiveFollower): void {
    const { filter } = follower.request
    if (filter === undefined) this.#setOf(follower).delete(follower)
    else if (!this.#resting.delete(follower)) this.#logs.remove(filter, follower)
  }

  /** Tells all of a step; may pause wherever it yields. */
  *tell(step: ChainStep): Generator<void, void> {
    let looks = 0
    if (this.#heads.size > 0) {
      const message = this.#events.head(step)
      for (const { request, subscription } of this.#heads) {
        if (wantsStep(request, step)) subscription.deliver(message)
        if (++looks % looksPerPause === 0) yield
      }
    }
    for (const { request, subscription } of this.#receipts) {
      const message = request.receipts && this.#events.receipts(step, request.receipts)
      if (message !== undefined) subscription.deliver(message)
      // Some are made for this one alone.
      yield
    }
    yield* this.#wake(step)
    if (!this.#logs.isEmpty) yield* this.#tellLogs(step)
  }

  /** Has followers rest no more whose blocks have come, and ends those whose last block stays what it is. */
  *#wake(step: ChainStep): Generator<void, void> {
    if (this.#resting.size === 0) return
    let looks = 0
    // The chain may be ahead of this step.
    const over = Math.min(this.#finalized(), step.number - 1)
    for (const follower of this.#resting) {
      if (isWithin(follower.request, step)) {
        this.#resting.delete(follower)
        this.#logs.add(follower.request.filter as LogFilter, follower)
      } else if ((follower.request.within as BlockRange).last <= over) follower.subscription.finish()
      if (++looks % looksPerPause === 0) yield
    }
  }

  *#tellLogs(step: ChainStep): Generator<void, void> {
    let looks = 0
    for (const { keys, message } of yield* this.#events.logs(step)) {
      for (const follower of this.#logs.matches(keys)) {
        if (follower === undefined || ++looks % looksPerPause === 0) yield
        if (follower === undefined) continue
        if (isWithin(follower.request, step)) follower.subscription.deliver(message)
        else {
          this.#logs.remove(follower.request.filter as LogFilter, follower)
          this.#resting.add(follower)
        }
      }
      if (++looks % looksPerPause === 0) yield
    }
  }

  #setOf({ request }: LiveFollower): Set<LiveFollower> {
    return request.receipts === undefined ? this.#heads : this.#receipts
  }
}
