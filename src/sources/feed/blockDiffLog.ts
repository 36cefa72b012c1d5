/**
 * A log of what happened to a chain, which one writer appends to and any number of replicas read. Entries have
 * consecutive sequence numbers, whatever happens to the chain; nothing in the log changes, and the oldest entries go.
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
  /** What the source calls safe or finalized. */
  | { readonly kind: 'safe' | 'finalized'; readonly block: BlockName }

export type FeedEntry = FeedEvent & { readonly sequence: number }

export interface LogTip {
  /** Of the newest entry; 0 before the first. */
  readonly sequence: number
  /** The head after the newest entry; undefined before the first. */
  readonly head: BlockName | undefined
  readonly safe: BlockName | undefined
  readonly finalized: BlockName | undefined
  /** Grows with each writer. */
  readonly epoch: number
  /** How long the writer's lease still holds; not positive where there is none. */
  readonly leaseMsLeft: number
}

/** Where a process is in a log, as of its last answer; zeros before the first. */
export interface FeedFigures {
  readonly isAnswering: boolean
  /** Of the newest writer. */
  readonly epoch: number
  /** Whether that is this process. */
  readonly hasLease: boolean
  /** Of the newest entry that the store has, or that this process appended. */
  readonly sequence: number
  /** What the store lacks of the log; of a writer, what the log lacks of its store. */
  readonly entriesBehind: number
  readonly blocksBehind: number
}

/** The entries that a reader needs next were removed. */
export class TrimmedError extends Error {
  override readonly name = 'TrimmedError'
}

/** The log has another newest entry than its writer knows: one whose answer was lost came in after all. */
export class MovedError extends Error {
  override readonly name = 'MovedError'
}
