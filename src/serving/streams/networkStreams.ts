/**
 * The events of one network: heads, logs, and whether its source is behind. Owns which subscription gets which events,
 * and the block that each has reached. A {@link Subscription} owns the handling of slow readers.
 *
 * A subscription is a cursor over the chain: the last block that its client has. A subscription at the network's own
 * cursor is live: it gets each event together with all other live ones, rendered once. Any other one replays. It takes
 * steps of its own from the store, as fast as its socket accepts them, until it reaches that cursor. So missed blocks,
 * reorganisations and new heads take the same path, and a client that resumes needs no queue.
 */

import type { Chain } from '../../data/chain/chain.js'
import type { BlockId } from '../../data/chain/chainBlocks.js'
import { beforeGenesis, type ChainCursor, type ChainStep } from '../../data/chain/chainSteps.js'
import { requireLogs } from '../../data/chain/logSearch.js'
import { type SyncProgress, syncProgressJson } from '../../data/chain/syncProgress.js'
import { bytesToHex, equalBytes, type Hash32, toQuantity } from '../../primitives/bytes.js'
import type { Waiter } from '../../primitives/deferred.js'
import { FaultError } from '../../primitives/faults.js'
import { setTimeout } from '../../primitives/timers.js'
import { type Task, TimeSlices } from '../../primitives/timeSlices.js'
import { BlockEvents, type ChainEvent } from './blockEvents.js'
import type { ChainRequest } from './chainRequest.js'
import { type KeptEvents, keepEvents } from './eventMessage.js'
import { keptSubscription } from './keptSubscription.js'
import { type LiveFollower, LiveFollowers } from './liveFollowers.js'
import type { Subscriber } from './subscriber.js'
import { bytesOfSubscription, turnMsMax } from './subscriberPool.js'
import { type Delivery, Subscription } from './subscription.js'

/** Blocks that one subscription replays before the next has its turn. */
const blocksPerReplay = 16

/** Index of the argument of eth_subscribe that contains `fromBlock`. */
const optionsArgument = 1

interface StreamLimits {
  /** Blocks behind the head from which a subscription may resume. */
  readonly replayBlocksMax: number
}

/** A subscription that sends nothing before `start`. */
export interface OpenedStream {
  readonly id: string
  /** Begins to send; call it once the client knows the id. */
  start(): void
}

/** A subscription to the chain and the block that it has reached. */
interface Follower extends LiveFollower, Task {
  /** Not kept up to date while the follower is live; the network's cursor counts then. */
  cursor: ChainCursor
  isLive: boolean
}

