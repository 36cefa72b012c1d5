/**
 * Publishes the chain of a store to a log: all blocks that the log lacks, in order, after the store has committed them.
 * Owns the writer's lease, the queue for the database, and how far the store may be ahead of the log.
 *
 * The events to publish follow only from the store and the end of the log, so a start after a crash needs no special
 * case. Blocks that will be unwound before they are published are read first, so that replicas know them too.
 */

import { decodeHeader } from '../../data/chain/header.js'
import { keepConnected, News, Outage } from '../../data/postgres/changeFeed.js'
import { type DatabaseAddress, UnreachableError } from '../../data/postgres/connection.js'
import { FencedError } from '../../data/postgres/lease.js'
import { type BlockName, firstNumberOf, requireIdentity } from '../../data/store/chainRows.js'
import type { ChainWriter } from '../../data/store/chainWriter.js'
import { equalBytes } from '../../primitives/bytes.js'
import { type Deferred, defer } from '../../primitives/deferred.js'
import { OperatorError } from '../../primitives/faults.js'
import { encodeBlockDiff, readBlockDiffParts } from './blockDiffCodec.js'
import { type FeedEvent, type FeedFigures, type LogTip, MovedError } from './blockDiffLog.js'
import { feedOutage, PostgresLog } from './postgresLog.js'

export interface PublishPlan extends DatabaseAddress {
  /** Most blocks that the store may be ahead of the log. */
  readonly feedAheadMax: number
  /** Number of blocks below the head that stay in the log. */
  readonly retainBlocks: number
  /** How long a dead writer blocks other writers. */
  readonly leaseMs: number
}

/** Data that a writer gets with the lease. */
export interface Lease {
  readonly epoch: number
  readonly holder: string
  readonly tip: LogTip
}

/** Most events in one statement, and about the most bytes; as many are read from the store in advance. */
const batchEventsMax = 64
const batchBytesMax = 8 * 2 ** 20
/** Wait before the next attempt to connect to the database. */
const retryMs = 200
/** Events between two removals of old entries. */
const trimEvery = 64

export class Publisher {
  readonly #plan: PublishPlan
  readonly #store: ChainWriter
  readonly #epoch: number
  readonly #holder: string
  readonly #signal: AbortSignal
  readonly #fenced = new AbortController()
  /** Events that the log lacks, in order; the first follows the log's end. */
  #queue: FeedEvent[] = []
  #sequence: number
  /** The end of the log after all queued events. */
  #planned: Record<'head' | 'safe' | 'finalized', BlockName | undefined>
  #publishedNumber: number
  #committed: BlockName
  /** Whether blocks are being unwound; until the next commit the store's state is not committed. */
  #isUnwinding = false
  readonly #news = new News()
  #progress: Deferred<void> = defer()
  readonly #ending = new AbortController()
  #hasEnded = false
  readonly #outage: Outage
  #failure: unknown
  readonly #running: Promise<void>

