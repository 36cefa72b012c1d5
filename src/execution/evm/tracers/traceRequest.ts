/** Trace requests, as plain data, for jobs. */
import type { BlockName } from '../../../data/store/chainRows.js'
import type {
  AccountOverride,
  BlockOverrides,
  BlockReference,
  CallMessage,
} from '../messages/executionRequest.js'
import type { ListOptions, TracerOptions } from './tracerOptions.js'

export interface TraceRequest {
  readonly subject: TraceSubject
  readonly tracer: TracerOptions | ListOptions
  /** Time for each transaction; at most the limit of the job. */
  readonly timeMs?: number
}

export type TraceSubject =
  /**
   * All transactions of a block (32 bytes); the result is a list of `{txHash, result}`, or with `isPlain` of results.
   */
  | { readonly kind: 'block'; readonly blockHash: Uint8Array; readonly isPlain?: boolean }
  | { readonly kind: 'transaction'; readonly blockHash: Uint8Array; readonly index: number }
  /** All transactions of blocks on the branch that ends with `head`; only as a list. */
  | {
      readonly kind: 'range'
      readonly head: BlockName
      readonly first: number
      readonly last: number
    }
  | TracedCalls

/** Messages that run in order, each on the state after those before it. */
export interface TracedCalls {
  readonly kind: 'calls'
  readonly block: BlockReference
  /** The messages start on the state before this transaction of the block; without it, on the state after the block. */
  readonly index?: number
  readonly stateOverrides?: readonly AccountOverride[]
  readonly bundles: readonly CallBundle[]
  /** Gas of a message that requests none, and the limit of each. */
  readonly gasMax: bigint
  /** The result of the only message, a list of all results, or a list for each bundle. */
  readonly form: 'one' | 'list' | 'lists'
}

/** Messages in one block. Each bundle is in the next block, 12 s later, and keeps the overrides of earlier bundles. */
interface CallBundle {
  readonly blockOverrides?: BlockOverrides
  readonly calls: readonly TracedCall[]
}

export interface TracedCall {
  /** A message, or a signed transaction (EIP-2718), whose nonce is not checked. */
  readonly message: CallMessage | Uint8Array
  /** Replaces the request's tracer. */
  readonly tracer?: TracerOptions
}

export interface TraceLimits {
  readonly timeMsMax: number
  readonly memoryBytesMax: number
  /** Bytes of the whole answer. */
  readonly answerBytesMax: number
}
