/**
 * Every error that a caller can get, as one union. `rpc/answers/wireErrors.ts` maps each kind to its code and message
 * in one exhaustive switch. Code that throws a fault knows neither.
 */
export type Fault =
  | { readonly kind: 'ParseError' }
  /** `why` names the wrong member or the exceeded limit. */
  | { readonly kind: 'InvalidRequest'; readonly why: string }
  | { readonly kind: 'EmptyBatch' }
  /** `id`: JSON of the id of the first call; undefined if none has one. */
  | { readonly kind: 'BatchTooLarge'; readonly id: string | undefined }
  /** `meant` is the method with the most similar name, if one is similar enough. */
  | { readonly kind: 'MethodNotFound'; readonly method: string; readonly meant?: string | undefined }
  | { readonly kind: 'NotificationsNotSupported' }
  /** `why` is undefined for an unknown name. */
  | { readonly kind: 'SubscriptionNotFound'; readonly name: string; readonly why?: string }
  /** No subscription of this connection has this id. */
  | { readonly kind: 'SubscriptionIdNotFound' }
  /** The first block of a range is above its last. */
  | { readonly kind: 'InvalidBlockRange' }
  | { readonly kind: 'PendingLogsNotSupported' }
  /** A block range ends above the head. */
  | { readonly kind: 'BlockRangeInFuture' }
  /** Logs are requested for a block that was never part of the chain. */
  | { readonly kind: 'UnknownBlock' }
  /** No filter of this key has this id. */
  | { readonly kind: 'FilterNotFound' }
  /** Filters would take more than `max` bytes; `whose` names their owner: an API key or the server. */
  | { readonly kind: 'TooMuchFilterMemory'; readonly whose: string; readonly max: number }
  /** The block of a cursor is not part of the chain; block `number` is the newest canonical block before it. */
  | { readonly kind: 'CursorLeft'; readonly number: number }
  /** More logs than one answer may contain. All logs from block `first` to `last` would fit. */
  | {
      readonly kind: 'TooManyLogs'
      readonly logsMax: number
      readonly logBytesMax: number
      readonly first: number
      readonly last: number
    }
  /** `whose` ends the sentence: `on one connection`, `of this API key`. */
  | { readonly kind: 'TooManySubscriptions'; readonly whose: string; readonly max: number }
  /**
   * Subscriptions would take more than `max` bytes; `whose` names their owner: a connection, an API key or the server.
   */
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
  /** A request is pinned to a value that is not a block hash or number. `got` is an excerpt of it. */
  | { readonly kind: 'InvalidPin'; readonly got: string }
  /** `index` is the argument with the tag. */
  | { readonly kind: 'SafeTagNotSupported'; readonly index: number }
  /** A consensus client has chosen no safe or finalized block yet. */
  | { readonly kind: 'MarkerMissing'; readonly tag: 'safe' | 'finalized' }
  /** `block` is the requested number or tag, `head` the number of the newest block; if absent, unknown. */
  | { readonly kind: 'HeaderNotFound'; readonly block?: number | string; readonly head?: number }
  | { readonly kind: 'HeaderForHashNotFound' }
  | { readonly kind: 'HashNotCanonical' }
  | { readonly kind: 'StateNotAvailable'; readonly stateRoot: string }
  /** The configuration has no endpoint for reading from the sequencer. */
  | { readonly kind: 'NoSequencerToRead' }
  | { readonly kind: 'SequencerUnanswered'; readonly why: string }
  /** The sequencer's own error. */
  | {
      readonly kind: 'SequencerError'
      readonly code: number
      readonly message: string
      readonly data: unknown
    }
  /** The network neither follows nor asks other nodes. */
  | { readonly kind: 'NoUpstreamToSendTo' }
  /** A sent transaction was not in a block within `waitMs` (EIP-7966). */
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
   * The request cannot be proved or executed here: it has an unknown form, or the chain has other rules. An upstream
   * can be asked. `why` is the whole text.
   */
  | { readonly kind: 'NotProved'; readonly why: string }
  /** No upstream gave a right answer. `why` is the whole text, and names no upstream, because callers get it. */
  | { readonly kind: 'UpstreamsFailed'; readonly why: string }
  /**
   * `oldest`: number of the oldest block whose data of this kind are kept. `needsParent`: the request also needs the
   * state of the parent block, so the first possible block is the next one.
   */
  | { readonly kind: 'HistoryPruned'; readonly oldest: number; readonly needsParent?: true }
  /** `why` is the whole text. */
  | { readonly kind: 'ResourceNotFound'; readonly why: string }
  /** The network has only blocks and receipts, or not even receipts. */
  | { readonly kind: 'NoState' }
  | { readonly kind: 'NoReceipts' }
  /** A gateway does not know when an account changed. */
  | { readonly kind: 'NoAccountHistory' }
  /** The block is in no epoch whose accumulator was checked. */
  | { readonly kind: 'NoAccumulator'; readonly number: number }
  /**
   * `reason` is decoded from `data`, the raw revert data, if possible. For long data `json` is the text, made by the
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
  /**
   * A simulation that breaks a rule of the chain of its blocks, or a message that may not start in it; some rules have
   * codes.
   */
  | { readonly kind: 'SimulationRefused'; readonly rule?: string; readonly why: string }
  /** An execution that failed without a revert. `why` is the whole text. */
  | { readonly kind: 'ExecutionFailed'; readonly why: string }
  | { readonly kind: 'ExecutionTimedOut'; readonly limitSeconds: number }
  | { readonly kind: 'ExecutionOutOfMemory'; readonly limitBytes: number }
  /** A trace with more bytes than may be stored or sent; `isWhole`: it is not sent in parts. */
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
      /** Whether it is the limit of a day. */
      readonly isOfDay?: boolean
    }
  | { readonly kind: 'ServerBusy'; readonly why?: string; readonly retryAfterMs: number }
  /** A rollup transaction was refused, here or by the sequencer. `text` has more details, if there are any. */
  | { readonly kind: 'InvokeRefused'; readonly code: InvokeErrorCode; readonly text: string | undefined }
  | { readonly kind: 'TransactionHashNotFound' }
  /** Too many transactions wait for the sequencer. `what` has the number or size. */
  | { readonly kind: 'SubmissionsFull'; readonly what: string; readonly retryAfterMs: number }
  /** The database of submitted transactions gives no answer. */
  | { readonly kind: 'SubmissionsUnread'; readonly retryAfterMs: number }
  /**
   * Writing to disk, or to the database, failed and nothing was stored. With `isUnsure` everything may be stored: the
   * database was lost before it answered a commit.
   */
  | { readonly kind: 'NotStored'; readonly retryAfterMs: number; readonly isUnsure?: boolean }

