/**
 * Keeps a store equal to a feed. Owns the store's position in the feed, waiting for news, and reconnecting; replica.ts
 * applies entries.
 */

import { basename, dirname } from 'node:path'
import type { ForkSchedule } from '../../../data/chain/forks.js'
import { keepConnected, News, Outage } from '../../../data/postgres/changeFeed.js'
import { UnreachableError } from '../../../data/postgres/connection.js'
import { firstNumberOf, requireIdentity } from '../../../data/store/chainRows.js'
import type { ChainWriter } from '../../../data/store/chainWriter.js'
import { OperatorError } from '../../../primitives/faults.js'
import { type FeedEntry, type FeedFigures, type LogTip, TrimmedError } from '../../feed/blockDiffLog.js'
import { feedOutage, PostgresLog } from '../../feed/postgresLog.js'
import { completedGenesis } from '../follow/nodeGenesis.js'
import type { FeedPlan, FeedTask, IngestMessage, IngestProgress } from '../thread/messages.js'
import { publishFigures } from '../thread/publishFigures.js'
import { noProgress, type Report, type SourceHost } from '../thread/runSource.js'
import { openTaskStore } from '../thread/taskStore.js'
import { Replica } from './replica.js'

/** Longest time between two reads of the feed, in case a notification is lost. */
const pollMs = 1_000
/** Wait before the next attempt to connect. */
const retryMs = 200
/** With more entries than this at once, the network counts as syncing. */
const liveEntriesMax = 16
/** While there are always more entries to apply, time between two reads of the feed's end. */
const tipMs = 1_000
/** Newest own blocks that are searched in the feed: no reorganisation of a source is longer. */
const ownBlocksMax = 8_192

/**
 * Follows until the signal is aborted. Rejects with OperatorError for an entry that fails its check, and if the feed
 * does not continue from the store.
 */
export async function followFeed(task: FeedTask, host: SourceHost): Promise<void> {
  const { report, signal } = host
  const opened = await openTaskStore(
    task,
    async (genesis, _text, store) => genesis && completedGenesis(genesis, store),
  )
  await withFollower(opened, task.feed, host, async (follower) => {
    await follower.run(false)
    report({ type: 'finished', progress: follower.progress(), stopped: signal.aborted })
  })
}

/** Runs `work` with a follower of the feed, and closes the store. */
export async function withFollower<T>(
  { store, schedule }: Awaited<ReturnType<typeof openTaskStore>>,
  plan: FeedPlan,
  { report, signal }: SourceHost,
  work: (follower: FeedFollower) => Promise<T>,
): Promise<T> {
  let endFigures = () => {}
  try {
    report({ type: 'opened' })
    const follower = new FeedFollower(plan, store, schedule, report, signal)
    endFigures = publishFigures((message) => report(withFeedFigures(message, follower)), { store })
    return await work(follower)
  } finally {
    endFigures()
    await store.close()
  }
}

/** Called when there is nothing new; true ends the follower. */
type OnIdle = (log: PostgresLog, position: number) => Promise<boolean>

export class FeedFollower {
  readonly #plan: FeedPlan
  readonly #store: ChainWriter
  readonly #replica: Replica
  readonly #report: Report
  readonly #signal: AbortSignal
  readonly #start = performance.now()
  #applied = 0
  /** Number of the last applied entry. */
  #position = 0
  #tip: LogTip | undefined
  #tipRead = 0
  #isAnswering = false
  readonly #news = new News()
  #stateReported = ''
  readonly #outage: Outage

  constructor(
    plan: FeedPlan,
    store: ChainWriter,
    schedule: ForkSchedule,
    report: Report,
    signal: AbortSignal,
  ) {
    this.#plan = plan
    this.#store = store
    this.#replica = new Replica(store, schedule, plan.sendersChecked)
    this.#report = report
    this.#outage = new Outage(feedOutage, (text) => report({ type: 'said', text }))
    this.#signal = signal
  }

