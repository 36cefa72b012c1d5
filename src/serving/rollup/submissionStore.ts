/**
 * The storage of transactions submitted to one rollup network. One interface for the store of this process
 * (`localSubmissions.ts`) and for the one that several processes share (`sharedSubmissions.ts`). The writers
 * (`submissionQueue.ts`, `deliveries.ts`) decide what to write.
 */

import type { Lane, Place, SubmissionId, SubmissionRow } from '../../data/store/node/submissions.js'
import type { Hex } from '../../primitives/bytes.js'
import type { Awaitable } from '../../primitives/deferred.js'
import type { Sizes } from './queueSizes.js'

export type { Lane, Place, SubmissionId } from '../../data/store/node/submissions.js'

/** The reads of a piece of work, named in advance, so that those of many can be loaded at once. */
export interface Reads {
  /** The rows of a hash that a key submitted, and the sizes of that key. */
  readonly own?: Pick<SubmissionId, 'hash' | 'key'>
  /** The unsettled rows with this sender and nonce. */
  readonly place?: Place
  /** The lane whose first unsettled row is read. */
  readonly first?: Lane
}

/** The view of a piece of work: reads, earlier writes included, and its writes. */
export interface SubmissionTransaction {
  /** Sizes for all keys together. */
  readonly sizes: Sizes
  sizesOf(key: string): Sizes
  /** The rows of a hash that a key submitted. */
  readOwn(hash: string, key: string): SubmissionRow[]
  readRow(id: SubmissionId): SubmissionRow | undefined
  /** The unsettled rows with this sender and nonce, in the order of their arrival. */
  readAt(place: Place): SubmissionRow[]
  /** The unsettled row of a lane with the lowest nonce; the first to arrive if there are several. */
  readFirst(lane: Lane): SubmissionRow | undefined
  /** The transaction, JSON, of a row that is the first of its lane or place. */
  readBody(id: SubmissionId): Uint8Array | undefined
  /** Adds a row with its body, or replaces the row under its id. */
  put(row: SubmissionRow, body?: Uint8Array): void
  remove(row: SubmissionRow): void
}

export interface QueueCounts extends Sizes {
  readonly oldestWaitingMs: number
}

/** Reads submissions. Rejects with the fault SubmissionsUnread if the store does not answer. */
export interface SubmissionReader {
  /** The rows of a hash that a key submitted; if it has none, those of others (`othersMax` at most). */
  readRows(hash: Hex, key: string): Awaitable<SubmissionRow[]>
  /** The transaction, JSON. */
  readBody(id: SubmissionId): Awaitable<Uint8Array | undefined>
}

export interface SubmissionWriter {
  /**
   * Runs `work` inside a transaction, after all earlier ones, whose writes it sees. `work` must be synchronous, reads
   * no more than `reads` names, throws only before its first write, and may be run again. Resolves with its result once
   * its writes, and the writes that it saw, are on disk. Rejects with the exception of `work`, or with the fault
   * NotStored.
   */
  write<T>(reads: Reads, work: (transaction: SubmissionTransaction) => T): Promise<T>
}

export interface SubmissionStore extends SubmissionReader, SubmissionWriter {
  /** Whether the last attempt to store something succeeded. */
  readonly isStoring: boolean
  /**
   * Calls `listener` with each changed row, once it is on disk, whatever process changed it. Of several changes in
   * quick succession only the last may be reported. Returns a function that stops this.
   */
  onChange(listener: (row: SubmissionRow) => void): () => void
  /** Lanes with unsettled transactions, the one that has waited longest first. */
  readWaitingLanes(): Awaitable<Lane[]>
  /** Unsettled transactions received at or before this time, oldest first; at most `limit` if given. */
  readWaitingSince(timeMs: number, limit?: number): Awaitable<SubmissionId[]>
  /**
   * Removes up to `limit` settled transactions. Removes those settled before a time; if there are none, those beyond
   * `settledMax`, oldest first, of the keys that have the most (`recordsBeyond` of queueSizes.ts). Resolves to the number
   * removed.
   */
  prune(beforeMs: number, settledMax: number, limit: number): Promise<number>
  /** Counts as far as this process knows. */
  counts(now: number): QueueCounts
}

/** Role of the one process that sends to the sequencer. */
export const sendingRole = 'sends submissions'
