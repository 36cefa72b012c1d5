/**
 * Where the transactions submitted to one rollup network are kept: the one interface of the store inside the process
 * (`localSubmissions.ts`) and of the one that several processes share (`sharedSubmissions.ts`). What may be written is
 * decided by those who write (`submissionQueue.ts`, `deliveries.ts`).
 */

import type { SubmissionRow } from '../../data/store/submissions.js'
import type { Awaitable } from '../../primitives/awaitable.js'
import type { Felt } from './felt.js'

/** The place of a transaction among those of its sender; of unsettled ones each has its own. */
export interface Place {
  readonly sender: Felt
  readonly nonce: Felt
}

/** What a piece of work may read, so that many can be read at once. */
export interface Reads {
  readonly hash?: Felt
  readonly place?: Place
  /** The sender whose unsettled transaction with the lowest nonce is read. */
  readonly firstOf?: Felt
}

/** What a piece of work sees, earlier writes included, and writes. */
export interface SubmissionTransaction {
  /** Number and bytes of unsettled transactions. */
  readonly waiting: number
  readonly waitingBytes: number
  readRow(hash: Felt): SubmissionRow | undefined
  /** The transaction, JSON, of a row that was found by its place or as the first of its sender. */
  readBody(hash: Felt): Uint8Array | undefined
  readHash(place: Place): Felt | undefined
  readFirstHash(sender: Felt): Felt | undefined
  /** Adds a row with its body, or replaces the row under its hash. */
  put(row: SubmissionRow, body?: Uint8Array): void
}

/** Sizes of the queue. */
export interface QueueCounts {
  readonly waiting: number
  readonly waitingBytes: number
  readonly oldestWaitingMs: number
  readonly settled: number
}

/** Rejects with the fault SubmissionsUnread where the store does not answer. */
export interface SubmissionReader {
  readRow(hash: Felt): Awaitable<SubmissionRow | undefined>
  /** The transaction, JSON. */
  readBody(hash: Felt): Awaitable<Uint8Array | undefined>
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
  /** Senders of unsettled transactions, the one that has waited longest first. */
  readWaitingSenders(): Awaitable<Set<Felt>>
  /** Unsettled transactions that were received at this time or before, oldest first; `limit` at most where it is given. */
  readWaitingSince(timeMs: number, limit?: number): Awaitable<Felt[]>
  /**
   * Removes up to `limit` settled transactions, oldest first: those settled before a time, and those beyond `settledMax`.
   * Resolves to their number.
   */
  prune(beforeMs: number, settledMax: number, limit: number): Promise<number>
  /** As known to this process. */
  counts(now: number): QueueCounts
}

/** Another process sends to the sequencer: this one may not write what a forwarder writes. */
export class FencedError extends Error {
  override readonly name = 'FencedError'

  constructor(epoch: number) {
    super(`another process sends submissions: epoch ${epoch} is over`)
  }
}
