/**
 * Submissions in PostgreSQL, for several processes. Owns group commit (one transaction takes all the work that came
 * during the last one), and finding the changes of other processes.
 *
 * A notification is a hint. The truth is the version of the queue: each writing transaction increments it and stores it
 * in the rows that it changes.
 */
import type { QueryResultRow } from 'pg'
import type { Connection } from '../../data/postgres/connection.js'
import { FencedError } from '../../data/postgres/lease.js'
import { othersMax, type SubmissionRow } from '../../data/store/node/submissions.js'
import type { Hex } from '../../primitives/bytes.js'
import { type Deferred, defer } from '../../primitives/deferred.js'
import { recordsBeyond } from './queueSizes.js'
import { notStored, type QueueRow, type SharedDatabase, toQueueRow } from './sharedDatabase.js'
import { fromHex, LaterGroup, rowOf, SharedRows, sizesOf, toBuffer } from './sharedRows.js'
import { isSettledRow, isWaiting, rowColumns } from './sharedSchema.js'
import {
  type Lane,
  type QueueCounts,
  type Reads,
  type SubmissionId,
  type SubmissionStore,
  type SubmissionTransaction,
  type SubmissionWriter,
  sendingRole,
} from './submissionStore.js'

interface Item {
  readonly reads: Reads
  readonly work: (transaction: SubmissionTransaction) => unknown
  /** Refused if there is a newer epoch. */
  readonly epoch: number | undefined
  readonly outcome: Deferred<unknown>
}

/** Place of a changed row among all changes. */
interface Change {
  readonly version: number
  readonly id: readonly [hash: Uint8Array, key: Uint8Array, digest: Uint8Array]
}

/** Most pieces of work in one transaction. */
const groupMax = 256
/** Most changed rows in one statement, some 300 bytes each. */
const changesMax = 1_000
/** Rows of one version are ordered by id; this value is after all of them. */
const lastId: Change['id'] = [Buffer.alloc(32, 0xff), Buffer.alloc(0), Buffer.alloc(0)]

export class SharedSubmissions implements SubmissionStore {
  readonly #database: SharedDatabase
  readonly #listeners = new Set<(row: SubmissionRow) => void>()
  #waiting: Item[] = []
  #isCommitting = false
  /** The last change that listeners received. */
  #reported: Change | undefined
  #sizes: QueueRow = { version: 0, waiting: 0, waitingBytes: 0, settled: 0 }
  #oldestReceivedAtMs: number | undefined
  #epoch = 0

  private constructor(database: SharedDatabase) {
    this.#database = database
  }

  /** Passes all changes to listeners from now on. */
  static async open(database: SharedDatabase): Promise<SharedSubmissions> {
    const store = new SharedSubmissions(database)
    // Before any other read. If the database does not answer, this happens once it does.
    if (database.isAnswering) await store.#look().catch(() => undefined)
    database.onNews = () => store.#look()
    return store
  }

  get isStoring(): boolean {
    return this.#database.isAnswering
  }

  /** Epoch of the newest process that may send; 0 before the first. Up to a second old. */
  get epoch(): number {
    return this.#epoch
  }

