/**
 * The meaning of a sequencer's errors for a transaction. Errors are codes of the rollup's JSON-RPC specification (write
 * API, 0.10.2), of JSON-RPC and of services in front of sequencers. Gateways use error names instead. docs/rollup.md
 * has the same table for operators.
 *
 *   meaning     consequence
 *   known       the sequencer has it: accepted
 *   final       refused: rejected with this code
 *   asked       refused, perhaps because it was executed before: rejected only if the sequencer does not have it
 *   transient   not about this transaction: another attempt, as long as the transaction may wait
 *   (no entry)  another attempt, a bounded number of times; then as `final` with 63
 */

import type { Rejection } from '../../data/store/node/submissions.js'
import type { InvokeErrorCode } from '../../primitives/faults.js'

/** The meaning of an error. `rejection` of `unknown` applies when no attempts are left. */
export type Meaning =
  | { readonly kind: 'known' }
  | { readonly kind: 'final' | 'asked'; readonly rejection: Rejection }
  | UnknownAnswer
  | { readonly kind: 'transient'; readonly text: string }

interface UnknownAnswer {
  readonly kind: 'unknown'
  readonly rejection: Rejection
}

type RejectionRule = readonly ['final' | 'asked', InvokeErrorCode]
type Entry = 'known' | 'transient' | RejectionRule

const codes: ReadonlyMap<number, Entry> = new Map<number, Entry>([
  [52, ['asked', 52]], // INVALID_TRANSACTION_NONCE
  [53, ['final', 53]], // INSUFFICIENT_RESOURCES_FOR_VALIDATE
  [54, ['final', 54]], // INSUFFICIENT_ACCOUNT_BALANCE
  [55, ['final', 55]], // VALIDATION_FAILURE
  [58, ['final', 58]], // NON_ACCOUNT
  [59, 'known'], // DUPLICATE_TX
  [61, ['final', 61]], // UNSUPPORTED_TX_VERSION
  [63, ['final', 63]], // UNEXPECTED_ERROR
  [64, ['final', 64]], // REPLACEMENT_TRANSACTION_UNDERPRICED
  [65, ['final', 65]], // FEE_BELOW_MINIMUM
  [69, ['final', 69]], // INVALID_PROOF
  // Errors of declarations and deployments: unexpected here, but a verdict.
  [28, ['final', 63]], // CLASS_HASH_NOT_FOUND
  [50, ['final', 63]], // INVALID_CONTRACT_CLASS
  [51, ['final', 63]], // CLASS_ALREADY_DECLARED
  [56, ['final', 63]], // COMPILATION_FAILED
  [57, ['final', 63]], // CONTRACT_CLASS_SIZE_IS_TOO_LARGE
  [60, ['final', 63]], // COMPILED_CLASS_HASH_MISMATCH
  [62, ['final', 63]], // UNSUPPORTED_CONTRACT_CLASS_VERSION
  // Invalid parameters: this service has checked them, so another attempt would not help.
  [-32602, ['final', 63]],
  // A server in trouble, or a wrong prefix: not caused by this transaction.
  [-32603, 'transient'],
  [-32601, 'transient'],
  // Too many requests, by provider: EIP-1474 and most; QuickNode; Base; Ankr and Chainstack; Alchemy.
  [-32005, 'transient'],
  [-32007, 'transient'],
  [-32016, 'transient'],
  [-32029, 'transient'],
  [-32090, 'transient'],
  [-32097, 'transient'],
  // HTTP statuses used as a code.
  ...[401, 403, 404, 408, 429, 500, 502, 503, 504].map((status) => [status, 'transient'] as const),
])

