/**
 * Codes and messages of all faults: go-ethereum's for JSON-RPC, hosted services' for access. Owns the `error` member
 * of an answer and the HTTP status of a single one.
 */
import { randomBytes } from 'node:crypto'
import { bytesToHex, toQuantity } from '../primitives/bytes.js'
import { type Fault, FaultError, type InvokeErrorCode } from '../primitives/faults.js'
import { NotHeldError } from '../primitives/notHeld.js'
import { filterKeyBytes, subscriptionBytes } from '../streams/subscriberPool.js'
import { polledFilterBytes, polledFilterKeyBytes } from './polledFilterBytes.js'

/** The `error` member of an answer. */
export interface WireError {
  readonly code: number
  readonly message: string
  readonly data?: unknown
}

/** An exception that is no fault: an error in this program, found by `id` in the log. */
export interface Defect {
  readonly id: string
  /** Where it was caught: a method's name, or a stage of processing. */
  readonly where: string
  /** Key id of the caller; undefined outside of a call. */
  readonly keyId: string | undefined
  readonly error: unknown
}

export type DefectLog = (defect: Defect) => void

/** Code, message and data of a fault. */
export function faultToWireError(fault: Fault): WireError {
  switch (fault.kind) {
    case 'ParseError':
      return { code: -32700, message: 'parse error' }
    case 'InvalidRequest':
      return {
        code: -32600,
        message: fault.why === undefined ? 'invalid request' : `invalid request: ${fault.why}`,
      }
    case 'EmptyBatch':
      return { code: -32600, message: 'empty batch' }
    case 'BatchTooLarge':
      return { code: -32600, message: 'batch too large' }
    case 'MethodNotFound': {
      const hint = fault.meant === undefined ? '' : `; did you mean ${fault.meant}?`
      return { code: -32601, message: `the method ${fault.method} does not exist/is not available${hint}` }
    }
    case 'NotificationsNotSupported':
      return { code: -32601, message: 'notifications not supported' }
    case 'SubscriptionNotFound': {
      const why = fault.why === undefined ? '' : `: ${fault.why}`
      return { code: -32601, message: `no ${quote(fault.name)} subscription in eth namespace${why}` }
    }
    case 'SubscriptionIdNotFound':
      return { code: -32000, message: 'subscription not found' }
    case 'InvalidBlockRange':
      return { code: -32602, message: 'invalid block range params' }
    case 'PendingLogsNotSupported':
      return { code: -32602, message: 'pending logs are not supported' }
    case 'BlockRangeInFuture':
      return { code: -32602, message: 'block range extends beyond current head block' }
    case 'UnknownBlock':
      return { code: -32000, message: 'unknown block' }
    case 'FilterNotFound':
      return { code: -32000, message: 'filter not found' }
    case 'TooMuchFilterMemory':
      return {
        code: -32005,
        message: `limit exceeded: the filters of ${fault.whose} may take ${fault.max} bytes, ${polledFilterBytes} each and ${polledFilterKeyBytes} for each address and topic; uninstall some`,
        data: { limit: fault.max },
      }
    case 'CursorLeft':
      return {
        code: -32000,
        message: `the block of this cursor left the chain; forget what came above block ${toQuantity(fault.number)}, and begin anew there`,
        data: fault.number,
      }
    case 'TooManyLogs': {
      const { logsMax, bytesMax, first, last } = fault
      // Clients parse the range from this message, which is Infura's, or from `data`.
      const range = `[${toQuantity(first)}, ${toQuantity(last)}]`
      return {
        code: -32005,
        message: `query returned more than ${logsMax} results or ${bytesMax} bytes. Try with this block range ${range}.`,
        data: [first, last],
      }
    }
    case 'TooManySubscriptions':
      return {
        code: -32005,
        message: `limit exceeded: at most ${fault.max} subscriptions ${fault.whose}`,
        data: { limit: fault.max },
      }
    case 'TooMuchSubscriptionMemory':
      return {
        code: -32005,
        message: `limit exceeded: the subscriptions of ${fault.whose} may take ${fault.max} bytes, ${subscriptionBytes} each and ${filterKeyBytes} for each address and topic of a filter; end some, or ask for fewer addresses and topics`,
        data: { limit: fault.max },
      }
    case 'MissingArgument':
      return { code: -32602, message: `missing value for required argument ${fault.index}` }
    case 'InvalidArgument':
      return { code: -32602, message: `invalid argument ${fault.index}: ${fault.why}` }
    case 'TooManyArguments':
      return { code: -32602, message: `too many arguments, want at most ${fault.max}` }
    case 'ParamsNotArray':
      return { code: -32602, message: 'non-array args: params must be an array' }
    case 'UnknownArgument':
      return { code: -32602, message: `unknown argument ${quote(fault.name)}` }
    case 'StorageKeyTooLong':
      return {
        code: -32602,
        message: `storage key too long (want at most 32 bytes): ${quote(fault.key)}`,
      }
    case 'StorageKeyNotHex':
      return { code: -32602, message: `invalid hex in storage key: ${quote(fault.key)}` }
    case 'TooManyStorageKeys':
      return {
        code: -32602,
        message: `too many storage keys requested (max ${fault.max}, got ${fault.got})`,
      }
    case 'EmptyRequest':
      return { code: -32602, message: 'empty request' }
    case 'TooManySlots':
      return { code: -38026, message: `too many slots (max ${fault.max})` }
    case 'BothBlockHashAndNumber':
      return {
        code: -32602,
        message: 'cannot specify both BlockHash and BlockNumber, choose one or the other',
      }
    case 'InvalidPin':
      return {
        code: -32602,
        message: `invalid at: want "latest" or a block hash (0x and 64 hex digits), got ${fault.got}`,
      }
    case 'SafeTagNotSupported':
      return {
        code: -32602,
        message: `invalid argument ${fault.index}: the safe tag is not supported on this network, use finalized`,
      }
    case 'HeaderNotFound':
      return { code: -32000, message: 'header not found' }
    case 'HeaderForHashNotFound':
      return { code: -32000, message: 'header for hash not found' }
    case 'HashNotCanonical':
      return { code: -32000, message: 'hash is not currently canonical' }
    case 'StateNotAvailable':
      return { code: -32000, message: `historical state ${fault.stateRoot} is not available` }
    case 'NoSequencerToRead':
      return {
        code: -32000,
        message:
          'this network reads nothing from a sequencer; its operator can name a JSON-RPC endpoint in "upstream.readUrl" of the configuration',
      }
    case 'SequencerUnanswered':
      return { code: -32000, message: `the sequencer did not answer: ${fault.why}` }
    case 'NoUpstreamToSendTo':
      return {
        code: -32000,
        message:
          'this network has no upstream to send transactions to; its operator can follow a node (--follow) or serve a gateway (--upstream)',
      }
    case 'SequencerError':
    case 'UpstreamError': {
      const { code, message, data } = fault
      return { code, message, ...(data !== undefined && { data }) }
    }
    case 'UpstreamsFailed':
      return { code: -32000, message: fault.why }
    case 'HistoryPruned':
      return { code: 4444, message: 'pruned history unavailable' }
    case 'ResourceNotFound':
      return { code: -32001, message: fault.why }
    case 'NoState':
      return { code: -32000, message: 'this network holds no state' }
    case 'NoReceipts':
      return { code: -32000, message: 'this network holds no receipts' }
    case 'NoAccountHistory':
      return { code: -32000, message: 'this network does not hold when accounts changed' }
    case 'NoAccumulator':
      return {
        code: -32000,
        message: `block ${toQuantity(fault.number)} is in no epoch that was checked against an accumulator`,
      }
    case 'ExecutionReverted':
      return {
        code: 3,
        message: fault.reason === undefined ? 'execution reverted' : `execution reverted: ${fault.reason}`,
        data: bytesToHex(fault.data),
      }
    case 'GasExceedsAllowance':
      return { code: -32000, message: `gas required exceeds allowance (${fault.allowance})` }
    case 'FeeHistoryRefused':
    case 'MessageRefused':
    case 'ExecutionFailed':
      return { code: -32000, message: fault.why }
    case 'SimulationRefused': {
      const { rule, why } = fault
      return { code: simulationCodes.get(rule) ?? -32603, message: why }
    }
    case 'ExecutionTimedOut':
      return { code: -32000, message: `execution aborted (timeout = ${fault.limitSeconds}s)` }
    case 'ExecutionOutOfMemory':
      return {
        code: -32000,
        message: `execution aborted (memory limit = ${Math.floor(fault.limitBytes / 2 ** 20)} MiB)`,
      }
    case 'TraceTooLarge':
      return {
        code: -32003,
        message: `response too large: the trace has more than ${fault.limitBytes} bytes; trace less at once, or ask over HTTP, which sends traces in parts`,
      }
    case 'RequestTimedOut':
      return { code: -32002, message: 'request timed out' }
    case 'ResponseTooLarge':
      return { code: -32003, message: 'response too large' }
    case 'Unauthorized':
      return { code: -32001, message: `unauthorized: ${fault.why}` }
    case 'MethodNotAllowed':
      return { code: -32004, message: `method ${fault.method} is not allowed for this API key` }
    case 'NetworkNotAllowed':
      return { code: -32004, message: `network ${fault.network} is not allowed for this API key` }
    case 'LimitExceeded':
      return {
        code: -32005,
        message: `limit exceeded: ${fault.what}`,
        data: { limit: fault.limit, retryAfterMs: fault.retryAfterMs },
      }
    case 'ServerBusy': {
      const { why, retryAfterMs } = fault
      return {
        code: -32005,
        message: why === undefined ? 'server busy' : `server busy: ${why}`,
        data: { retryAfterMs },
      }
    }
    case 'InvokeRefused': {
      const { code, text } = fault
      return { code, message: invokeErrorMessages[code], ...(text !== undefined && { data: text }) }
    }
    case 'TransactionHashNotFound':
      return { code: 29, message: 'Transaction hash not found' }
    case 'SubmissionsFull':
      return {
        code: -32005,
        message: `server busy: ${fault.what}; this transaction was not taken`,
        data: { retryAfterMs: fault.retryAfterMs },
      }
    case 'SubmissionsUnread':
      return {
        code: -32000,
        message: 'submitted transactions cannot be read at the moment; ask again later',
        data: { retryAfterMs: fault.retryAfterMs },
      }
    case 'NotStored':
      return {
        code: -32000,
        message: fault.isUnsure
          ? 'this transaction may have been stored; ask for its status, or send it again'
          : 'this transaction could not be stored; send it again later',
        data: { retryAfterMs: fault.retryAfterMs },
      }
  }
}

