/**
 * Codes and messages of all faults: go-ethereum's for JSON-RPC, hosted services' for access. Owns the `error` member of
 * an answer and the HTTP status of a single answer.
 */

import { randomBytes } from 'node:crypto'
import { bytesToHex, toQuantity } from '../../../primitives/bytes.js'
import { type Fault, FaultError, type InvokeErrorCode } from '../../../primitives/faults.js'
import { hexText } from '../../../primitives/jsonBytes.js'
import { NotStoredError } from '../../../primitives/notStored.js'
import { filterKeyBytes, subscriptionBytes } from '../../streams/subscriberPool.js'
import { polledFilterBytes, polledFilterKeyBytes } from '../logs/filterService.js'

export interface WireError {
  readonly code: number
  readonly message: string
  /** JSON if it is a Uint8Array. */
  readonly data?: unknown
}

/** An exception that is not a fault: an error in this program, logged under `id`. */
export interface Defect {
  readonly id: string
  /** Place where it was caught: a method's name, or a stage of processing. */
  readonly where: string
  /** Key id of the caller; undefined outside of a call. */
  readonly keyId: string | undefined
  readonly error: unknown
}

export type DefectLog = (defect: Defect) => void

type FaultKind = Fault['kind']
type FaultOf<K extends FaultKind> = Extract<Fault, { readonly kind: K }>

