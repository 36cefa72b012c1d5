import type { StoreError } from '../../data/store/lmdb/environment.js'
import { notStored } from '../../data/store/lmdb/groupCommit.js'
import { isSettled, type SubmissionRow, type Submissions } from '../../data/store/node/submissions.js'
import type { Hex } from '../../primitives/bytes.js'
import { QueueSizes, recordsBeyond } from './queueSizes.js'
import { idText, laneText } from './submissionService.js'
import type {
  Lane,
  QueueCounts,
  Reads,
  SubmissionId,
  SubmissionStore,
  SubmissionTransaction,
} from './submissionStore.js'

/** The part of a waiting transaction in memory. */
type Waiting = Pick<SubmissionRow, 'hash' | 'key' | 'digest' | 'sender' | 'receivedAtMs'>

/** Submissions in the node store, written only by this process. Reads answer at once. */
export class LocalSubmissions implements SubmissionStore {
  readonly #tables: Submissions
  readonly #isStoring: () => boolean
  /** Why this process may not write. */
  readonly #refusal: StoreError | undefined
  /** Transactions in the order of arrival. */
  readonly #waiting = new Map<string, Waiting>()
  readonly #listeners = new Set<(row: SubmissionRow) => void>()
  /** Sizes of all rows, including those being written. */
  readonly #sizes: QueueSizes

  /** Continues with the transactions in the tables. With `refusal`, every write is refused. */
  constructor(tables: Submissions, isStoring: () => boolean, refusal?: StoreError) {
    this.#tables = tables
    this.#isStoring = isStoring
    this.#refusal = refusal
    this.#sizes = new QueueSizes()
    for (const row of tables.readUnsettled()) {
      this.#addWaiting(row)
      this.#sizes.count(row, 1)
    }
    for (const [key, settled] of tables.countSettled()) {
      this.#sizes.count({ key, state: 'ACCEPTED', bodyBytes: 0 }, settled)
    }
  }

  get isStoring(): boolean {
    return this.#refusal === undefined && this.#isStoring()
  }

  readRows(hash: Hex, key: string): SubmissionRow[] {
    return this.#tables.readRows(hash, key)
  }

  readBody(id: SubmissionId): Uint8Array | undefined {
    return this.#tables.readBody(id)
  }

  async write<T>(_reads: Reads, work: (transaction: SubmissionTransaction) => T): Promise<T> {
    if (this.#refusal !== undefined) throw notStored(this.#refusal)
    const changed: SubmissionRow[] = []
    const counted: [row: SubmissionRow, count: 1 | -1][] = []
    let result: T
    try {
      result = await this.#tables.write(() => work(this.#transaction(changed, counted)))
    } catch (error) {
      // The commit failed, so the counted rows are not stored.
      for (const [row, count] of counted) this.#sizes.count(row, -count)
      throw error
    }
    for (const row of changed) this.#publish(row)
    return result
  }

  onChange(listener: (row: SubmissionRow) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  readWaitingLanes(): Lane[] {
    const lanes = new Map<string, Lane>()
    for (const { key, sender } of this.#waiting.values()) {
      const name = laneText({ key, sender })
      if (!lanes.has(name)) lanes.set(name, { key, sender })
    }
    return [...lanes.values()]
  }

  readWaitingSince(timeMs: number, limit = Number.POSITIVE_INFINITY): SubmissionId[] {
    const found: SubmissionId[] = []
    for (const waiting of this.#waiting.values()) {
      if (waiting.receivedAtMs > timeMs || found.length >= limit) break
      found.push(waiting)
    }
    return found
  }

  async prune(beforeMs: number, settledMax: number, limit: number): Promise<number> {
    if (this.#refusal !== undefined) throw notStored(this.#refusal)
    const { settled } = this.#sizes.total
    if (settled <= settledMax && this.#tables.readSettledBefore(beforeMs, 1).length === 0) return 0
    const removed = await this.#tables.write(() => {
      let rows = this.#tables.readSettledBefore(beforeMs, limit)
      if (rows.length === 0) {
        const beyond = [...recordsBeyond(this.#sizes.settled, settledMax)]
        rows = beyond
          .flatMap(([key, count]) => this.#tables.readOldestRecords(key, Math.min(count, limit)))
          .slice(0, limit)
      }
      for (const row of rows) this.#tables.remove(row)
      return rows
    })
    for (const row of removed) this.#sizes.count(row, -1)
    return removed.length
  }

  counts(now: number): QueueCounts {
    const oldest = this.#waiting.values().next().value
    return {
      ...this.#sizes.total,
      oldestWaitingMs: oldest === undefined ? 0 : Math.max(0, now - oldest.receivedAtMs),
    }
  }

  /** Collects the changed rows, and their changes of the sizes. */
  #transaction(
    changed: SubmissionRow[],
    counted: [row: SubmissionRow, count: 1 | -1][],
  ): SubmissionTransaction {
    const tables = this.#tables
    const sizes = this.#sizes
    const count = (row: SubmissionRow, by: 1 | -1) => {
      sizes.count(row, by)
      counted.push([row, by])
    }
    return {
      get sizes() {
        return sizes.total
      },
      sizesOf: (key) => sizes.of(key),
      readOwn: (hash, key) => tables.readOwn(hash as Hex, key),
      readRow: (id) => tables.readRow(id),
      readAt: (place) => tables.readAt(place),
      readFirst: (lane) => tables.readFirst(lane),
      readBody: (id) => tables.readBody(id),
      put: (row, body) => {
        const before = tables.readRow(row)
        tables.put(row, body)
        if (before !== undefined) count(before, -1)
        count(row, 1)
        changed.push(row)
      },
      remove: (row) => {
        tables.remove(row)
        count(row, -1)
      },
    }
  }

  #addWaiting({ hash, key, digest, sender, receivedAtMs }: SubmissionRow): void {
    this.#waiting.set(idText({ hash, key, digest }), { hash, key, digest, sender, receivedAtMs })
  }

  #publish(row: SubmissionRow): void {
    const name = idText(row)
    if (isSettled(row.state)) this.#waiting.delete(name)
    else if (!this.#waiting.has(name)) this.#addWaiting(row)
    for (const listener of this.#listeners) listener(row)
  }
}
