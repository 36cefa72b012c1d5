/**
 * A log of events of a chain: one writer appends to it, and any number of replicas read it. Entries have consecutive
 * sequence numbers, in every case. Entries never change, and the oldest ones are removed.
 */
import type { BlockName } from '../../data/store/chainRows.js'

export type FeedEvent =
  /** A block became the head. */
  | {
      readonly kind: 'block'
      readonly block: BlockName
      readonly parentHash: Uint8Array
      readonly blockDiff: Uint8Array
    }
  /** All blocks above this one are no longer canonical. */
  | { readonly kind: 'unwind'; readonly block: BlockName }
  /** The safe or finalized block of the source. */
  | { readonly kind: 'safe' | 'finalized'; readonly block: BlockName }

export type FeedEntry = FeedEvent & { readonly sequence: number }

export interface LogTip {
  /** Sequence number of the newest entry; 0 before the first. */
  readonly sequence: number
  /** The head after the newest entry; undefined before the first. */
  readonly head: BlockName | undefined
  readonly safe: BlockName | undefined
  readonly finalized: BlockName | undefined
  /** Raised by each new writer. */
  readonly epoch: number
  /** Remaining time of the writer's lease; not positive without a lease. */
  readonly leaseMsLeft: number
}

/** Position of a process in a log, as of its last answer; zeros before the first. */
export interface FeedFigures {
  readonly isAnswering: boolean
  /** Epoch of the newest writer. */
  readonly epoch: number
  /** Whether this process is the newest writer. */
  readonly hasLease: boolean
  /** Newest entry that the store has, or that this process appended. */
  readonly sequence: number
  /** Entries of the log that the store lacks; for a writer, entries of its store that the log lacks. */
  readonly entriesBehind: number
  readonly blocksBehind: number
}

/** The next entries of a reader were removed. */
export class TrimmedError extends Error {
  override readonly name = 'TrimmedError'
}

/**
 * The newest entry of the log is not the one that its writer knows. An append whose answer was lost was stored after
 * all.
 */
export class MovedError extends Error {
  override readonly name = 'MovedError'
}
