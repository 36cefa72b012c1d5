/**
 * The events of one network: heads, logs, and whether its source is behind. Owns who gets what and how far each has
 * come; a {@link Subscription} owns how events reach a slow reader, the chain owns which blocks there are.
 *
 * A subscription is a cursor over the chain: the block up to which its client knows it. Whoever stands where the
 * network's own cursor stands is live and gets every further event with all others, rendered once. Everyone else
 * replays: takes steps of its own out of the store, as fast as its socket takes them, until it stands there too. So
 * a missed block, a reorganisation and the last head are one thing, and a client that resumes needs no queue.
 */
import type { BlockId } from '../chain/blockId.js'
import type { Chain } from '../chain/chain.js'
import { beforeGenesis, type ChainCursor, type ChainStep } from '../chain/chainSteps.js'
import type { LogFilter } from '../chain/logFilter.js'
import { type SyncProgress, syncProgressJson } from '../chain/syncProgress.js'
import { bytesToHex, equalBytes, type Hash32, toQuantity } from '../primitives/bytes.js'
import { FaultError } from '../primitives/faults.js'
import { BlockEvents } from './blockEvents.js'
import { EventMessage } from './eventMessage.js'
import { FilterIndex } from './filterIndex.js'
import type { Subscriber } from './subscriber.js'
import { bytesOfSubscription } from './subscriberPool.js'
import { type Delivery, Subscription } from './subscription.js'

/** Time that events take of the event loop in one go, so that answers to others go out in between. */
const turnMsMax = 4

/** Events between two looks at the clock, which may be a system call each: 0.1 ms of work. */
const eventsPerLook = 16

/** Blocks that one subscription replays before the next has its turn. */
const blocksPerReplay = 16

/** The argument of eth_subscribe that says from where. */
const optionsArgument = 1

export interface StreamLimits {
  /** Blocks behind the head from which a subscription may resume. */
  readonly replayBlocksMax: number
}

/** A subscription to blocks or to what is in them. */
export interface ChainRequest {
  readonly delivery: Delivery
  /** Which logs; undefined for heads. */
  readonly filter: LogFilter | undefined
  /**
   * Number or tag: the first block to send. Hash: the last block that the client has. Undefined: what comes from now
   * on; then removed heads are not sent, as in go-ethereum.
   */
  readonly from: BlockId | undefined
  /** Numbers of the blocks whose logs count; undefined for all. Heads are not asked for their number. */
  readonly within: BlockRange | undefined
}

/** First and last block. */
export interface BlockRange {
  readonly first: number
  readonly last: number
}

/** A subscription that is made and sends nothing yet. */
export interface OpenedStream {
  readonly id: string
  /** Begins to send; to be called once its client knows the id. */
  start(): void
}

/** Who follows the chain, and how far it has come. */
interface Follower {
  readonly request: ChainRequest
  readonly subscription: Subscription
  /** Says nothing of a live follower, who stands where the network stands. */
  cursor: ChainCursor
  isLive: boolean
}

export class NetworkStreams {
  readonly #chain: Chain
  readonly #limits: StreamLimits
  readonly #events: BlockEvents
  /** Live followers by what they receive. */
  readonly #heads = new Set<Follower>()
  readonly #logs = new FilterIndex<Follower>()
  readonly #syncing = new Set<Subscription>()
  /** Followers who have steps to take and room to send, in the order of their turns. */
  readonly #replaying = new Set<Follower>()
  /** Followers who stand at the head before the network does, because it is still telling the live ones of it. */
  readonly #ahead = new Set<Follower>()
  #cursor: ChainCursor
  #walk: Generator<void, void> | undefined
  /** Some of the live followers have received a step, and others not yet. */
  #isAmidStep = false
  #nextTurn: NodeJS.Immediate | undefined
  #isSyncing = false
  readonly #stopListening: () => void
  readonly #reportDefect: (error: unknown) => void

  /** `reportDefect` gets why events could not be sent. */
  constructor(chain: Chain, limits: StreamLimits, reportDefect: (error: unknown) => void) {
    this.#chain = chain
    this.#limits = limits
    this.#reportDefect = reportDefect
    this.#events = new BlockEvents(chain)
    this.#cursor = chain.head
    this.#stopListening = chain.onHead(() => this.#onHead())
  }

