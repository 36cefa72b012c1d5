/**
 * The live subscriptions of one network, and the events of a step that each gets. Owns the order of a step's events,
 * and the pauses of delivery. A pause comes after a number of visited subscriptions, with or without events.
 */
import type { ChainStep } from '../../data/chain/chainSteps.js'
import type { LogFilter } from '../../data/chain/logFilter.js'
import type { BlockEvents } from './blockEvents.js'
import { type BlockRange, type ChainRequest, isWithin, wantsStep } from './chainRequest.js'
import { FilterIndex } from './filterIndex.js'
import type { Subscription } from './subscription.js'

/**
 * Subscriptions visited between two readings of the clock, each of which may be a system call: 0.1 ms of sent events.
 */
const looksPerPause = 16

export interface LiveFollower {
  readonly request: ChainRequest
  readonly subscription: Subscription<ChainStep>
}

export class LiveFollowers {
  readonly #heads = new Set<LiveFollower>()
  readonly #receipts = new Set<LiveFollower>()
  /** Subscriptions to logs, without the {@link #resting}. */
  readonly #logs = new FilterIndex<LiveFollower>()
  /** Subscriptions to logs whose range of blocks the chain has passed, or not reached: no log is compared with them. */
  readonly #resting = new Set<LiveFollower>()
  readonly #events: BlockEvents
  readonly #finalized: () => number

  /** `finalized` returns the number of the newest final block. */
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

  /** Sends the events of a step to all; may pause at each yield. */
  *send(step: ChainStep): Generator<void, void> {
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
      // Some messages are rendered for one subscription only.
      yield
    }
    yield* this.#wake(step)
    if (!this.#logs.isEmpty) yield* this.#sendLogs(step)
  }

  /** Wakes resting followers whose blocks have come, and ends those whose last block is final. */
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

  *#sendLogs(step: ChainStep): Generator<void, void> {
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
