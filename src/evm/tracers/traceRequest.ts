/** What to trace, as plain data, for jobs. */
import type { ExecutionRequest } from '../messages/executionRequest.js'
import type { ListOptions, TracerOptions } from './tracerOptions.js'

export interface TraceRequest {
  readonly subject: TraceSubject
  readonly tracer: TracerOptions | ListOptions
  /** Time for each transaction; at most the limit of the job. */
  readonly timeMs?: number
}

export type TraceSubject =
  /** All transactions of a block (32 bytes); the answer is a list of `{txHash, result}`. */
  | { readonly kind: 'block'; readonly blockHash: Uint8Array }
  | { readonly kind: 'transaction'; readonly blockHash: Uint8Array; readonly index: number }
  /** All transactions of canonical blocks; only as a list. */
  | { readonly kind: 'range'; readonly first: number; readonly last: number }
  /** `index`: on the state before this transaction of the block; otherwise after the block. */
  | { readonly kind: 'call'; readonly request: ExecutionRequest; readonly index?: number }

export interface TraceLimits {
  readonly timeMsMax: number
  readonly memoryBytesMax: number
  /** Bytes of the whole answer. */
  readonly answerBytesMax: number
}