export class NetworkStreams {
  readonly #chain: Chain
  readonly #limits: StreamLimits
  readonly #events: BlockEvents
  readonly #live: LiveFollowers
  readonly #syncing = new Set<Subscription<KeptEvents>>()
  /**
   * In each turn serves the live followers first, then those with steps to take and room to send, at least one of them.
   */
  readonly #slices = new TimeSlices<Follower>({
    goOn: (follower) => this.#onIdle(follower),
    msMaxOf: () => turnMsMax,
    onTurn: () => !this.#continueWalk(),
  })
  /** Followers that reached the head while the live ones still get its events. */
  readonly #ahead = new Set<Follower>()
  #cursor: ChainCursor
  #walk: Generator<void, void> | undefined
  /** Whether some live followers have received the current step and others have not. */
  #isAmidStep = false
  #isSyncing = false
  readonly #stopListening: () => void
  readonly #reportDefect: (error: unknown) => void

  /** `reportDefect` is called with the error if events cannot be rendered. */
  constructor(chain: Chain, limits: StreamLimits, reportDefect: (error: unknown) => void) {
    this.#chain = chain
    this.#limits = limits
    this.#reportDefect = reportDefect
    this.#events = new BlockEvents(chain)
    this.#live = new LiveFollowers(this.#events, () => chain.finalizedNumber)
    this.#cursor = chain.head
    this.#stopListening = chain.onHead(() => this.#onHead())
  }

  /**
   * Subscribes to heads, logs or receipts. Throws FaultError for too many subscriptions or too much memory for them.
   * Also for a block that cannot be replayed, and for logs of a network without receipts.
   */
  subscribe(subscriber: Subscriber, request: ChainRequest): OpenedStream {
    const { filter, receipts } = request
    if (filter !== undefined || receipts !== undefined) requireLogs(this.#chain.kind)
    const cursor = request.from === undefined ? this.#cursor : this.#cursorAt(request.from, request)
    const events = {
      again: (step: ChainStep, first: number) => this.#again(follower, step, first),
      onIdle: () => this.#onIdle(follower),
      onEnd: () => this.#forget(follower),
    }
    const named = receipts === undefined || receipts === 'all' ? 0 : receipts.size
    const bytes = bytesOfSubscription(filter?.size ?? named)
    const subscription = new Subscription<ChainStep>(subscriber, request.delivery, events, bytes)
    const follower: Follower = { request, subscription, cursor, isLive: false, place: undefined }
    subscriber.add(subscription)
    return { id: subscription.id, start: () => this.#schedule(follower) }
  }

  /** Subscribes to changes of whether the source is behind. Throws FaultError for too many subscriptions. */
  subscribeSyncing(subscriber: Subscriber, delivery: Delivery): OpenedStream {
    const subscription = keptSubscription(subscriber, delivery, this.#syncing)
    const start = () => {
      if (!subscription.isEnded) this.#syncing.add(subscription)
    }
    return { id: subscription.id, start }
  }

  /** See {@link awaitReceipt}. */
  awaitReceipt(hash: Hash32, endsAtMs: number, owner: Waiter): Promise<Uint8Array | undefined> {
    return awaitReceipt(this.#chain, hash, endsAtMs, owner)
  }

  /** Must be called with the progress of a source that is behind, and with undefined once it is up to date. */
  reportSyncing(progress: SyncProgress | undefined): void {
    const isSyncing = progress !== undefined
    if (isSyncing === this.#isSyncing) return
    this.#isSyncing = isSyncing
    const json = isSyncing ? `{"syncing":true,"status":${syncProgressJson(progress)}}` : 'false'
    const { messages } = keepEvents(this.#chain.head.number, [json])
    for (const message of messages) for (const subscription of this.#syncing) subscription.deliver(message)
  }

  /** Stops sending; subscriptions end with their connections. */
  close(): void {
    this.#stopListening()
    this.#slices.close()
  }

  #cursorAt(id: BlockId, { filter }: ChainRequest): ChainCursor {
    const block = this.#chain.resolve(id, optionsArgument)
    if (id.kind === 'hash') {
      if (block === undefined) throw this.#outOfRange(`block ${bytesToHex(id.hash)} is not known`)
      this.#checkRollback(block, filter !== undefined)
      return block
    }
    const number = id.kind === 'number' ? id.number : block?.number
    if (number === undefined) throw new Error('a tag that is no block')
    const first = block?.isPending ? number + 1 : number
    if (first < this.#lowest || first > this.#chain.head.number + 1) {
      throw this.#outOfRange(`block ${toQuantity(first)} is out of range`)
    }
    if (first === 0) return beforeGenesis
    const parent = this.#chain.resolve({ kind: 'number', number: first - 1 }, optionsArgument)
    if (parent === undefined) throw new Error(`the canonical block ${first - 1} is missing`)
    return parent
  }

  /**
   * Throws FaultError unless every step from `from` back to the canonical chain can be sent, within `replayBlocksMax`.
   */
  #checkRollback(from: ChainCursor, needsLogs: boolean): void {
    let cursor = from
    for (;;) {
      const step = this.#chain.nextStep(cursor)
      const isCanonical = step?.kind !== 'removed'
      if (cursor.number < this.#lowest) {
        throw this.#outOfRange(`block ${toQuantity(from.number)} is out of range`)
      }
      if (isCanonical) return
      if (needsLogs && !this.#chain.hasReceipts(step.hash)) {
        throw this.#outOfRange(`block ${bytesToHex(step.hash)} was never part of this chain`)
      }
      cursor = step.cursor
    }
  }

  get #lowest(): number {
    const { head, oldest } = this.#chain
    const first = Math.max(oldest.receipts, oldest.bodies)
    // A client that resumes must have seen the block before; before genesis there is none to see.
    return Math.max(first === 0 ? 0 : first + 1, head.number - this.#limits.replayBlocksMax)
  }

  #outOfRange(why: string): FaultError {
    const range = `blocks ${toQuantity(this.#lowest)} to ${toQuantity(this.#chain.head.number)} are retained`
    return new FaultError({
      kind: 'InvalidArgument',
      index: optionsArgument,
      why: `${why}; ${range}`,
    })
  }

  #onHead(): void {
    this.#walk ??= this.#notifyLive()
    this.#slices.next()
  }

  /** A socket has room again. Sends at once, so that the subscriptions of a connection take turns at each drain. */
  #onIdle(follower: Follower): void {
    if (!follower.isLive) this.#replay(follower)
  }

  #schedule(follower: Follower): void {
    if (follower.isLive || follower.subscription.isEnded || this.#join(follower)) return
    this.#slices.wait(follower)
  }

  #forget(follower: Follower): void {
    this.#slices.forget(follower)
    this.#ahead.delete(follower)
    if (follower.isLive) this.#live.remove(follower)
  }

  /** Sends to live followers in this turn. Returns whether they have received all events. */
  #continueWalk(): boolean {
    while (this.#walk !== undefined) {
      if (this.#isWalkDone(this.#walk)) {
        this.#walk = undefined
        for (const follower of this.#ahead) this.#slices.wait(follower)
        this.#ahead.clear()
      } else if (this.#slices.isOver(turnMsMax)) return false
    }
    return true
  }

  /** Continues a walk and returns whether it is done. A step that cannot be rendered ends all live subscriptions. */
  #isWalkDone(walk: Generator<void, void>): boolean {
    try {
      return walk.next().done === true
    } catch (error) {
      this.#reportDefect(error)
      for (const { subscription } of [...this.#live.all()]) subscription.fail()
      this.#cursor = this.#chain.head
      return true
    }
  }

  /** Sends every step up to the head to the live followers; may pause at each yield. */
  *#notifyLive(): Generator<void, void> {
    for (;;) {
      if (this.#live.isEmpty) {
        this.#cursor = this.#chain.head
        return
      }
      const step = this.#chain.nextStep(this.#cursor)
      if (step === undefined) return
      this.#isAmidStep = true
      try {
        yield* this.#live.send(step)
      } finally {
        this.#isAmidStep = false
      }
      this.#cursor = step.cursor
    }
  }

  /** Like {@link #takeSteps}, but a step that cannot be rendered ends the subscription. */
  #replay(follower: Follower): void {
    try {
      this.#takeSteps(follower)
    } catch (error) {
      this.#cannotRender(follower, error)
    }
  }

  /** The events of a step that wait for a follower; see {@link Subscription}. */
  *#again(follower: Follower, step: ChainStep, first: number): Generator<ChainEvent | number> {
    try {
      yield* this.#events.of(follower.request, step, first)
    } catch (error) {
      this.#cannotRender(follower, error)
    }
  }

  #cannotRender({ subscription }: Follower, error: unknown): void {
    if (error instanceof FaultError && error.fault.kind === 'HistoryPruned') return subscription.miss()
    this.#reportDefect(error)
    subscription.fail()
  }

  /**
   * Takes up to {@link blocksPerReplay} steps of a follower; the rest after the other subscriptions of its connection.
   */
  #takeSteps(follower: Follower): void {
    const { subscription, request } = follower
    this.#slices.begin()
    for (let blocks = 0; blocks < blocksPerReplay; blocks++) {
      if (subscription.isEnded || this.#join(follower)) return
      if (!subscription.hasRoom || (blocks > 0 && this.#slices.isOver(turnMsMax))) break
      const step = this.#chain.nextStep(follower.cursor)
      if (step === undefined) {
        this.#ahead.add(follower)
        return
      }
      follower.cursor = step.cursor
      for (const message of this.#events.of(request, step)) {
        const isMessage = typeof message !== 'number'
        if (!subscription.hasRoom || this.#slices.isOver(turnMsMax)) {
          return subscription.waitFrom(step, isMessage ? message.index : message)
        }
        if (isMessage) subscription.deliver(message)
      }
    }
    subscription.waitForRoom()
  }

  /** Makes a follower live if it is at the network's cursor. */
  #join(follower: Follower): boolean {
    if (this.#isAmidStep || !isSame(follower.cursor, this.#cursor)) return false
    follower.isLive = true
    this.#live.add(follower)
    return true
  }
}

function isSame(a: { number: number; hash: Hash32 }, b: { number: number; hash: Hash32 }): boolean {
  return a.number === b.number && equalBytes(a.hash, b.hash)
}

/**
 * The receipt of a transaction as JSON, once the newest chain has it. Resolves to undefined if that takes until
 * `endsAtMs` (performance.now()), or if the owner leaves. Rejects with NotStoredError if data is missing to find the
 * receipt.
 */
function awaitReceipt(
  chain: Chain,
  hash: Hash32,
  endsAtMs: number,
  owner: Waiter,
): Promise<Uint8Array | undefined> {
  return new Promise((resolve, reject) => {
    const settle = (work: () => void) => {
      stopListening()
      clearTimeout(timer)
      owner.forget(leave)
      work()
    }
    const look = () => {
      try {
        const at = chain.findTransaction(hash)
        const receipt = at && chain.receiptJson(at)
        if (receipt !== undefined) settle(() => resolve(receipt))
      } catch (error) {
        settle(() => reject(error))
      }
    }
    const leave = () => settle(() => resolve(undefined))
    const stopListening = chain.onHead(look)
    const timer = setTimeout(leave, endsAtMs - performance.now())
    owner.onFinished(leave)
    look()
  })
}