  async readRows(hash: Hex, key: string): Promise<SubmissionRow[]> {
    const rows = await this.#database.read(
      `select ${rowColumns} from submission where hash = $1
      order by (key = $2) desc, key, digest limit ${othersMax}`,
      [toBuffer(hash), fromHex(key)],
    )
    const all = rows.map(rowOf)
    const own = all.filter((row) => row.key === key)
    return own.length > 0 ? own : all
  }

  async readBody({ hash, key, digest }: SubmissionId): Promise<Uint8Array | undefined> {
    const [row] = await this.#database.read(
      'select body from submission where (hash, key, digest) = ($1, $2, $3)',
      [toBuffer(hash), fromHex(key), fromHex(digest)],
    )
    return row && Buffer.from(row.body)
  }

  write<T>(reads: Reads, work: (transaction: SubmissionTransaction) => T): Promise<T> {
    return this.#add(reads, work, undefined)
  }

  /**
   * Writes for the holder of a lease. They are rejected with {@link FencedError} if there is a newer epoch, or if
   * `hasLease` returns false after the commit. So nothing is sent that another process sends as well.
   */
  fencedBy(epoch: number, hasLease: () => boolean): SubmissionWriter {
    return {
      write: async (reads, work) => {
        const result = await this.#add(reads, work, epoch)
        if (!hasLease()) throw new FencedError(sendingRole, epoch)
        return result
      },
    }
  }

  onChange(listener: (row: SubmissionRow) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  async readWaitingLanes(): Promise<Lane[]> {
    const rows = await this.#database.read(
      `select ${rowColumns} from (
        select distinct on (key, sender) * from submission where ${isWaiting} order by key, sender, received_at_ms
      ) as oldest order by received_at_ms`,
    )
    return rows.map(rowOf).map(({ key, sender }) => ({ key, sender }))
  }

  async readWaitingSince(timeMs: number, limit?: number): Promise<SubmissionId[]> {
    const rows = await this.#database.read(
      `select ${rowColumns} from submission where ${isWaiting} and received_at_ms <= $1
      order by received_at_ms limit $2`,
      [timeMs, limit ?? null],
    )
    return rows.map(rowOf)
  }

  async prune(beforeMs: number, settledMax: number, limit: number): Promise<number> {
    const old = `select from submission where ${isSettledRow} and changed_at_ms < $1`
    const [look] = await this.#database.read(`select records > $2 or exists (${old}) as is_due from queue`, [
      beforeMs,
      settledMax,
    ])
    if (look?.is_due !== true) return 0
    const { removed, left } = await this.#database.transaction(async (writes, queue) => {
      let gone = await writes.query(
        `delete from submission where (hash, key, digest) in (
          select hash, key, digest from submission where ${isSettledRow} and changed_at_ms < $1
          order by changed_at_ms limit $2
        ) returning key`,
        [beforeMs, limit],
      )
      if (gone.length === 0) gone = await removeBeyond(writes, settledMax, limit)
      await writes.query(
        `update key_size set settled = settled - gone.count from (
          select key, count(*) as count from unnest($1::bytea[]) as gone (key) group by key
        ) as gone where key_size.key = gone.key`,
        [gone.map(({ key }) => key)],
      )
      await writes.query('delete from key_size where waiting = 0 and settled = 0')
      const left = { ...queue, settled: queue.settled - gone.length, version: queue.version + 1 }
      await writes.query('update queue set records = $1, version = $2', [left.settled, left.version])
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
        // The connection is lost, and all waiting work fails with it. Only work of this transaction may be stored.
        for (const { outcome } of group) outcome.reject(error as Error)
        for (const { outcome } of this.#waiting.splice(0)) outcome.reject(notStored((error as Error).message))
      }
    }
    this.#isCommitting = false
  }

  /** Resolves to a function that settles the callers, to be called after the commit. */
  async #runGroup(
    group: readonly Item[],
    writes: Connection,
    { version, ...sizes }: QueueRow,
  ): Promise<() => void> {
    this.#reported ??= { version, id: lastId }
    const rows = new SharedRows(sizes)
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
        if (epoch !== undefined && epoch !== Number(lease?.epoch)) throw new FencedError(sendingRole, epoch)
        const value = work(rows)
        settlers.push(() => outcome.resolve(value))
      } catch (error) {
        if (error instanceof LaterGroup) later.push(item)
        else settlers.push(() => outcome.reject(error as Error))
      }
    }
    this.#waiting = [...later, ...this.#waiting]
    const { waiting, waitingBytes, settled } = rows.sizes
    const changed = { version: version + 1, waiting, waitingBytes, settled }
    if (rows.isChanged) {
      await Promise.all([
        rows.save(writes, changed.version),
        writes.query(
          'update queue set version = $1, waiting = $2, waiting_bytes = $3, records = $4 returning pg_notify($5, $6)',
          [changed.version, waiting, waitingBytes, settled, this.#database.channel, ''],
        ),
      ])
    }
    return () => {
      if (rows.isChanged) this.#sizes = changed
      for (const settle of settlers) settle()
    }
  }

  /** Reads the sizes, and passes changes to listeners. */
  async #look(): Promise<void> {
    const before = this.#sizes
    const [queue] = await this.#database.read(
      `select version, waiting, waiting_bytes, records,
        (select min(received_at_ms) from submission where ${isWaiting}) as oldest,
        (select epoch from lease) as epoch from queue`,
    )
    const sizes = toQueueRow(queue)
    // A transaction of this process may have been committed after this read.
    if (this.#sizes === before || sizes.version > this.#sizes.version) this.#sizes = sizes
    this.#oldestReceivedAtMs = queue?.oldest === null ? undefined : Number(queue?.oldest)
    this.#epoch = Number(queue?.epoch)
    const { version } = sizes
    // At the start no listener waits for earlier changes. A smaller version means a database restored from a backup.
    if (this.#reported === undefined || this.#reported.version > version)
      this.#reported = { version, id: lastId }
    while (this.#reported.version < version || this.#reported.id !== lastId) {
      this.#reported = await this.#reportAfter(this.#reported, version)
    }
  }

  async #reportAfter({ version, id }: Change, upTo: number): Promise<Change> {
    const rows = await this.#database.read(
      `select ${rowColumns} from submission where (version, hash, key, digest) > ($1, $2, $3, $4)
      order by version, hash, key, digest limit ${changesMax}`,
      [version, ...id],
    )
    for (const row of rows.map(rowOf)) {
      for (const listener of this.#listeners) listener(row)
    }
    const last = rows.at(-1)
    if (rows.length === changesMax && last !== undefined) {
      return { version: Number(last.version), id: [last.hash, last.key, last.digest] }
    }
    // Versions without a row: their rows were changed again, or removed.
    return { version: Math.max(Number(last?.version ?? 0), upTo), id: lastId }
  }
}

/**
 * Removes records of the keys that have the most, until `settledMax` are left. Returns the keys of the removed ones.
 */
async function removeBeyond(
  writes: Connection,
  settledMax: number,
  limit: number,
): Promise<QueryResultRow[]> {
  const settled = (await writes.query('select * from key_size where settled > 0')).map(sizesOf)
  const beyond = recordsBeyond(new Map(settled.map(([key, sizes]) => [key, sizes.settled])), settledMax)
  return writes.query(
    `delete from submission where (hash, key, digest) in (
      select hash, key, digest from unnest($1::bytea[], $2::bigint[]) as wanted (of_key, count), lateral (
        select hash, key, digest from submission where key = of_key and ${isSettledRow}
        order by changed_at_ms limit wanted.count
      ) as oldest limit $3
    ) returning key`,
    [[...beyond.keys()].map(fromHex), [...beyond.values()], limit],
  )
}
