/** What sequencers say when they refuse a transaction, in their own words, as the codes of this service. */
import { type InvokeRefusalCode, invokeRefusalCodes } from '../primitives/faults.js'
import type { Rejection } from '../store/submissions.js'

/** Names of gateways that have a code of their own here. The rest is 63. */
const codeOfName: ReadonlyMap<string, InvokeRefusalCode> = new Map([
  ['DUPLICATED_TRANSACTION', 59],
  ['INSUFFICIENT_ACCOUNT_BALANCE', 54],
  ['INSUFFICIENT_MAX_FEE', 53],
  ['INVALID_TRANSACTION_NONCE', 52],
  ['VALIDATE_FAILURE', 55],
  ['INVALID_TRANSACTION_VERSION', 61],
  ['ENTRY_POINT_NOT_FOUND_IN_CONTRACT', 58],
  ['INVALID_PROOF', 69],
])

/** Codes that come with an explanation for the caller. */
const explained: ReadonlySet<number> = new Set([55, 63])

/** Longest explanation that is kept: the trace of a failed validation fits, a page of HTML does not. */
const textMax = 4_096

/** Whether a name, with or without `StarknetErrorCode.` before it, is one that has a code here. */
export function isKnownName(name: string): boolean {
  return codeOfName.has(bareName(name))
}

/** A refusal by a gateway: `{"code": "StarknetErrorCode.NAME", "message": …}`. */
export function nameToRejection(name: string, message: string): Rejection {
  const bare = bareName(name)
  const code = codeOfName.get(bare)
  if (code === undefined) return toRejection(63, message === '' ? bare : `${bare}: ${message}`)
  return toRejection(code === 55 && /nonce/i.test(message) ? 52 : code, message)
}

/** A refusal by an `error` member with one of the codes of this interface; undefined for any other code. */
export function codeToRejection(code: unknown, message: string, data: unknown): Rejection | undefined {
  const known = invokeRefusalCodes.find((candidate) => candidate === code)
  if (known === undefined) return undefined
  return toRejection(
    known,
    typeof data === 'string' ? data : data === undefined ? message : JSON.stringify(data),
  )
}

function toRejection(code: InvokeRefusalCode, text: string): Rejection {
  return { code, text: explained.has(code) && text !== '' ? text.slice(0, textMax) : undefined }
}

function bareName(name: string): string {
  return name.slice(name.lastIndexOf('.') + 1)
}