  /**
   * Begins to publish the store's chain. `say` gets sentences for the operator. No call waits once `signal` is aborted.
   */
  constructor(
    plan: PublishPlan,
    { epoch, holder, tip }: Lease,
    store: ChainWriter,
    say: (text: string) => void,
    signal: AbortSignal,
  ) {
    this.#plan = plan
    this.#signal = signal
    this.#store = store
    this.#epoch = epoch
    this.#holder = holder
    this.#outage = new Outage(feedOutage, say)
    this.#sequence = tip.sequence
    this.#committed = store.head
    this.#planned = this.#endOf(tip)
    this.#publishedNumber = this.#planned.head?.number ?? 0
    store.beforeUnwind = () => {
      if (this.#isUnwinding) return
      this.#fill(this.#plan.feedAheadMax)
      this.#isUnwinding = true
    }
    signal.addEventListener('abort', () => this.#progress.resolve(), { once: true })
    this.#running = this.#run()
  }

  /** Aborted once there is another writer; then this one must stop. */
  get fenced(): AbortSignal {
    return this.#fenced.signal
  }

  /**
   * Call it after each commit of the store. Resolves once the store is no more than `feedAheadMax` blocks ahead of the
   * log, or the writer is fenced or stopped.
   */
  async committed(): Promise<void> {
    this.#committed = this.#store.head
    this.#isUnwinding = false
    this.#news.arrive()
    while (
      this.#blocksAhead > this.#plan.feedAheadMax &&
      !this.#fenced.signal.aborted &&
      !this.#signal.aborted
    ) {
      await this.#progress.promise
    }
    if (this.#failure !== undefined) throw this.#failure
  }

  /** Publishes the rest, if the database answers, and releases the lease. */
  async end(): Promise<void> {
    this.#ending.abort()
    this.#news.arrive()
    await this.#running
    this.#store.beforeUnwind = undefined
    if (this.#failure !== undefined) throw this.#failure
  }

  figures(): FeedFigures {
    const unplanned = Math.max(0, this.#committed.number - (this.#planned.head?.number ?? 0))
    return {
      isAnswering: !this.#outage.isOn,
      epoch: this.#epoch,
      hasLease: !this.#fenced.signal.aborted && !this.#hasEnded,
      sequence: this.#sequence,
      entriesBehind: this.#queue.length + unplanned,
      blocksBehind: this.#queue.filter(({ kind }) => kind === 'block').length + unplanned,
    }
  }

  get #blocksAhead(): number {
    return Math.max(this.#committed.number - this.#publishedNumber, this.#queue.length)
  }

  async #run(): Promise<void> {
    try {
      await keepConnected({
        connect: () => PostgresLog.connect(this.#plan, requireIdentity(this.#store), true),
        use: (log) => this.#writeTo(log),
        onLost: (error) => {
          if (!(error instanceof UnreachableError)) throw error
          this.#outage.begin(error.message)
        },
        retryMs,
        signal: this.#ending.signal,
      })
    } catch (error) {
      if (!(error instanceof FencedError)) this.#failure = error
      this.#fenced.abort()
      this.#progress.resolve()
    }
  }

  async #writeTo(log: PostgresLog): Promise<void> {
    await log.renew(this.#epoch, this.#holder, this.#plan.leaseMs)
    this.#goOnFrom(await log.readTip())
    this.#outage.end()
    await this.#publish(log)
    await log.release(this.#epoch)
    this.#hasEnded = true
  }

  /** Resolves when everything is published and no more will come. */
  async #publish(log: PostgresLog): Promise<void> {
    const renewMs = this.#plan.leaseMs / 3
    let renewed = performance.now()
    const unlisten = log.onNews(() => this.#news.arrive())
    try {
      for (let untrimmed = 0; ; ) {
        if (performance.now() - renewed > renewMs) {
          renewed = performance.now()
          await log.renew(this.#epoch, this.#holder, this.#plan.leaseMs)
        }
        this.#news.expect()
        this.#fill(batchEventsMax)
        const batch = firstOf(this.#queue)
        if (batch.length === 0) {
          if (this.#ending.signal.aborted) return
          await this.#news.wait(renewMs)
          continue
        }
        if (!(await this.#append(log, batch))) continue
        untrimmed += batch.length
        if (untrimmed >= trimEvery) {
          await log.trim(this.#epoch, this.#plan.retainBlocks)
          untrimmed = 0
        }
      }
    } finally {
      unlisten()
    }
  }

  /**
   * Resolves to whether the log took a batch. Otherwise the log has unknown entries, and publishing continues from its
   * end.
   */
  async #append(log: PostgresLog, batch: readonly FeedEvent[]): Promise<boolean> {
    try {
      await log.append(this.#epoch, this.#sequence, batch)
    } catch (error) {
      if (!(error instanceof MovedError)) throw error
      // A statement whose answer was lost with its connection was committed after the tip was read.
      this.#goOnFrom(await log.readTip())
      return false
    }
    this.#took(batch.length)
    return true
  }

  #took(count: number): void {
    for (const { kind, block } of this.#queue.splice(0, count)) {
      if (kind === 'block' || kind === 'unwind') this.#publishedNumber = block.number
    }
    this.#sequence += count
    this.#progress.resolve()
    this.#progress = defer()
  }

  /** After a new connection: the log may have the last events already, or be restored from an older copy. */
  #goOnFrom(tip: LogTip): void {
    const taken = tip.sequence - this.#sequence
    if (taken >= 0 && taken <= this.#queue.length) return this.#took(taken)
    this.#queue = []
    this.#sequence = tip.sequence
    this.#planned = this.#endOf(tip)
    this.#publishedNumber = this.#planned.head?.number ?? 0
  }

  /** Adds events that the log lacks of the committed chain to the queue, until it has `count` events. */
  #fill(count: number): void {
    while (this.#queue.length < count && !this.#isUnwinding) {
      const event = this.#next()
      if (event === undefined) return
      this.#queue.push(event)
      const kind = event.kind === 'safe' || event.kind === 'finalized' ? event.kind : 'head'
      this.#planned[kind] = event.block
    }
  }

  #next(): FeedEvent | undefined {
    const head = this.#planned.head as BlockName
    if (!this.#isCommitted(head)) return { kind: 'unwind', block: this.#forkBelow(head) }
    if (head.number < this.#committed.number) return this.#blockEvent(head.number + 1)
    for (const kind of ['safe', 'finalized'] as const) {
      const block = this.#store.readMarker(kind)
      if (block === undefined || !this.#isCommitted(block)) continue
      const known = this.#planned[kind]
      if (known === undefined || !equalBytes(known.hash, block.hash)) return { kind, block }
    }
    return undefined
  }

  #blockEvent(number: number): FeedEvent {
    const parts = readBlockDiffParts(this.#store, number)
    if (parts === undefined) {
      throw new OperatorError(
        `block ${number} cannot be published: this store no longer keeps it whole; publish from a store with all history, or begin a new log`,
      )
    }
    const { parentHash } = decodeHeader(parts.header)
    return {
      kind: 'block',
      block: { number, hash: parts.hash },
      parentHash,
      blockDiff: encodeBlockDiff(parts),
    }
  }

  /** The newest canonical block below `block`. */
  #forkBelow(block: BlockName): BlockName {
    let below = block
    while (!this.#isCommitted(below)) {
      const header = this.#store.readHeader(below.hash)
      if (header === undefined)
        throw new Error(`block ${below.number}, which the feed has, is not in the store`)
      below = { number: below.number - 1, hash: decodeHeader(header).parentHash }
    }
    return below
  }

  #isCommitted({ number, hash }: BlockName): boolean {
    return number <= this.#committed.number && this.#store.isCanonical(number, hash)
  }

  #endOf({ head, safe, finalized }: LogTip) {
    const number = firstNumberOf(requireIdentity(this.#store))
    const hash = this.#store.readCanonicalHash(number)
    if (hash === undefined) throw new Error('the store has no first block')
    return { head: head ?? { number, hash }, safe, finalized }
  }
}

/** The first events of the queue that fit in one statement. */
function firstOf(queue: readonly FeedEvent[]): readonly FeedEvent[] {
  let bytes = 0
  let count = 0
  for (const event of queue.slice(0, batchEventsMax)) {
    bytes += event.kind === 'block' ? event.blockDiff.length : 0
    if (count > 0 && bytes > batchBytesMax) break
    count++
  }
  return queue.slice(0, count)
}