const names: ReadonlyMap<string, Entry> = new Map<string, Entry>([
  ['DUPLICATED_TRANSACTION', 'known'],
  ['INVALID_TRANSACTION_NONCE', ['asked', 52]],
  ['INSUFFICIENT_MAX_FEE', ['final', 53]],
  ['INSUFFICIENT_RESOURCES_FOR_VALIDATE', ['final', 53]],
  ['INSUFFICIENT_ACCOUNT_BALANCE', ['final', 54]],
  ['VALIDATE_FAILURE', ['final', 55]],
  ['ENTRY_POINT_NOT_FOUND_IN_CONTRACT', ['final', 58]],
  ['INVALID_TRANSACTION_VERSION', ['final', 61]],
  ['REPLACEMENT_TRANSACTION_UNDERPRICED', ['final', 64]],
  ['FEE_BELOW_MINIMUM', ['final', 65]],
  ['INVALID_PROOF', ['final', 69]],
  ['TRANSACTION_LIMIT_EXCEEDED', 'transient'],
  ['InternalError', 'transient'],
  ...[
    'CLASS_ALREADY_DECLARED',
    'CLASS_HASH_NOT_FOUND',
    'COMPILATION_FAILED',
    'CONTRACT_BYTECODE_SIZE_TOO_LARGE',
    'CONTRACT_CLASS_OBJECT_SIZE_TOO_LARGE',
    'DEPRECATED_ENDPOINT',
    'DEPRECATED_TRANSACTION',
    'INVALID_COMPILED_CLASS_HASH',
    'INVALID_CONTRACT_CLASS',
    'INVALID_CONTRACT_CLASS_VERSION',
    'INVALID_CONTRACT_DEFINITION',
    'INVALID_PROGRAM',
    'INVALID_SIGNATURE',
    'INVALID_TRANSACTION_QUERYING_VERSION',
    'MALFORMED_REQUEST',
    'NON_PERMITTED_CONTRACT',
    'OUT_OF_RANGE_CONTRACT_ADDRESS',
    'OUT_OF_RANGE_FEE',
    'OUT_OF_RANGE_TRANSACTION_VERSION',
    'SCHEMA_VALIDATION_ERROR',
    'TRANSACTION_FAILED',
    'UNAUTHORIZED_ENTRY_POINT_FOR_INVOKE',
    'UNDECLARED_CLASS',
    'UNINITIALIZED_CONTRACT',
    'UNSUPPORTED_SELECTOR_FOR_FEE',
  ].map((name) => [name, ['final', 63]] as const),
])

/** Codes whose explanation the caller gets. */
const explained: ReadonlySet<InvokeErrorCode> = new Set([55, 63] as const)

/** Longest explanation kept: the trace of a failed validation fits, a page of HTML does not. */
const textMax = 4_096

/** The meaning of an `error` member of JSON-RPC; its values may be anything. */
export function codeToMeaning(code: unknown, message: string, data: unknown): Meaning {
  const entry = typeof code === 'number' ? codes.get(code) : undefined
  if (Array.isArray(entry)) return toMeaning(entry as RejectionRule, textOf(data) || message)
  return toMeaning(entry, joinWords(textOf(code), message, textOf(data)))
}

/**
 * The meaning of a gateway's error: `{"code": "StarknetErrorCode.NAME", "message": …}`, with or without the part
 * before NAME.
 */
export function nameToMeaning(name: string, message: string): Meaning {
  const bare = name.slice(name.lastIndexOf('.') + 1)
  if (bare === 'VALIDATE_FAILURE' && /nonce/i.test(message)) return toMeaning(['asked', 52], message)
  const entry = names.get(bare)
  return toMeaning(entry, entry?.[1] === 55 ? message : joinWords(bare, message))
}

/** An unknown answer, as a text for the operator and, once attempts are used up, the caller. */
export function unknownAnswer(text: string): UnknownAnswer {
  return { kind: 'unknown', rejection: { code: 63, text: keptText(text) } }
}

function toMeaning(entry: Entry | undefined, text: string): Meaning {
  if (entry === undefined) return unknownAnswer(text)
  if (entry === 'known') return { kind: entry }
  if (entry === 'transient') return { kind: entry, text }
  const [kind, code] = entry
  return {
    kind,
    rejection: { code, text: explained.has(code) && text !== '' ? keptText(text) : undefined },
  }
}

/** PostgreSQL stores no text with a NUL, which the author of an account may have put into an error message. */
function keptText(text: string): string {
  return text.slice(0, textMax).replaceAll('\0', '\ufffd')
}

function textOf(value: unknown): string {
  if (value === undefined || value === null) return ''
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function joinWords(...words: readonly string[]): string {
  return words.filter((word) => word !== '').join(': ')
}
