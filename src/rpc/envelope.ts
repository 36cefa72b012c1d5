/**
 * From the bytes of a request to its calls. Owns what JSON-RPC 2.0 says of a request object: versions, ids,
 * notifications, batches. Does not own methods or their parameters.
 *
 * There are two ways to read a call. The fast one takes the common form apart without building values, so that a
 * repeated question needs no JSON.parse at all; the general one takes everything. Both give the same calls.
 */
import { isAscii, isUtf8 } from 'node:buffer'
import { asBuffer } from '../primitives/bytes.js'
import { FaultError } from '../primitives/faults.js'
import { createCallSpans, guessId, memberSpan, scanCall, skipSpace, skipValue } from './scan.js'

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
      /** The block that the call is pinned to, as it was written; undefined where it names none. */
      readonly at: unknown
      /** Undefined for a call that is long or was read the general way. */
      readonly question: Question | undefined
    }

/** What a call asks: its text without its id; of a call that begins as most do, what follows the id alone. */
export interface Question {
  /** ASCII. */
  readonly text: string
  /** Where the id was cut out. */
  readonly idAt: number
}

export type Request<Known> =
  | { readonly kind: 'single'; readonly call: Call<Known> }
  | { readonly kind: 'batch'; readonly calls: readonly Call<Known>[] }

/**
 * What is known for the question whose text stands in `bytes` between `start` and `idStart` and between `idEnd` and
 * `end`, as for the {@link Question} of that text that was cut there.
 */
export type Lookup<Known> = (
  bytes: Uint8Array,
  start: number,
  idStart: number,
  idEnd: number,
  end: number,
) => Known | undefined

/** Longest method name; a longer one is no request. The longest real ones have about 45 characters. */
const methodLengthMax = 2048

/** Longest call that may be known. A proof of ten slots has about 900 bytes; longer questions seldom repeat. */
export const knownBytesMax = 1_024

const openBracket = 0x5b
const closeBracket = 0x5d
const openBrace = 0x7b
const comma = 0x2c
const digitZero = 0x30

const spans = createCallSpans()

/**
 * Reads a request body; nothing of it is kept. `batchMax` counts calls. `lookup` must know only
 * questions that this function gave out before.
 * Throws FaultError: ParseError, EmptyBatch, BatchTooLarge.
 */
export function parseRequest<Known>(
  body: Uint8Array,
  batchMax: number,
  lookup: Lookup<Known>,
): Request<Known> {
  const start = skipSpace(body, 0)
  if (body[start] === openBrace) {
    const call = fastCall(new BodyText(body, true), start, body.length, lookup)
    if (call !== undefined) return { kind: 'single', call }
  }
  const text = new BodyText(body, isAscii(body))
  if (!text.ascii && !isUtf8(body)) throw parseFault()
  if (body[start] === openBracket) {
    return { kind: 'batch', calls: parseBatch(text, start + 1, batchMax, lookup) }
  }
  return { kind: 'single', call: generalCall(text, 0, body.length) }
}

/**
 * Text of a body by byte offsets: cut from one string where bytes are characters, decoded piece by piece else.
 * That string is made when it is first needed, and for questions that are known never.
 */
class BodyText {
  #whole: string | undefined

  constructor(
    readonly bytes: Uint8Array,
    readonly ascii: boolean,
  ) {}

  slice(start: number, end: number): string {
    if (!this.ascii) return asBuffer(this.bytes).toString('utf8', start, end)
    this.#whole ??= asBuffer(this.bytes).toString('latin1')
    return this.#whole.slice(start, end)
  }
}

/**
 * The call that fills the text between `start` and `end`, if it is of the common form. Undefined for any other, for
 * bad JSON inside params, and for a name that is too long.
 *
 * Its text may have been read as Latin-1: what the scan accepts, and so every question, is ASCII.
 */
