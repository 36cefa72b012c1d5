/**
 * From the text of a request to its calls. Owns what JSON-RPC 2.0 says of a request object: versions, ids,
 * notifications, batches. Does not own methods or their parameters.
 *
 * There are two ways to read a call. The fast one takes the common form apart without building values, so that a
 * repeated question needs no JSON.parse at all; the general one takes everything. Both give the same calls.
 */
import { isAscii, isUtf8 } from 'node:buffer'
import { asBuffer } from '../primitives/bytes.js'
import { type Fault, FaultError } from '../primitives/faults.js'
import { createCallSpans, lastMemberText, scanCall, skipSpace, skipValue } from './scan.js'

/** One member of a request. */
export type Call<Known> =
  /** Not a call: answered with `invalid request`. */
  | { readonly kind: 'invalid'; readonly id: string }
  /** A call whose very text was asked before: `known` is what the lookup gave for it. */
  | { readonly kind: 'known'; readonly id: string; readonly known: Known }
  | {
      readonly kind: 'call'
      /** The id as JSON, byte for byte as the caller wrote it; undefined for a notification. */
      readonly id: string | undefined
      readonly method: string
      readonly params: unknown
      /** Stands for method and params as written; undefined when the call was read the general way. */
      readonly key: string | undefined
    }

export type Request<Known> =
  | { readonly kind: 'single'; readonly call: Call<Known> }
  | { readonly kind: 'batch'; readonly calls: readonly Call<Known>[] }

/** Longest method name; a longer one is no request. The longest real ones have about 45 characters. */
const methodLengthMax = 2048

const openBracketCode = 0x5b
const closeBracketCode = 0x5d
const openBraceCode = 0x7b
const commaCode = 0x2c

const spans = createCallSpans()

/**
 * Reads the text of a request body.
 *
 * `lookup` is asked with a call's key (method and params as written) and may give what is known for it; it must
 * know only keys of calls that this function gave out before. `batchMax` counts calls.
 * Throws FaultError: ParseError, EmptyBatch, BatchTooLarge.
 */
export function parseRequest<Known>(
  body: Uint8Array,
  batchMax: number,
  lookup: (key: string) => Known | undefined,
): Request<Known> {
  const buffer = asBuffer(body)
  const ascii = buffer.toString('latin1')
  const start = skipSpace(ascii, 0)
  if (ascii.charCodeAt(start) === openBraceCode) {
    const end = scanCall(ascii, start, spans)
    // A scanned call is ASCII, and so is whitespace: what was read as Latin-1 is what UTF-8 would have given.
    if (end !== -1 && skipSpace(ascii, end) === ascii.length) {
      const call = scannedCall(ascii, lookup)
      if (call !== undefined) return { kind: 'single', call }
    }
  }
  const text = isAscii(buffer) ? ascii : utf8Text(buffer)
  if (text.charCodeAt(start) === openBracketCode) {
    return { kind: 'batch', calls: parseBatch(text, start + 1, batchMax, lookup) }
  }
  return { kind: 'single', call: generalCall(text) }
}

function utf8Text(buffer: Buffer): string {
  if (!isUtf8(buffer)) throw new FaultError({ kind: 'ParseError' })
  return buffer.toString('utf8')
}

/**
 * The call that the last scan found. Undefined where the scanner's reading is not enough: bad JSON inside
 * params, or a name that is too long.
 */
function scannedCall<Known>(
  text: string,
  lookup: (key: string) => Known | undefined,
): Call<Known> | undefined {
  const { idStart, idEnd, methodStart, methodEnd, paramsStart, paramsEnd } = spans
  const id = text.slice(idStart, idEnd)
  // The usual `"method":"x","params":[…]` holds the key as one piece; the same piece is built for other layouts.
  // A method holds no quote here, so no two questions share a key.
  const key =
    paramsStart === methodEnd + keySeparator.length
      ? text.slice(methodStart, paramsEnd)
      : text.slice(methodStart, methodEnd) + keySeparator + text.slice(paramsStart, paramsEnd)
  const known = lookup(key)
  if (known !== undefined) return { kind: 'known', id, known }
  const method = text.slice(methodStart, methodEnd)
  if (method.length > methodLengthMax) return undefined
  try {
    const params: unknown = paramsEnd === 0 ? undefined : JSON.parse(text.slice(paramsStart, paramsEnd))
    return { kind: 'call', id, method, params, key }
  } catch {
    return undefined
  }
}

const keySeparator = '","params":'

/** Reads the members of a batch, from the offset after its opening bracket. */
function parseBatch<Known>(
  text: string,
  start: number,
  batchMax: number,
  lookup: (key: string) => Known | undefined,
): Call<Known>[] {
  const bounds = memberBounds(text, start, batchMax)
  if (bounds.length === 0) throw new FaultError({ kind: 'EmptyBatch' })
  const calls: Call<Known>[] = []
  for (let i = 0; i < bounds.length; i += 2) {
    const from = bounds[i] as number
    const to = bounds[i + 1] as number
    const scanned = scanCall(text, from, spans) === to ? scannedCall(text, lookup) : undefined
    calls.push(scanned ?? generalCall(text.slice(from, to)))
  }
  return calls
}

/**
 * Start and end offsets of a batch's members, in turn. Counting comes before parsing, because JSON.parse of
 * 280,000 small calls holds the event loop for 112 ms, and passing over 1,000 of them takes well under one.
 */
function memberBounds(text: string, start: number, batchMax: number): number[] {
  const bounds: number[] = []
  let i = skipSpace(text, start)
  if (text.charCodeAt(i) !== closeBracketCode) {
    for (;;) {
      const end = skipValue(text, i)
      if (end < 0) throw new FaultError({ kind: 'ParseError' })
      if (bounds.length === batchMax * 2) throw new FaultError({ kind: 'BatchTooLarge' })
      bounds.push(i, end)
      i = skipSpace(text, end)
      if (text.charCodeAt(i) === closeBracketCode) break
      if (text.charCodeAt(i) !== commaCode) throw new FaultError({ kind: 'ParseError' })
      i = skipSpace(text, i + 1)
    }
  }
  if (skipSpace(text, i + 1) !== text.length) throw new FaultError({ kind: 'ParseError' })
  return bounds
}

/** Any JSON value as a call. Throws ParseError when it is not JSON. */
function generalCall(text: string): Call<never> {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw new FaultError({ kind: 'ParseError' } satisfies Fault)
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return { kind: 'invalid', id: 'null' }
  const { jsonrpc, id, method, params } = value as Record<string, unknown>
  const hasId = Object.hasOwn(value, 'id')
  if (hasId && id !== null && typeof id !== 'string' && typeof id !== 'number') {
    return { kind: 'invalid', id: 'null' }
  }
  // The value JSON.parse made of an id may have lost digits or escapes, so it is echoed from the text.
  const idText = hasId ? lastMemberText(text, skipSpace(text, 0), 'id') : undefined
  if (jsonrpc !== '2.0' || typeof method !== 'string' || method.length > methodLengthMax) {
    return { kind: 'invalid', id: idText ?? 'null' }
  }
  return { kind: 'call', id: idText, method, params, key: undefined }
}