/** Error codes of refused rollup transactions; `rpc/answers/wireErrors.ts` has their meanings. */
const invokeErrorCodes = [52, 53, 54, 55, 58, 59, 61, 63, 64, 65, 69] as const
export type InvokeErrorCode = (typeof invokeErrorCodes)[number]

/** An error without a stack trace. The trace would take most of the time, and a wrong request is not a bug. */
export class RequestError extends Error {
  constructor(message: string) {
    const { stackTraceLimit } = Error
    Error.stackTraceLimit = 0
    super(message)
    Error.stackTraceLimit = stackTraceLimit
  }
}

/** Throws a {@link Fault}; dispatch turns it into the error member of an answer. */
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

/** The fault MessageRefused: `why` is the message of the answer, in go-ethereum's words. */
export function messageRefused(why: string): FaultError {
  return new FaultError({ kind: 'MessageRefused', why })
}

/**
 * A problem that only the operator can solve: wrong usage, or a state of the machine. `message` has the required
 * action.
 */
export class OperatorError extends Error {
  override readonly name: string = 'OperatorError'
}

/** Wrong usage of the command line or configuration: exit status 2. */
export class UsageError extends OperatorError {
  override readonly name = 'UsageError'
}

/** The block breaks a rule: it can never be part of this chain. `message` names the rule. */
export class InvalidBlockError extends Error {
  override readonly name = 'InvalidBlockError'

  /** `transaction`: index of the transaction at fault, if there is one. */
  constructor(
    message: string,
    readonly transaction?: number,
  ) {
    super(message)
  }
}