  /** Runs until `onIdle` resolves to true or the signal is aborted. A writer makes the feed if there is none. */
  async run(isWriter: boolean, onIdle?: OnIdle): Promise<void> {
    const identity = requireIdentity(this.#store)
    const wake = () => this.#news.arrive()
    this.#signal.addEventListener('abort', wake)
    try {
      await keepConnected({
        connect: () => PostgresLog.connect(this.#plan, identity, isWriter),
        use: (log) => this.#follow(log, onIdle),
        onLost: (error) => {
          if (error instanceof TrimmedError) throw this.#trimmed()
          if (!(error instanceof UnreachableError)) throw error
          this.#isAnswering = false
          this.#outage.begin(error.message)
          this.#reportState(undefined)
        },
        retryMs,
        signal: this.#signal,
      })
    } finally {
      this.#signal.removeEventListener('abort', wake)
    }
  }

  progress(): IngestProgress {
    const number = this.#store.readHead()?.number ?? 0
    const elapsedMs = performance.now() - this.#start
    return { ...noProgress, number, executed: this.#applied, elapsedMs }
  }

  figures(): FeedFigures {
    const { epoch = 0, sequence = 0, head } = this.#tip ?? {}
    return {
      isAnswering: this.#isAnswering,
      epoch,
      hasLease: false,
      sequence: this.#position,
      entriesBehind: Math.max(0, sequence - this.#position),
      blocksBehind: Math.max(0, (head?.number ?? 0) - (this.#store.readHead()?.number ?? 0)),
    }
  }

  /** Resolves once `onIdle` ends it, or the signal is aborted. */
  async #follow(log: PostgresLog, onIdle: OnIdle | undefined): Promise<void> {
    log.onNews(() => this.#news.arrive())
    this.#position = await this.#findPosition(log)
    let coming: Promise<readonly FeedEntry[]> | undefined
    let flushed: Promise<void> | undefined
    // The safe and finalized blocks of earlier entries may be unknown to the store.
    let hasMarkers = false
    while (!this.#signal.aborted) {
      this.#news.expect()
      const entries = await (coming ?? log.read(this.#position))
      coming = undefined
      const last = entries.at(-1)
      if (last === undefined) {
        // Reports about the last entries come before those about the end of the feed.
        await flushed
        const tip = await this.#readTip(log)
        // More entries may have come meanwhile.
        if (tip.sequence > this.#position) continue
        if (tip.sequence < this.#position) {
          // The database was restored to an older state.
          this.#position = await this.#findPosition(log)
          hasMarkers = false
          continue
        }
        const haveMarkersMoved = !hasMarkers && (await this.#replica.storeMarkers(tip))
        hasMarkers = true
        this.#outage.end()
        const isNews = this.#reportState(tip.head?.number) || haveMarkersMoved
        // A process that becomes the writer must read its own source instead.
        if (await onIdle?.(log, this.#position)) return
        if (isNews) this.#report({ type: 'head' })
        await this.#news.wait(Math.min(pollMs, onIdle === undefined ? pollMs : Math.max(tip.leaseMsLeft, 10)))
        continue
      }
      if (entries.length > liveEntriesMax) {
        coming = log.read(last.sequence)
        // An error of the block is thrown when it is awaited.
        coming.catch(() => undefined)
      }
      await this.#replica.apply(entries, this.#signal)
      this.#position = last.sequence
      this.#applied += entries.length
      flushed = this.#reportFlushed(entries.length > liveEntriesMax)
      if (coming === undefined) await flushed
      // An error of the commit is thrown at the end of the feed, or at the next call of apply.
      else flushed.catch(() => undefined)
      if (performance.now() - this.#tipRead > tipMs) await this.#readTip(log)
    }
    await flushed
  }

  /** Settles when the applied entries are on disk and reported. */
  async #reportFlushed(isBehind: boolean): Promise<void> {
    const progress = this.progress()
    await this.#replica.flushed()
    this.#report(isBehind ? { type: 'progress', progress } : { type: 'head' })
  }

  async #readTip(log: PostgresLog): Promise<LogTip> {
    this.#tipRead = performance.now()
    this.#tip = await log.readTip()
    this.#isAnswering = true
    return this.#tip
  }

  async #findPosition(log: PostgresLog): Promise<number> {
    const { sequence } = await this.#readTip(log)
    if (sequence === 0) return 0
    const head = this.#store.readHead()?.number ?? 0
    const identity = this.#store.readIdentity()
    const first = identity === undefined ? 0 : firstNumberOf(identity)
    const hashes: Uint8Array[] = []
    for (let number = head; number >= first && hashes.length < ownBlocksMax; number--) {
      hashes.push(this.#store.readCanonicalHash(number) as Uint8Array)
    }
    const position = await log.findPosition(hashes)
    if (position === undefined) throw this.#trimmed()
    return position
  }

  /** The feed no longer has the blocks after those of the store. */
  #trimmed(): OperatorError {
    // DATA/networks/NAME/chain.mdb
    const folder = dirname(this.#store.path)
    const network = basename(folder)
    const dataDir = dirname(dirname(folder))
    return new OperatorError(
      `the feed does not continue from this store, which ends with block ${this.#store.readHead()?.number}: the writer ` +
        'keeps only its newest blocks there (retainBlocks). Begin with a copy of the store of another process on this ' +
        `feed: there run "tidegate snapshot --network ${network} FOLDER" (with its --config or --data), and bring FOLDER ` +
        `here; then stop this process, run "rm -r ${folder}" and "tidegate restore FOLDER --data ${dataDir}", and start ` +
        'it again',
    )
  }

  /** Reports the state of the feed if it changed. Returns whether it did. */
  #reportState(head: number | undefined): boolean {
    const isAnswering = !this.#outage.isOn
    const node = { name: 'feed', isAnswering, isQuarantined: false, head, lies: [] }
    const state = { head, isDown: !isAnswering, nodes: [node] }
    const reported = JSON.stringify(state)
    if (reported === this.#stateReported) return false
    this.#stateReported = reported
    this.#report({ type: 'upstream', state })
    return true
  }
}

/** The message; if it has figures of a source, the position in the feed is added. */
export function withFeedFigures(message: IngestMessage, feed: { figures(): FeedFigures }): IngestMessage {
  if (message.type !== 'figures') return message
  return { type: 'figures', figures: { ...message.figures, feed: feed.figures() } }
}
