import type { StoreError } from '../../data/store/environment.js'
import { notStored } from '../../data/store/groupCommit.js'
import { isSettled, type SubmissionRow, type Submissions } from '../../data/store/submissions.js'
import type { Felt } from './felt.js'
import type { QueueCounts, Reads, SubmissionStore, SubmissionTransaction } from './submissionStore.js'

/** The part of a waiting transaction that is kept in memory. */
interface Waiting {
  readonly sender: Felt
  readonly receivedAtMs: number
}

interface Sizes {
  waiting: number
  waitingBytes: number
  settled: number
}

/** Submissions in the node store, written by this process alone. Reads answer at once. */
export class LocalSubmissions implements SubmissionStore {
  readonly #tables: Submissions
  readonly #isStoring: () => boolean
  /** Why this process may not write. */
  readonly #refusal: StoreError | undefined
  /** In the order of arrival. */
  readonly #waiting = new Map<Felt, Waiting>()
  readonly #listeners = new Set<(row: SubmissionRow) => void>()
  /** Of all rows, those included that are being written. */
  readonly #sizes: Sizes

  /** Continues with the transactions in the tables. With `refusal` everything that would be written is refused. */
  constructor(tables: Submissions, isStoring: () => boolean, refusal?: StoreError) {
    this.#tables = tables
    this.#isStoring = isStoring
    this.#refusal = refusal
    const rows = tables.readUnsettled()
    for (const row of rows) this.#addWaiting(row)
    const waitingBytes = rows.reduce((sum, { bodyBytes }) => sum + bodyBytes, 0)
    this.#sizes = { waiting: rows.length, waitingBytes, settled: tables.countSettled() }
  }

  get isStoring(): boolean {
    return this.#refusal === undefined && this.#isStoring()
  }

  readRow(hash: Felt): SubmissionRow | undefined {
    return this.#tables.readRow(hash)
  }

  readBody(hash: Felt): Uint8Array | undefined {
    return this.#tables.readBody(hash)
  }

  async write<T>(_reads: Reads, work: (transaction: SubmissionTransaction) => T): Promise<T> {
    if (this.#refusal !== undefined) throw notStored(this.#refusal)
    const changed: SubmissionRow[] = []
    const added: Sizes = { waiting: 0, waitingBytes: 0, settled: 0 }
    let result: T
    try {
      result = await this.#tables.write(() => work(this.#transaction(changed, added)))
    } catch (error) {
      // The commit failed, so what was counted is not stored.
      addSizes(this.#sizes, added, -1)
      throw error
    }
    for (const row of changed) this.#publish(row)
    return result
  }

  onChange(listener: (row: SubmissionRow) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  readWaitingSenders(): Set<Felt> {
    return new Set([...this.#waiting.values()].map(({ sender }) => sender))
  }

  readWaitingSince(timeMs: number, limit = Number.POSITIVE_INFINITY): Felt[] {
    const found: Felt[] = []
    for (const [hash, { receivedAtMs }] of this.#waiting) {
      if (receivedAtMs > timeMs || found.length >= limit) break
      found.push(hash)
    }
    return found
  }

  async prune(beforeMs: number, settledMax: number, limit: number): Promise<number> {
    if (this.#refusal !== undefined) throw notStored(this.#refusal)
    const removed = await this.#tables.write(() => {
      let hashes = this.#tables.readSettledBefore(beforeMs, limit)
      const beyond = Math.min(this.#sizes.settled - settledMax, limit)
      if (beyond > hashes.length) {
        hashes = this.#tables.readSettledBefore(Number.MAX_SAFE_INTEGER, beyond)
      }
      for (const hash of hashes) this.#tables.remove(hash)
      return hashes.length
    })
    this.#sizes.settled -= removed
    return removed
  }

  counts(now: number): QueueCounts {
    const oldest = this.#waiting.values().next().value
    return {
      ...this.#sizes,
      oldestWaitingMs: oldest === undefined ? 0 : Math.max(0, now - oldest.receivedAtMs),
    }
  }

  /** Collects the rows that change, and what they add to the sizes. */
  #transaction(changed: SubmissionRow[], added: Sizes): SubmissionTransaction {
    const tables = this.#tables
    const sizes = this.#sizes
    const count = (row: SubmissionRow, sign: 1 | -1) => {
      for (const sum of [sizes, added]) addSizes(sum, sizesOf(row), sign)
    }
    return {
      get waiting() {
        return sizes.waiting
      },
      get waitingBytes() {
        return sizes.waitingBytes
      },
      readRow: (hash) => tables.readRow(hash),
      readBody: (hash) => tables.readBody(hash),
      readHash: ({ sender, nonce }) => tables.readHash(sender, nonce) as Felt | undefined,
      readFirstHash: (sender) => tables.readFirstHash(sender) as Felt | undefined,
      put: (row, body) => {
        const before = tables.readRow(row.hash)
        tables.put(row, body)
        if (before !== undefined) count(before, -1)
        count(row, 1)
        changed.push(row)
      },
    }
  }

  #addWaiting({ hash, sender, receivedAtMs }: SubmissionRow): void {
    this.#waiting.set(hash as Felt, { sender: sender as Felt, receivedAtMs })
  }

  #publish(row: SubmissionRow): void {
    const hash = row.hash as Felt
    if (isSettled(row.state)) this.#waiting.delete(hash)
    else if (!this.#waiting.has(hash)) this.#addWaiting(row)
    for (const listener of this.#listeners) listener(row)
  }
}

function sizesOf({ state, bodyBytes }: SubmissionRow): Sizes {
  return isSettled(state)
    ? { waiting: 0, waitingBytes: 0, settled: 1 }
    : { waiting: 1, waitingBytes: bodyBytes, settled: 0 }
}

function addSizes(sum: Sizes, { waiting, waitingBytes, settled }: Sizes, sign: 1 | -1): void {
  sum.waiting += sign * waiting
  sum.waitingBytes += sign * waitingBytes
  sum.settled += sign * settled
}
