/**
 * Submissions in PostgreSQL, for several processes. Owns group commit (one transaction takes all the work that came
 * while the last one was on its way), and learning what other processes changed.
 *
 * A notification is a hint; the truth is the version of the queue, which each writing transaction raises by one and
 * gives to the rows that it changes.
 */
import type { Connection } from '../../data/postgres/connection.js'
import type { SubmissionRow } from '../../data/store/submissions.js'
import { type Deferred, defer } from '../../primitives/deferred.js'
import type { Felt } from './felt.js'
import { notStored, type QueueSizes, type SharedDatabase, toSizes } from './sharedDatabase.js'
import { LaterGroup, rowOf, SharedRows, toBuffer } from './sharedRows.js'
import { isSettledRow, isWaiting, rowColumns } from './sharedSchema.js'
import {
  FencedError,
  type QueueCounts,
  type Reads,
  type SubmissionStore,
  type SubmissionTransaction,
  type SubmissionWriter,
} from './submissionStore.js'

interface Item {
  readonly reads: Reads
  readonly work: (transaction: SubmissionTransaction) => unknown
  /** Refused once there is a newer one. */
  readonly epoch: number | undefined
  readonly outcome: Deferred<unknown>
}

/** Place of a changed row among all changes. */
interface Change {
  readonly version: number
  readonly hash: Uint8Array
}

/** Most pieces of work in one transaction. */
const groupMax = 256
/** Most changed rows in one statement, some 300 bytes each. */
const changesMax = 1_000
/** The order of rows of one version is that of their hashes, and this is after all. */
const lastHash = Buffer.alloc(32, 0xff)

export class SharedSubmissions implements SubmissionStore {
  readonly #database: SharedDatabase
  readonly #listeners = new Set<(row: SubmissionRow) => void>()
  #waiting: Item[] = []
  #isCommitting = false
  /** The last change that listeners were told. */
  #told: Change | undefined
  #sizes: QueueSizes = { version: 0, waiting: 0, waitingBytes: 0, settled: 0 }
  #oldestReceivedAtMs: number | undefined
  #epoch = 0

  private constructor(database: SharedDatabase) {
    this.#database = database
  }

  /** Tells listeners of all changes from here on. */
  static async open(database: SharedDatabase): Promise<SharedSubmissions> {
    const store = new SharedSubmissions(database)
    // Before anything else can look. Where the database does not answer, it is looked at once it does.
    if (database.isAnswering) await store.#look().catch(() => undefined)
    database.onNews = () => store.#look()
    return store
  }

  get isStoring(): boolean {
    return this.#database.isAnswering
  }

  /** Of the newest process that may send; 0 before there is one. Up to a second old. */
  get epoch(): number {
    return this.#epoch
  }