/** Code, message and data of each kind of fault. */
const wireErrors: { readonly [K in FaultKind]: (fault: FaultOf<K>) => WireError } = {
  ParseError: () => wire(-32700, 'parse error'),
  InvalidRequest: ({ why }) => wire(-32600, `invalid request: ${why}`),
  EmptyBatch: () => wire(-32600, 'empty batch'),
  BatchTooLarge: () => wire(-32600, 'batch too large'),
  MethodNotFound: ({ method, meant }) => {
    const hint = meant === undefined ? '' : `; did you mean ${meant}?`
    return wire(-32601, `the method ${method} does not exist/is not available${hint}`)
  },
  NotificationsNotSupported: () => wire(-32601, 'notifications not supported'),
  SubscriptionNotFound: ({ name, why }) =>
    wire(-32601, `no ${quote(name)} subscription in eth namespace${why === undefined ? '' : `: ${why}`}`),
  SubscriptionIdNotFound: () => wire(-32000, 'subscription not found'),
  InvalidBlockRange: () => wire(-32602, 'invalid block range params'),
  PendingLogsNotSupported: () => wire(-32602, 'pending logs are not supported'),
  BlockRangeInFuture: () => wire(-32602, 'block range extends beyond current head block'),
  UnknownBlock: () => wire(-32000, 'unknown block'),
  FilterNotFound: () => wire(-32000, 'filter not found'),
  TooMuchFilterMemory: ({ whose, max }) =>
    wire(
      -32005,
      `limit exceeded: the filters of ${whose} may take ${max} bytes, ${polledFilterBytes} each and ${polledFilterKeyBytes} for each address and topic; uninstall some`,
      { limit: max },
    ),
  CursorLeft: ({ number }) =>
    wire(
      -32000,
      `the block of this cursor left the chain; drop everything above block ${toQuantity(number)}, and start again there`,
      number,
    ),
  // Clients parse the range from this message, which is Infura's, or from `data`.
  TooManyLogs: ({ logsMax, logBytesMax, first, last }) =>
    wire(
      -32005,
      `query returned more than ${logsMax} results or ${logBytesMax} bytes. Try with this block range [${toQuantity(first)}, ${toQuantity(last)}].`,
      [first, last],
    ),
  TooManySubscriptions: ({ max, whose }) =>
    wire(-32005, `limit exceeded: at most ${max} subscriptions ${whose}`, { limit: max }),
  TooMuchSubscriptionMemory: ({ whose, max }) =>
    wire(
      -32005,
      `limit exceeded: the subscriptions of ${whose} may take ${max} bytes, ${subscriptionBytes} each and ${filterKeyBytes} for each address and topic of a filter; end some, or ask for fewer addresses and topics`,
      { limit: max },
    ),
  MissingArgument: ({ index }) => wire(-32602, `missing value for required argument ${index}`),
  InvalidArgument: ({ index, why }) => wire(-32602, `invalid argument ${index}: ${why}`),
  TooManyArguments: ({ max }) => wire(-32602, `too many arguments, want at most ${max}`),
  ParamsNotArray: () => wire(-32602, 'non-array args: params must be an array'),
  UnknownArgument: ({ name }) => wire(-32602, `unknown argument ${quote(name)}`),
  StorageKeyTooLong: ({ key }) => wire(-32602, `storage key too long (want at most 32 bytes): ${quote(key)}`),
  StorageKeyNotHex: ({ key }) => wire(-32602, `invalid hex in storage key: ${quote(key)}`),
  TooManyStorageKeys: ({ max, got }) =>
    wire(-32602, `too many storage keys requested (max ${max}, got ${got})`),
  EmptyRequest: () => wire(-32602, 'empty request'),
  TooManySlots: ({ max }) => wire(-38026, `too many slots (max ${max})`),
  BothBlockHashAndNumber: () =>
    wire(-32602, 'cannot specify both BlockHash and BlockNumber, choose one or the other'),
  InvalidPin: ({ got }) =>
    wire(-32602, `invalid at: want "latest" or a block hash (0x and 64 hex digits), got ${got}`),
  SafeTagNotSupported: ({ index }) =>
    wire(-32602, `invalid argument ${index}: the safe tag is not supported on this network, use finalized`),
  MarkerMissing: ({ tag }) => wire(-32000, `${tag} block not found`),
  // The text begins like go-ethereum's message, which clients look for.
  HeaderNotFound: ({ block, head }) => {
    const asked = typeof block === 'number' ? toQuantity(block) : block
    const why =
      head === undefined ? '' : `: there is no block ${asked} yet, and the head is ${toQuantity(head)}`
    return wire(-32000, `header not found${why}`)
  },
  HeaderForHashNotFound: () => wire(-32000, 'header for hash not found'),
  HashNotCanonical: () => wire(-32000, 'hash is not currently canonical'),
  StateNotAvailable: ({ stateRoot }) => wire(-32000, `historical state ${stateRoot} is not available`),
  NoSequencerToRead: () =>
    wire(
      -32000,
      'this network reads nothing from a sequencer; its operator can name a JSON-RPC endpoint in "upstream.readUrl" of the configuration',
    ),
  SequencerUnanswered: ({ why }) => wire(-32000, `the sequencer did not answer: ${why}`),
  NoUpstreamToSendTo: () =>
    wire(
      -32000,
      'this network has no upstream to send transactions to; its operator can follow a node (--follow) or serve a gateway (--upstream)',
    ),
  SentNotMined: ({ waitMs, hash }) =>
    wire(
      4,
      `The transaction was added to the transaction pool but wasn't processed in ${waitMs / 1_000}s`,
      bytesToHex(hash),
    ),
  SequencerError: ({ code, message, data }) => wire(code, message, data),
  UpstreamError: ({ code, message, data }) => wire(code, message, data),
  NotOpen: ({ network, why }) => wire(-32000, `network ${network} has no block yet: ${why}`),
  NotProved: ({ why }) => wire(-32000, why),
  UpstreamsFailed: ({ why }) => wire(-32000, why),
  HistoryPruned: ({ oldest, needsParent = false }) => {
    const kept = `the oldest block kept is ${toQuantity(oldest)}`
    const before = `, and the state before a block is kept from ${toQuantity(oldest + 1)} on`
    return wire(4444, `pruned history unavailable: ${kept}${needsParent ? before : ''}`)
  },
  ResourceNotFound: ({ why }) => wire(-32001, why),
  NoState: () => wire(-32000, 'this network holds no state'),
  NoReceipts: () => wire(-32000, 'this network holds no receipts'),
  NoAccountHistory: () => wire(-32000, 'this network does not hold when accounts changed'),
  NoAccumulator: ({ number }) =>
    wire(-32000, `block ${toQuantity(number)} is in no epoch that was checked against an accumulator`),
  ExecutionReverted({ reason, data, json }) {
    const text = json ?? hexText(data)
    // Short text is part of the error object.
    const shown = typeof text === 'string' ? text.slice(1, -1) : text
    return wire(3, reason === undefined ? 'execution reverted' : `execution reverted: ${reason}`, shown)
  },
  GasExceedsAllowance: ({ allowance }) => wire(-32000, `gas required exceeds allowance (${allowance})`),
  FeeHistoryRefused: ({ why }) => wire(-32000, why),
  MessageRefused: ({ why }) => wire(-32000, why),
  ExecutionFailed: ({ why }) => wire(-32000, why),
  SimulationRefused: ({ rule, why }) => wire(simulationCodes.get(rule) ?? -32603, why),
  ExecutionTimedOut: ({ limitSeconds }) => wire(-32000, `execution aborted (timeout = ${limitSeconds}s)`),
  ExecutionOutOfMemory: ({ limitBytes }) =>
    wire(-32000, `execution aborted (memory limit = ${Math.floor(limitBytes / 2 ** 20)} MiB)`),
  TraceTooLarge: ({ limitBytes, isWhole }) => {
    const otherwise = isWhole ? ', or ask alone over HTTP, which sends traces in parts' : ''
    return wire(
      -32003,
      `response too large: the trace has more than ${limitBytes} bytes; trace less at once${otherwise}`,
    )
  },
  RequestTimedOut: () => wire(-32002, 'request timed out'),
  ResponseTooLarge: () => wire(-32003, 'response too large'),
  Unauthorized: ({ why }) => wire(-32001, `unauthorized: ${why}`),
  MethodNotAllowed: ({ method }) => wire(-32004, `method ${method} is not allowed for this API key`),
  NetworkNotAllowed: ({ network }) => wire(-32004, `network ${network} is not allowed for this API key`),
  LimitExceeded: ({ what, limit, retryAfterMs }) =>
    wire(-32005, `limit exceeded: ${what}`, { limit, retryAfterMs }),
  ServerBusy: ({ why, retryAfterMs }) =>
    wire(-32005, why === undefined ? 'server busy' : `server busy: ${why}`, { retryAfterMs }),
  InvokeRefused: ({ code, text }) => wire(code, invokeErrorMessages[code], text),
  TransactionHashNotFound: () => wire(29, 'Transaction hash not found'),
  SubmissionsFull: ({ what, retryAfterMs }) =>
    wire(-32005, `server busy: ${what}; this transaction was not taken`, { retryAfterMs }),
  SubmissionsUnread: ({ retryAfterMs }) =>
    wire(-32000, 'submitted transactions cannot be read at the moment; ask again later', { retryAfterMs }),
  NotStored: ({ isUnsure, retryAfterMs }) =>
    wire(
      -32000,
      isUnsure
        ? 'this transaction may have been stored; ask for its status, or send it again'
        : 'this transaction could not be stored; send it again later',
      { retryAfterMs },
    ),
}