  /** Throws FaultError: too many subscriptions, or too large ones, or a block from which nothing can be replayed. */
  subscribe(subscriber: Subscriber, request: ChainRequest): OpenedStream {
    const cursor = request.from === undefined ? this.#cursor : this.#cursorAt(request.from, request)
    const events = { onIdle: () => this.#onIdle(follower), onEnd: () => this.#forget(follower) }
    const bytes = bytesOfSubscription(request.filter?.size ?? 0)
    const subscription = new Subscription(subscriber, request.delivery, events, bytes)
    const follower: Follower = { request, subscription, cursor, isLive: false }
    subscriber.add(subscription)
    return { id: subscription.id, start: () => this.#schedule(follower) }
  }

  /** Whether the source is behind, at every change. Throws FaultError: too many subscriptions. */
  subscribeSyncing(subscriber: Subscriber, delivery: Delivery): OpenedStream {
    const events = { onIdle: () => undefined, onEnd: () => this.#syncing.delete(subscription) }
    const subscription: Subscription = new Subscription(subscriber, delivery, events, bytesOfSubscription(0))
    subscriber.add(subscription)
    const start = () => {
      if (!subscription.isEnded) this.#syncing.add(subscription)
    }
    return { id: subscription.id, start }
  }

  /** To be called with how far the source is, and undefined once it has delivered all it has. */
  reportSyncing(progress: SyncProgress | undefined): void {
    const isSyncing = progress !== undefined
    if (isSyncing === this.#isSyncing) return
    this.#isSyncing = isSyncing
    const json = isSyncing ? `{"syncing":true,"status":${syncProgressJson(progress)}}` : 'false'
    const message = new EventMessage(json, { number: this.#chain.head.number })
    for (const subscription of this.#syncing) subscription.deliver(message)
  }

  /** Sends nothing more; subscriptions end with their connections. */
  close(): void {
    this.#stopListening()
    clearImmediate(this.#nextTurn)
    this.#replaying.clear()
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
      throw this.#outOfRange(`block ${toQuantity(first)} is out of reach`)
    }
    if (first === 0) return beforeGenesis
    const parent = this.#chain.resolve({ kind: 'number', number: first - 1 }, optionsArgument)
    if (parent === undefined) throw new Error(`the canonical block ${first - 1} is missing`)
    return parent
  }

  /** Throws FaultError unless everything between `from` and the canonical chain can be sent, and lies in reach. */
  #checkRollback(from: ChainCursor, needsLogs: boolean): void {
    let cursor = from
    for (;;) {
      const step = this.#chain.nextStep(cursor)
      const isCanonical = step?.kind !== 'removed'
      if (cursor.number < this.#lowest) {
        throw this.#outOfRange(`block ${toQuantity(from.number)} is out of reach`)
      }
      if (isCanonical) return
      if (needsLogs && !this.#chain.hasReceipts(step.hash)) {
        throw this.#outOfRange(`block ${bytesToHex(step.hash)} was never part of this chain`)
      }
      cursor = step.cursor
    }
  }

  get #lowest(): number {
    return Math.max(0, this.#chain.head.number - this.#limits.replayBlocksMax)
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
    this.#takeTurn()
  }

  /** A socket has room again: filled at once, so that the subscriptions of a connection take turns at each drain. */
  #onIdle(follower: Follower): void {
    if (!follower.isLive && this.#replay(follower)) this.#schedule(follower)
  }

  #schedule(follower: Follower): void {
    if (follower.isLive || follower.subscription.isEnded || this.#join(follower)) return
    this.#replaying.add(follower)
    this.#nextTurn ??= setImmediate(() => this.#takeTurn())
  }

  #forget(follower: Follower): void {
    this.#replaying.delete(follower)
    this.#ahead.delete(follower)
    if (!follower.isLive) return
    const { filter } = follower.request
    if (filter === undefined) this.#heads.delete(follower)
    else this.#logs.remove(filter, follower)
  }

  /** Serves the live ones first, then those who replay; goes on in a later turn with what is left. */
  #takeTurn(): void {
    clearImmediate(this.#nextTurn)
    this.#nextTurn = undefined
    const end = performance.now() + turnMsMax
    const isAtHead = this.#continueWalk(end)
    for (const follower of this.#replaying) {
      this.#replaying.delete(follower)
      if (this.#replay(follower)) this.#replaying.add(follower)
      // Looked at last, so that at least one gets on while the chain moves faster than it can be sent.
      if (performance.now() >= end) break
    }
    if (!isAtHead || this.#replaying.size > 0) this.#nextTurn = setImmediate(() => this.#takeTurn())
  }

  /** Whether the live ones have received everything. */
  #continueWalk(end: number): boolean {
    while (this.#walk !== undefined) {
      if (this.#isWalkDone(this.#walk)) {
        this.#walk = undefined
        for (const follower of this.#ahead) this.#replaying.add(follower)
        this.#ahead.clear()
      } else if (performance.now() >= end) return false
    }
    return true
  }

  /** Goes on with a walk. A step that cannot be rendered ends all who were to receive it. */
  #isWalkDone(walk: Generator<void, void>): boolean {
    try {
      return walk.next().done === true
    } catch (error) {
      this.#reportDefect(error)
      for (const { subscription } of [...this.#heads, ...this.#logs.members()]) subscription.fail()
      this.#cursor = this.#chain.head
      return true
    }
  }

  /** Tells the live followers of every step up to the head, and yields now and then. */
  *#notifyLive(): Generator<void, void> {
    for (;;) {
      if (this.#heads.size === 0 && this.#logs.isEmpty) {
        this.#cursor = this.#chain.head
        return
      }
      const step = this.#chain.nextStep(this.#cursor)
      if (step === undefined) return
      this.#isAmidStep = true
      try {
        yield* this.#notifyStep(step)
      } finally {
        this.#isAmidStep = false
      }
      this.#cursor = step.cursor
    }
  }

  *#notifyStep(step: ChainStep): Generator<void, void> {
    let events = 0
    if (this.#heads.size > 0) {
      const message = this.#events.head(step)
      for (const follower of this.#heads) {
        if (wantsStep(follower.request, step)) follower.subscription.deliver(message)
        if (++events % eventsPerLook === 0) yield
      }
    }
    if (this.#logs.isEmpty) return
    for (const { keys, message } of this.#events.logs(step)) {
      // Collected first, so that the walk may pause in the midst of them.
      const followers: Follower[] = []
      this.#logs.visitMatches(keys, (follower) => {
        if (isWithin(follower.request, step)) followers.push(follower)
      })
      for (const follower of followers) {
        follower.subscription.deliver(message)
        if (++events % eventsPerLook === 0) yield
      }
    }
  }

  /** As {@link #takeSteps}; a step that cannot be rendered ends the follower. */
  #replay(follower: Follower): boolean {
    try {
      return this.#takeSteps(follower)
    } catch (error) {
      this.#reportDefect(error)
      follower.subscription.fail()
      return false
    }
  }

  /** Takes some of a follower's own steps. Whether it has more to take, and room for them. */
  #takeSteps(follower: Follower): boolean {
    const { subscription, request } = follower
    for (let blocks = 0; blocks < blocksPerReplay; blocks++) {
      if (subscription.isEnded || this.#join(follower)) return false
      if (!subscription.hasRoom) {
        subscription.waitForRoom()
        return false
      }
      const step = this.#chain.nextStep(follower.cursor)
      if (step === undefined) {
        this.#ahead.add(follower)
        return false
      }
      follower.cursor = step.cursor
      for (const message of this.#eventsFor(request, step)) subscription.deliver(message)
    }
    return true
  }

  *#eventsFor(request: ChainRequest, step: ChainStep): Generator<EventMessage> {
    const { filter } = request
    if (filter === undefined) {
      if (wantsStep(request, step)) yield this.#events.head(step)
      return
    }
    if (!isWithin(request, step)) return
    const header = this.#chain.readHeader(step.hash)
    if (header === undefined || !filter.mayMatch(header.logsBloom)) return
    for (const { keys, message } of this.#events.logs(step)) if (filter.matches(keys)) yield message
  }

  /** Makes a follower live if it stands where the live ones stand. */
  #join(follower: Follower): boolean {
    if (this.#isAmidStep || !isSame(follower.cursor, this.#cursor)) return false
    follower.isLive = true
    const { filter } = follower.request
    if (filter === undefined) this.#heads.add(follower)
    else this.#logs.add(filter, follower)
    return true
  }
}

function wantsStep({ filter, from }: ChainRequest, step: ChainStep): boolean {
  return step.kind === 'added' || filter !== undefined || from !== undefined
}

function isWithin({ within }: ChainRequest, { number }: ChainStep): boolean {
  return within === undefined || (number >= within.first && number <= within.last)
}

function isSame(a: { number: number; hash: Hash32 }, b: { number: number; hash: Hash32 }): boolean {
  return a.number === b.number && equalBytes(a.hash, b.hash)
}
