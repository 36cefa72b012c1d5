/**
 * Everything that a caller of the service can get wrong or run into, as one union. `rpc/wireErrors.ts` maps each
 * kind to its code and message in one exhaustive switch; code that finds a fault knows nothing of the wire.
 */
export type Fault =
  | { readonly kind: 'ParseError' }
  /** `why` says which bound of a request was crossed. */
  | { readonly kind: 'InvalidRequest'; readonly why?: string }
  | { readonly kind: 'EmptyBatch' }
  | { readonly kind: 'BatchTooLarge' }
  /** `meant` is a method of a name like it, where there is one. */
  | { readonly kind: 'MethodNotFound'; readonly method: string; readonly meant?: string | undefined }
  | { readonly kind: 'NotificationsNotSupported' }
  /** `why` is undefined for a name that means nothing. */
  | { readonly kind: 'SubscriptionNotFound'; readonly name: string; readonly why?: string }
  /** An id of no subscription of this connection. */
  | { readonly kind: 'SubscriptionIdNotFound' }
  /** First and last block of a range that is none. */
  | { readonly kind: 'InvalidBlockRange' }
  | { readonly kind: 'PendingLogsNotSupported' }
  /** A range with blocks above the head. */
  | { readonly kind: 'BlockRangeInFuture' }
  /** A block that logs are asked of and that was never part of the chain. */
  | { readonly kind: 'UnknownBlock' }
  /** An id of no filter of this key. */
  | { readonly kind: 'FilterNotFound' }
  /** `whose` filters would take more than `max` bytes: those of an API key or of the server. */
  | { readonly kind: 'TooMuchFilterMemory'; readonly whose: string; readonly max: number }
  /** The block of a cursor is not part of the chain; block `number` is the newest before it that is. */
  | { readonly kind: 'CursorLeft'; readonly number: number }
  /** More than one answer may hold. All logs from block `first` to `last` would fit. */
  | {
      readonly kind: 'TooManyLogs'
      readonly logsMax: number
      readonly bytesMax: number
      readonly first: number
      readonly last: number
    }
  | { readonly kind: 'TooManySubscriptions'; readonly max: number }
  /** `whose` subscriptions would take more than `max` bytes: those of a connection, an API key or the server. */
  | { readonly kind: 'TooMuchSubscriptionMemory'; readonly whose: string; readonly max: number }
  /** `index` counts arguments from 0. */
  | { readonly kind: 'MissingArgument'; readonly index: number }
  | { readonly kind: 'InvalidArgument'; readonly index: number; readonly why: string }
  | { readonly kind: 'TooManyArguments'; readonly max: number }
  | { readonly kind: 'ParamsNotArray' }
  /** A named argument that the method does not have. */
  | { readonly kind: 'UnknownArgument'; readonly name: string }
  | { readonly kind: 'StorageKeyTooLong'; readonly key: string }
  | { readonly kind: 'StorageKeyNotHex'; readonly key: string }
  | { readonly kind: 'TooManyStorageKeys'; readonly max: number; readonly got: number }
  | { readonly kind: 'EmptyRequest' }
  | { readonly kind: 'FeeHistoryRefused'; readonly why: string }
  | { readonly kind: 'TooManySlots'; readonly max: number }
  | { readonly kind: 'BothBlockHashAndNumber' }
  /** A block to be pinned to that is none. `got` is what was written, short enough for a message. */
  | { readonly kind: 'InvalidPin'; readonly got: string }
  /** `index` is the argument in which the tag stood. */
  | { readonly kind: 'SafeTagNotSupported'; readonly index: number }
  | { readonly kind: 'HeaderNotFound' }
  | { readonly kind: 'HeaderForHashNotFound' }
  | { readonly kind: 'HashNotCanonical' }
  | { readonly kind: 'StateNotAvailable'; readonly stateRoot: string }
  /** Nothing is read from the sequencer: it has no endpoint for that, as far as the configuration says. */
  | { readonly kind: 'NoSequencerToRead' }
  | { readonly kind: 'SequencerUnanswered'; readonly why: string }
  /** The sequencer's own words. */
  | {
      readonly kind: 'SequencerError'
      readonly code: number
      readonly message: string
      readonly data: unknown
    }
  | { readonly kind: 'HistoryPruned' }
  /** `reason` as decoded from `data`, where it could be; `data` is the raw revert data. */
  | { readonly kind: 'ExecutionReverted'; readonly reason: string | undefined; readonly data: Uint8Array }
  | { readonly kind: 'GasExceedsAllowance'; readonly allowance: bigint }
  /** A message that no block could contain, or that contradicts itself. `why` is the whole text. */
  | { readonly kind: 'MessageRefused'; readonly why: string }
  /** An execution that failed otherwise than by a revert. `why` is the whole text. */
  | { readonly kind: 'ExecutionFailed'; readonly why: string }
  | { readonly kind: 'ExecutionTimedOut'; readonly limitSeconds: number }
  | { readonly kind: 'ExecutionOutOfMemory'; readonly limitBytes: number }
  | { readonly kind: 'ResponseTooLarge' }
  | { readonly kind: 'RequestTimedOut' }
  /** `why` completes `unauthorized: …`; it never holds the key. */
  | { readonly kind: 'Unauthorized'; readonly why: string }
  | { readonly kind: 'MethodNotAllowed'; readonly method: string }
  /** `what` completes `limit exceeded: …`. */
  | {
      readonly kind: 'LimitExceeded'
      readonly what: string
      readonly limit: number
      readonly retryAfterMs: number
    }
  | { readonly kind: 'ServerBusy'; readonly retryAfterMs: number }
  /** A rollup transaction that was not taken, or that the sequencer refused. `text` says more where something does. */
  | { readonly kind: 'InvokeRefused'; readonly code: InvokeErrorCode; readonly text: string | undefined }
  | { readonly kind: 'TransactionHashNotFound' }
  /** Too many transactions wait for the sequencer. `what` says how many or how much. */
  | { readonly kind: 'SubmissionsFull'; readonly what: string; readonly retryAfterMs: number }
  /** The disk did not take it. Nothing of it is kept. */
  | { readonly kind: 'NotStored'; readonly retryAfterMs: number }

/** Reasons to refuse a rollup transaction, by their codes on the wire; `rpc/wireErrors.ts` has their meanings. */
export const invokeErrorCodes = [52, 53, 54, 55, 58, 59, 61, 63, 64, 65, 69] as const
export type InvokeErrorCode = (typeof invokeErrorCodes)[number]

/** Thrown wherever a {@link Fault} is found; dispatch turns it into the error member of an answer. */
export class FaultError extends Error {
  override readonly name = 'FaultError'
  /** `message` is for the operator alone. */
  constructor(
    readonly fault: Fault,
    message: string = fault.kind,
  ) {
    // A trace takes 10 µs, and nobody looks at it: whatever is wrong with a question is no fault of the code.
    const { stackTraceLimit } = Error
    Error.stackTraceLimit = 0
    super(message)
    Error.stackTraceLimit = stackTraceLimit
  }
}

/** A fault of the operator: wrong usage or a state of the machine that only they can mend. `message` is one sentence that says what to do. */
export class OperatorError extends Error {
  override readonly name: string = 'OperatorError'
}

/** Wrong usage of the command line or configuration: exit status 2. */
export class UsageError extends OperatorError {
  override readonly name = 'UsageError'
}