function wire(code: number, message: string, data?: unknown): WireError {
  return data === undefined ? { code, message } : { code, message, data }
}

export function faultToWireError(fault: Fault): WireError {
  return (wireErrors[fault.kind] as (fault: Fault) => WireError)(fault)
}

/** Codes of eth_simulateV1 (execution-apis, src/eth/execute.yaml), as far as go-ethereum uses them. */
const simulationCodes: ReadonlyMap<string | undefined, number> = new Map([
  ['nonceTooLow', -38010],
  ['nonceTooHigh', -38011],
  ['feeCapTooLow', -38012],
  ['tipAboveFeeCap', -32602],
  ['difficulty', -32602],
  ['intrinsicGas', -38013],
  ['funds', -38014],
  ['blockGas', -38015],
  ['blockNumber', -38020],
  ['blockTime', -38021],
  ['initcodeSize', -38025],
  ['size', -38026],
  ['empty', -32602],
])

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
 * The fault for an exception; undefined for a defect. State that is not stored is a fault. A known block has all its
 * parts, so a missing part is a defect.
 */
export function thrownToFault(thrown: unknown): Fault | undefined {
  if (thrown instanceof FaultError) return thrown.fault
  if (!(thrown instanceof NotStoredError) || thrown.wanted.kind !== 'state') return undefined
  return { kind: 'StateNotAvailable', stateRoot: bytesToHex(thrown.wanted.stateRoot) }
}

/**
 * Any exception as an `error` member. For a defect the caller gets `internal error` and an id; the log gets the same id
 * with the exception. So the caller gets no stack, path or key.
 */
export function thrownToWireError(thrown: unknown, where: string, log: DefectLog, keyId?: string): WireError {
  const fault = thrownToFault(thrown)
  if (fault !== undefined) return faultToWireError(fault)
  // 8 random bytes: unique in a log, and short enough to pass on.
  const id = randomBytes(8).toString('hex')
  log({ id, where, keyId, error: thrown })
  return { code: -32603, message: 'internal error', data: { id } }
}

/** `id` is JSON as the caller wrote it; `at` the hash of the block that the call was pinned to. */
export function renderErrorAnswer(id: string, error: WireError, at?: string): string {
  return `${errorHead(id, at)}${JSON.stringify(error)}}`
}

/** Like {@link renderErrorAnswer}, in pieces if the error has long data. */
export function renderError(
  id: string,
  { data, ...error }: WireError,
  at?: string,
): string | readonly (string | Uint8Array)[] {
  if (!(data instanceof Uint8Array)) return renderErrorAnswer(id, { ...error, data }, at)
  return [`${errorHead(id, at)}${JSON.stringify(error).slice(0, -1)},"data":`, data, '}}']
}

function errorHead(id: string, at: string | undefined): string {
  const pin = at === undefined ? '' : `"at":"${at}",`
  return `{"jsonrpc":"2.0","id":${id},${pin}"error":`
}
