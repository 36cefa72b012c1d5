/**
 * Every error that a caller can get, as one union. `rpc/answers/wireErrors.ts` maps each kind to its code and message in one
 * exhaustive switch; code that finds a fault knows neither.
 */
export type Fault =
  | { readonly kind: 'ParseError' }
  /** `why` says which limit of a request was exceeded. */
  | { readonly kind: 'InvalidRequest'; readonly why?: string }
  | { readonly kind: 'EmptyBatch' }
  /** `id`: JSON of the id of the first call; undefined where none has one. */
  | { readonly kind: 'BatchTooLarge'; readonly id: string | undefined }
  /** `meant` is the method with the most similar name, where one is similar enough. */
  | { readonly kind: 'MethodNotFound'; readonly method: string; readonly meant?: string | undefined }
  | { readonly kind: 'NotificationsNotSupported' }
  /** `why` is undefined for an unknown name. */
  | { readonly kind: 'SubscriptionNotFound'; readonly name: string; readonly why?: string }
  /** No subscription of this connection has this id. */
  | { readonly kind: 'SubscriptionIdNotFound' }
  /** The first block of a range is above its last. */
  | { readonly kind: 'InvalidBlockRange' }
  | { readonly kind: 'PendingLogsNotSupported' }
  /** A block range reaches above the head. */
  | { readonly kind: 'BlockRangeInFuture' }
  /** Logs are requested of a block that was never part of the chain. */
  | { readonly kind: 'UnknownBlock' }
  /** No filter of this key has this id. */
  | { readonly kind: 'FilterNotFound' }
  /** `whose` filters would take more than `max` bytes: those of an API key or of the server. */
  | { readonly kind: 'TooMuchFilterMemory'; readonly whose: string; readonly max: number }
  /** The block of a cursor is not part of the chain; block `number` is the newest before it that is. */
  | { readonly kind: 'CursorLeft'; readonly number: number }
  /** More logs than one answer may contain. All logs from block `first` to `last` would fit. */
  | {
      readonly kind: 'TooManyLogs'
      readonly logsMax: number
      readonly bytesMax: number
      readonly first: number
      readonly last: number
    }
  /** `whose` ends the sentence: `on one connection`, `of this API key`. */
  | { readonly kind: 'TooManySubscriptions'; readonly whose: string; readonly max: number }
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
  /** A request is pinned to something that is no block hash or number. `got` is an excerpt of it. */
  | { readonly kind: 'InvalidPin'; readonly got: string }
  /** `index` is the argument in which the tag stood. */
  | { readonly kind: 'SafeTagNotSupported'; readonly index: number }
  | { readonly kind: 'HeaderNotFound' }
  | { readonly kind: 'HeaderForHashNotFound' }
  | { readonly kind: 'HashNotCanonical' }
  | { readonly kind: 'StateNotAvailable'; readonly stateRoot: string }
  /** The configuration names no endpoint to read from the sequencer. */
  | { readonly kind: 'NoSequencerToRead' }
  | { readonly kind: 'SequencerUnanswered'; readonly why: string }
  /** The sequencer's own error. */
  | {
      readonly kind: 'SequencerError'
      readonly code: number
      readonly message: string
      readonly data: unknown
    }
  /** Asked of a network that neither follows nor asks other nodes. */
  | { readonly kind: 'NoUpstreamToSendTo' }
  /** A transaction that was sent, and that no block had within `waitMs`. EIP-7966. */
  | { readonly kind: 'SentNotMined'; readonly waitMs: number; readonly hash: Uint8Array }
  /** An upstream's own error. */
  | {
      readonly kind: 'UpstreamError'
      readonly code: number
      readonly message: string
      readonly data: unknown
    }
  /** The source of a network has no block yet. `why` is a sentence. */
  | { readonly kind: 'NotOpen'; readonly network: string; readonly why: string }
  /**
   * What was asked for cannot be proved, or run, here: it has another form than is known, or the chain has other rules. An
   * upstream can be asked. `why` is the whole text.
   */
  | { readonly kind: 'NotProved'; readonly why: string }
  /** No upstream gave an answer that is right. `why` is the whole text, and names none: callers get it. */
  | { readonly kind: 'UpstreamsFailed'; readonly why: string }
  /**
   * `oldest`: number of the oldest block of which what was asked for is kept. `needsParent`: it needs what the block
   * before left, so that the next one is the oldest of which it can be asked.
   */
  | { readonly kind: 'HistoryPruned'; readonly oldest: number; readonly needsParent?: true }
  /** `why` is the whole text. */
  | { readonly kind: 'ResourceNotFound'; readonly why: string }
  /** Asked of a network that holds blocks and receipts alone, or not even receipts. */
  | { readonly kind: 'NoState' }
  | { readonly kind: 'NoReceipts' }
  /** A gateway does not know when an account changed. */
  | { readonly kind: 'NoAccountHistory' }
  /** A block of no epoch whose accumulator was checked. */
  | { readonly kind: 'NoAccumulator'; readonly number: number }
  /**
   * `reason` is decoded from `data`, the raw revert data, where possible. Of long data `json` is the text, from the
   * thread that ran the message; then `data` is empty.
   */
  | {
      readonly kind: 'ExecutionReverted'
      readonly reason: string | undefined
      readonly data: Uint8Array
      readonly json?: Uint8Array
    }
  | { readonly kind: 'GasExceedsAllowance'; readonly allowance: bigint }
  /** A message (call arguments) that no block could contain, or that contradicts itself. `why` is the whole text. */
  | { readonly kind: 'MessageRefused'; readonly why: string }
  /** A simulation that breaks a rule of the chain of its blocks, or in which a message may not start; some rules have codes. */
  | { readonly kind: 'SimulationRefused'; readonly rule?: string; readonly why: string }
  /** An execution that failed without a revert. `why` is the whole text. */
  | { readonly kind: 'ExecutionFailed'; readonly why: string }
  | { readonly kind: 'ExecutionTimedOut'; readonly limitSeconds: number }
  | { readonly kind: 'ExecutionOutOfMemory'; readonly limitBytes: number }
  /** A trace with more bytes than may be kept or answered; `isWhole`: where it is not sent in parts. */
  | { readonly kind: 'TraceTooLarge'; readonly limitBytes: number; readonly isWhole?: boolean }
  | { readonly kind: 'ResponseTooLarge' }
  | { readonly kind: 'RequestTimedOut' }
  /** `why` completes `unauthorized: …`; it never contains the key. */
  | { readonly kind: 'Unauthorized'; readonly why: string }
  | { readonly kind: 'MethodNotAllowed'; readonly method: string }
  | { readonly kind: 'NetworkNotAllowed'; readonly network: string }
  /** `what` completes `limit exceeded: …`. */
  | {
      readonly kind: 'LimitExceeded'
      readonly what: string
      readonly limit: number
      readonly retryAfterMs: number
    }
  | { readonly kind: 'ServerBusy'; readonly why?: string; readonly retryAfterMs: number }
  /** A rollup transaction was refused, here or by the sequencer. `text` explains more, if anything does. */
  | { readonly kind: 'InvokeRefused'; readonly code: InvokeErrorCode; readonly text: string | undefined }
  | { readonly kind: 'TransactionHashNotFound' }
  /** Too many transactions wait for the sequencer. `what` says how many or how much. */
  | { readonly kind: 'SubmissionsFull'; readonly what: string; readonly retryAfterMs: number }
  /** The database of submitted transactions gives no answer. */
  | { readonly kind: 'SubmissionsUnread'; readonly retryAfterMs: number }
  /**
   * Writing to disk, or to the database, failed; nothing was stored, except that with `isUnsure` all may have been: the
   * database was lost before it answered a commit.
   */
  | { readonly kind: 'NotStored'; readonly retryAfterMs: number; readonly isUnsure?: boolean }

