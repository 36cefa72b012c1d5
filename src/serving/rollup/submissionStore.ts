/**
 * Where the transactions submitted to one rollup network are kept: the one interface of the store inside the process
 * (`localSubmissions.ts`) and of the one that several processes share (`sharedSubmissions.ts`). What may be written is
 * decided by those who write (`submissionQueue.ts`, `deliveries.ts`).
 */

import type { Lane, Place, SubmissionId, SubmissionRow } from '../../data/store/submissions.js'
import type { Awaitable } from '../../primitives/awaitable.js'
import type { Hex } from '../../primitives/bytes.js'
import type { Sizes } from './queueSizes.js'

export type { Lane, Place, SubmissionId } from '../../data/store/submissions.js'

/** What a piece of work may read, so that many can be read at once. */
export interface Reads {
  /** The rows of a hash that a key submitted, and the sizes of that key. */
  readonly own?: Pick<SubmissionId, 'hash' | 'key'>
  /** The unsettled rows at a place. */
  readonly place?: Place
  /** The lane whose first unsettled row is read. */
  readonly first?: Lane
}

/** What a piece of work sees, earlier writes included, and writes. */
export interface SubmissionTransaction {
  /** Of all keys together. */
  readonly sizes: Sizes
  sizesOf(key: string): Sizes
  /** The rows of a hash that a key submitted. */
  readOwn(hash: string, key: string): SubmissionRow[]
  readRow(id: SubmissionId): SubmissionRow | undefined
  /** The unsettled rows at a place, in the order of their arrival. */
  readAt(place: Place): SubmissionRow[]
  /** The unsettled row of a lane with the lowest nonce; of several the one that came first. */
  readFirst(lane: Lane): SubmissionRow | undefined
  /** The transaction, JSON, of a row that is the first of its lane or place. */
  readBody(id: SubmissionId): Uint8Array | undefined
  /** Adds a row with its body, or replaces the row under its id. */
  put(row: SubmissionRow, body?: Uint8Array): void
  remove(row: SubmissionRow): void
}

/** Sizes of the queue. */
export interface QueueCounts extends Sizes {
  readonly oldestWaitingMs: number
}

/** Rejects with the fault SubmissionsUnread where the store does not answer. */
export interface SubmissionReader {
  /** The rows of a hash that a key submitted; where it has none, those of others (`othersMax` at most). */
  readRows(hash: Hex, key: string): Awaitable<SubmissionRow[]>
  /** The transaction, JSON. */
  readBody(id: SubmissionId): Awaitable<Uint8Array | undefined>
}

export interface SubmissionWriter {
  /**
   * Runs `work` inside a transaction, after all earlier ones, whose writes it sees. It must be synchronous, reads no
   * more than `reads` names, throws only before its first write, and may be run again. Resolves with its result once its
   * writes, and those that it saw, are on disk. Rejects with what `work` threw, or with the fault NotStored.
   */
  write<T>(reads: Reads, work: (transaction: SubmissionTransaction) => T): Promise<T>
}

export interface SubmissionStore extends SubmissionReader, SubmissionWriter {
  /** Whether the last attempt to store something succeeded. */
  readonly isStoring: boolean
  /**
   * Calls `listener` with each row that changed, once it is on disk, whoever changed it. Of several changes close to
   * each other the last is told. Returns a function that stops this.
   */
  onChange(listener: (row: SubmissionRow) => void): () => void
  /** Lanes with unsettled transactions, the one that has waited longest first. */
  readWaitingLanes(): Awaitable<Lane[]>
  /** Unsettled transactions that were received at this time or before, oldest first; `limit` at most where it is given. */
  readWaitingSince(timeMs: number, limit?: number): Awaitable<SubmissionId[]>
  /**
   * Removes up to `limit` settled transactions: those settled before a time, or where there are none those beyond
   * `settledMax`, of the keys that have the most (`recordsBeyond` of keyShare.ts), oldest first. Resolves to their number.
   */
  prune(beforeMs: number, settledMax: number, limit: number): Promise<number>
  /** As known to this process. */
  counts(now: number): QueueCounts
}

/** What the one process does that sends to the sequencer. */
export const sendingRole = 'sends submissions'