/** Codes of eth_simulateV1 (execution-apis, src/eth/execute.yaml), as far as go-ethereum answers them. */
const simulationCodes: ReadonlyMap<string | undefined, number> = new Map([
  ['nonceTooLow', -38010],
  ['nonceTooHigh', -38011],
  ['feeCapTooLow', -38012],
  ['tipAboveFeeCap', -32602],
  ['intrinsicGas', -38013],
  ['funds', -38014],
  ['blockGas', -38015],
  ['blockNumber', -38020],
  ['blockTime', -38021],
  ['initcodeSize', -38025],
  ['size', -38026],
  ['empty', -32602],
])

/** The messages of the rollup's JSON-RPC specification. */
export const invokeErrorMessages: Readonly<Record<InvokeErrorCode, string>> = {
  52: 'Invalid transaction nonce',
  53: "The transaction's resources don't cover validation or the minimal transaction fee",
  54: "Account balance is smaller than the transaction's maximal fee (calculated as the sum of each resource's limit x max price)",
  55: 'Account validation failed',
  58: 'Sender address is not an account contract',
  59: 'A transaction with the same hash already exists in the mempool',
  61: 'the transaction version is not supported',
  63: 'An unexpected error occurred',
  64: 'Replacement transaction is underpriced',
  65: 'Transaction fee below minimum',
  69: 'The proof field in the invoke v3 transaction is invalid',
}