function fastCall<Known>(
  text: BodyText,
  start: number,
  end: number,
  lookup: Lookup<Known>,
): Call<Known> | undefined {
  const { bytes } = text
  const mayBeKnown = end - start <= knownBytesMax
  if (mayBeKnown && guessId(bytes, start, end, spans)) {
    const known = lookup(bytes, questionStart(start), spans.idStart, spans.idEnd, end)
    if (known !== undefined) return { kind: 'known', id: idText(text, spans.idStart, spans.idEnd), known }
  }
  const scanEnd = scanCall(bytes, start, spans)
  if (scanEnd === -1 || (scanEnd !== end && skipSpace(bytes, scanEnd) !== end)) return undefined
  const { idStart, idEnd, methodStart, methodEnd, paramsStart, paramsEnd } = spans
  if (methodEnd - methodStart > methodLengthMax) return undefined
  const id = text.slice(idStart, idEnd)
  let question: Question | undefined
  if (mayBeKnown) {
    const from = questionStart(start)
    const known = lookup(bytes, from, idStart, idEnd, end)
    if (known !== undefined) return { kind: 'known', id, known }
    question = { text: text.slice(from, idStart) + text.slice(idEnd, end), idAt: idStart - from }
  }
  try {
    const params: unknown = paramsEnd === 0 ? undefined : JSON.parse(text.slice(paramsStart, paramsEnd))
    return { kind: 'call', id, method: text.slice(methodStart, methodEnd), params, at: undefined, question }
  } catch {
    return undefined
  }
}

/** Where the question begins of the call at `start` that was looked at last: the most usual head is left out. */
function questionStart(start: number): number {
  return spans.hasUsualHead ? spans.idStart : start
}

/** Most digits of an id that is read as a number. */
const idDigitsMax = 9

/** An id that {@link guessId} found, as text. */
function idText(text: BodyText, start: number, end: number): string {
  if (end - start > idDigitsMax) return text.slice(start, end)
  let value = 0
  for (let at = start; at < end; at++) {
    const digit = (text.bytes[at] as number) - digitZero
    // A quote or a sign, which both come before the digits.
    if (digit < 0) return text.slice(start, end)
    value = value * 10 + digit
  }
  return String(value)
}

/** Reads the members of a batch, from the offset after its opening bracket. */
function parseBatch<Known>(
  text: BodyText,
  start: number,
  batchMax: number,
  lookup: Lookup<Known>,
): Call<Known>[] {
  const bounds = memberBounds(text.bytes, start, batchMax)
  if (bounds.length === 0) throw new FaultError({ kind: 'EmptyBatch' })
  const calls: Call<Known>[] = []
  for (let i = 0; i < bounds.length; i += 2) {
    const from = bounds[i] as number
    const to = bounds[i + 1] as number
    calls.push(fastCall(text, from, to, lookup) ?? generalCall(text, from, to))
  }
  return calls
}

/**
 * Start and end offsets of a batch's members, in turn. Counting comes before parsing, because JSON.parse of
 * 280,000 small calls holds the event loop for 112 ms, and passing over 1,000 of them takes a fraction of one.
 */
function memberBounds(bytes: Uint8Array, start: number, batchMax: number): number[] {
  const bounds: number[] = []
  let i = skipSpace(bytes, start)
  if (bytes[i] !== closeBracket) {
    for (;;) {
      const end = skipValue(bytes, i)
      if (end < 0) throw parseFault()
      if (bounds.length === batchMax * 2) throw new FaultError({ kind: 'BatchTooLarge' })
      bounds.push(i, end)
      i = skipSpace(bytes, end)
      if (bytes[i] === closeBracket) break
      if (bytes[i] !== comma) throw parseFault()
      i = skipSpace(bytes, i + 1)
    }
  }
  if (skipSpace(bytes, i + 1) !== bytes.length) throw parseFault()
  return bounds
}

/** Any JSON value as a call. Throws ParseError when it is not JSON. */
function generalCall(text: BodyText, start: number, end: number): Call<never> {
  let value: unknown
  try {
    value = JSON.parse(text.slice(start, end))
  } catch {
    throw parseFault()
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return { kind: 'invalid', id: 'null' }
  const { jsonrpc, id, method, params, at } = value as Record<string, unknown>
  const hasId = Object.hasOwn(value, 'id')
  if (hasId && id !== null && typeof id !== 'string' && typeof id !== 'number') {
    return { kind: 'invalid', id: 'null' }
  }
  let idText: string | undefined
  if (hasId) {
    // The value JSON.parse made of an id may have lost digits or escapes, so it is echoed from the text.
    const span = memberSpan(asBuffer(text.bytes), skipSpace(text.bytes, start), 'id')
    if (span !== undefined) idText = text.slice(span.start, span.end)
  }
  if (jsonrpc !== '2.0' || typeof method !== 'string' || method.length > methodLengthMax) {
    return { kind: 'invalid', id: idText ?? 'null' }
  }
  return { kind: 'call', id: idText, method, params, at, question: undefined }
}

function parseFault(): FaultError {
  return new FaultError({ kind: 'ParseError' })
}