/** Error codes of refused rollup transactions; `rpc/answers/wireErrors.ts` has their meanings. */
const invokeErrorCodes = [52, 53, 54, 55, 58, 59, 61, 63, 64, 65, 69] as const
export type InvokeErrorCode = (typeof invokeErrorCodes)[number]

/** An error without a stack trace: that takes most of the time, and a wrong request is no fault of the code. */
export class RequestError extends Error {
  constructor(message: string) {
    const { stackTraceLimit } = Error
    Error.stackTraceLimit = 0
    super(message)
    Error.stackTraceLimit = stackTraceLimit
  }
}

/** Throws a {@link Fault}; dispatch makes it the error member of an answer. */
export class FaultError extends RequestError {
  override readonly name = 'FaultError'
  /** `message` is for the operator only. */
  constructor(
    readonly fault: Fault,
    message: string = fault.kind,
  ) {
    super(message)
  }
}

/** The fault MessageRefused: `why` is the message of the answer, as go-ethereum words it. */
export function messageRefused(why: string): FaultError {
  return new FaultError({ kind: 'MessageRefused', why })
}

/** A problem that only the operator can solve: wrong usage, or a state of the machine. `message` says what to do. */
export class OperatorError extends Error {
  override readonly name: string = 'OperatorError'
}

/** Wrong usage of the command line or configuration: exit status 2. */
export class UsageError extends OperatorError {
  override readonly name = 'UsageError'
}