/** Text in double quotes, escaped; a lone surrogate becomes an escape, so that the message stays valid UTF-8. */
function quote(text: string): string {
  return JSON.stringify(text)
}

/** HTTP status of a fault that is the whole answer to a request; inside a batch the status is 200. */
export function faultToHttpStatus(fault: Fault): { status: number; retryAfterMs: number | undefined } {
  switch (fault.kind) {
    case 'LimitExceeded':
      return { status: 429, retryAfterMs: fault.retryAfterMs }
    case 'ServerBusy':
    case 'SubmissionsFull':
    case 'SubmissionsUnread':
    case 'NotStored':
      return { status: 503, retryAfterMs: fault.retryAfterMs }
    case 'Unauthorized':
      return { status: 401, retryAfterMs: undefined }
    default:
      return { status: 200, retryAfterMs: undefined }
  }
}

/**
 * The fault for an exception; undefined for a defect. State that is not held is not available here; a known block has
 * all its parts, so a part that is not held is a defect.
 */
export function thrownToFault(thrown: unknown): Fault | undefined {
  if (thrown instanceof FaultError) return thrown.fault
  if (!(thrown instanceof NotHeldError) || thrown.wanted.kind !== 'state') return undefined
  return { kind: 'StateNotAvailable', stateRoot: bytesToHex(thrown.wanted.stateRoot) }
}

/**
 * Any exception as an `error` member. For a defect the caller gets `internal error` and an id, and the log gets the
 * same id with the exception, so that no stack, path or key is sent to the caller.
 */
export function thrownToWireError(thrown: unknown, where: string, log: DefectLog, keyId?: string): WireError {
  const fault = thrownToFault(thrown)
  if (fault !== undefined) return faultToWireError(fault)
  // 8 random bytes: unique in a log, and short enough to pass on.
  const id = randomBytes(8).toString('hex')
  log({ id, where, keyId, error: thrown })
  return { code: -32603, message: 'internal error', data: { id } }
}

/**
 * A whole error answer. `id` is JSON as the caller wrote it; `at` is the hash of the block that the call was pinned
 * to, if any.
 */
export function renderErrorAnswer(id: string, error: WireError, at?: string): string {
  const pin = at === undefined ? '' : `"at":"${at}",`
  return `{"jsonrpc":"2.0","id":${id},${pin}"error":${JSON.stringify(error)}}`
}