  async readRow(hash: Felt): Promise<SubmissionRow | undefined> {
    const [row] = await this.#database.read(`select ${rowColumns} from submission where hash = $1`, [
      toBuffer(hash),
    ])
    return row && rowOf(row)
  }

  async readBody(hash: Felt): Promise<Uint8Array | undefined> {
    const [row] = await this.#database.read('select body from submission where hash = $1', [toBuffer(hash)])
    return row && Buffer.from(row.body)
  }

  write<T>(reads: Reads, work: (transaction: SubmissionTransaction) => T): Promise<T> {
    return this.#add(reads, work, undefined)
  }

  /**
   * Writes of the holder of a lease: rejected with {@link FencedError} once there is a newer epoch, and where `isHeld`
   * says after the commit that the lease is over, so that nothing is sent that another process sends as well.
   */
  fencedBy(epoch: number, isHeld: () => boolean): SubmissionWriter {
    return {
      write: async (reads, work) => {
        const result = await this.#add(reads, work, epoch)
        if (!isHeld()) throw new FencedError(epoch)
        return result
      },
    }
  }

  onChange(listener: (row: SubmissionRow) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  async readWaitingSenders(): Promise<Set<Felt>> {
    const rows = await this.#database.read(
      `select ${rowColumns} from submission where ${isWaiting} order by received_at_ms`,
    )
    return new Set(rows.map((row) => rowOf(row).sender as Felt))
  }

  async readWaitingSince(timeMs: number, limit?: number): Promise<Felt[]> {
    const rows = await this.#database.read(
      `select ${rowColumns} from submission where ${isWaiting} and received_at_ms <= $1
      order by received_at_ms limit $2`,
      [timeMs, limit ?? null],
    )
    return rows.map((row) => rowOf(row).hash as Felt)
  }

  async prune(beforeMs: number, settledMax: number, limit: number): Promise<number> {
    const [look] = await this.#database.read(
      `select settled > $2 or exists (select from submission where ${isSettledRow} and changed_at_ms < $1) as is_due
      from queue`,
      [beforeMs, settledMax],
    )
    if (look?.is_due !== true) return 0
    const { removed, left } = await this.#database.transaction(async (writes, sizes) => {
      const { settled, version } = sizes
      const gone = await writes.query(
        `delete from submission where hash in (
          select hash from submission where ${isSettledRow} order by changed_at_ms limit greatest($2::bigint, (
            select count(*) from (
              select from submission where ${isSettledRow} and changed_at_ms < $1 limit $3
            ) as old
          ))
        ) returning 1 as one`,
        [beforeMs, Math.min(limit, Math.max(0, settled - settledMax)), limit],
      )
      const left = { ...sizes, settled: settled - gone.length, version: version + 1 }
      await writes.query('update queue set settled = $1, version = $2', [left.settled, left.version])
      return { removed: gone.length, left }
    })
    this.#sizes = left
    return removed
  }

  counts(now: number): QueueCounts {
    const { waiting, waitingBytes, settled } = this.#sizes
    const sinceMs = waiting === 0 ? undefined : this.#oldestReceivedAtMs
    return {
      waiting,
      waitingBytes,
      settled,
      oldestWaitingMs: sinceMs === undefined ? 0 : Math.max(0, now - sinceMs),
    }
  }

  #add<T>(
    reads: Reads,
    work: (transaction: SubmissionTransaction) => T,
    epoch: number | undefined,
  ): Promise<T> {
    if (!this.#database.isAnswering) return Promise.reject(notStored('the database does not answer'))
    const outcome = defer<unknown>()
    this.#waiting.push({ reads, work, epoch, outcome })
    if (!this.#isCommitting) {
      this.#isCommitting = true
      void this.#commitAll()
    }
    return outcome.promise as Promise<T>
  }

  async #commitAll(): Promise<void> {
    // Work that arrives in the same turn of the event loop joins the first group.
    await Promise.resolve()
    while (this.#waiting.length > 0) {
      let group: Item[] = []
      try {
        const settle = await this.#database.transaction((writes, sizes) => {
          group = this.#waiting.splice(0, groupMax)
          return this.#runGroup(group, writes, sizes)
        })
        settle()
      } catch (error) {
        // The connection is lost, and whoever waits for it with it. Only what was in the transaction may be stored.
        for (const { outcome } of group) outcome.reject(error as Error)
        for (const { outcome } of this.#waiting.splice(0)) outcome.reject(notStored((error as Error).message))
      }
    }
    this.#isCommitting = false
  }

  /** Resolves to a function that tells those who wait, to be called once all is committed. */
  async #runGroup(
    group: readonly Item[],
    writes: Connection,
    { version, ...sizes }: QueueSizes,
  ): Promise<() => void> {
    this.#told ??= { version, hash: lastHash }
    const rows = new SharedRows({ version, ...sizes })
    const [, [lease]] = await Promise.all([
      rows.load(
        writes,
        group.map(({ reads }) => reads),
      ),
      group.some(({ epoch }) => epoch !== undefined) ? writes.query('select epoch from lease') : [],
    ])
    const settlers: (() => void)[] = []
    const later: Item[] = []
    for (const item of group) {
      const { work, epoch, outcome } = item
      try {
        if (epoch !== undefined && epoch !== Number(lease?.epoch)) throw new FencedError(epoch)
        const value = work(rows)
        settlers.push(() => outcome.resolve(value))
      } catch (error) {
        if (error instanceof LaterGroup) later.push(item)
        else settlers.push(() => outcome.reject(error as Error))
      }
    }
    this.#waiting = [...later, ...this.#waiting]
    const { waiting, waitingBytes, settled } = rows
    const changed = { version: version + 1, waiting, waitingBytes, settled }
    if (rows.isChanged) {
      await Promise.all([
        rows.save(writes, changed.version),
        writes.query(
          'update queue set version = $1, waiting = $2, waiting_bytes = $3, settled = $4 returning pg_notify($5, $6)',
          [changed.version, waiting, waitingBytes, settled, this.#database.channel, ''],
        ),
      ])
    }
    return () => {
      if (rows.isChanged) this.#sizes = changed
      for (const settle of settlers) settle()
    }
  }

  /** Reads the sizes, and tells what changed. */
  async #look(): Promise<void> {
    const before = this.#sizes
    const [queue] = await this.#database.read(
      `select version, waiting, waiting_bytes, settled,
        (select min(received_at_ms) from submission where ${isWaiting}) as oldest,
        (select epoch from lease) as epoch from queue`,
    )
    const sizes = toSizes(queue)
    // A transaction of this process may have been committed since they were read.
    if (this.#sizes === before || sizes.version > this.#sizes.version) this.#sizes = sizes
    this.#oldestReceivedAtMs = queue?.oldest === null ? undefined : Number(queue?.oldest)
    this.#epoch = Number(queue?.epoch)
    const { version } = sizes
    // At the start nobody waits for what was before; a smaller version is that of a database that was set back.
    if (this.#told === undefined || this.#told.version > version) this.#told = { version, hash: lastHash }
    while (this.#told.version < version || this.#told.hash !== lastHash) {
      this.#told = await this.#tellAfter(this.#told, version)
    }
  }

  async #tellAfter({ version, hash }: Change, upTo: number): Promise<Change> {
    const rows = await this.#database.read(
      `select ${rowColumns} from submission where (version, hash) > ($1, $2) order by version, hash limit ${changesMax}`,
      [version, hash],
    )
    for (const row of rows.map(rowOf)) {
      for (const listener of this.#listeners) listener(row)
    }
    const last = rows.at(-1)
    if (rows.length === changesMax) return { version: Number(last?.version), hash: last?.hash }
    // Versions without a row: their rows were changed again, or removed.
    return { version: Math.max(Number(last?.version ?? 0), upTo), hash: lastHash }
  }
}
