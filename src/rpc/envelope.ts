/**
 * From the bytes of a request to its calls. Owns what JSON-RPC 2.0 says of a request object: versions, ids,
 * notifications, batches. Does not own methods or their parameters.
 *
 * There are two ways to read a call. The fast one takes the common form apart without building values, so that a
 * repeated question needs no JSON.parse at all; the general one takes everything. Both give the same calls.
 */
import { isAscii, isUtf8, transcode } from 'node:buffer'
import { asBuffer } from '../primitives/bytes.js'
import { type BodyLimits, BodyScan, parseFault, valuesMax } from './bodyScan.js'
import { findCallHead } from './longCall.js'
import { createCallSpans, guessId, memberSpan, type Span, scanCall, skipSpace } from './scan.js'

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
      /**
       * The whole call as it was written, in memory that nothing else uses, where its `params` were not read; it may
       * turn out to be no JSON ({@link parseCallText}).
       */
      readonly text?: Uint8Array
    }

/** What a call asks: its text without its id; of a call that begins as most do, what follows the id alone. */
export interface Question {
  /** ASCII. */
  readonly text: string
  /** Where the id was cut out. */
  readonly idAt: number
}

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

/** Longest id; what a longer one costs to be read and echoed serves nobody. Real ones have 40 characters at most. */
const idBytesMax = 64 * 1024

/** Longest call that may be known. A proof of ten slots has about 900 bytes; longer questions seldom repeat. */
export const knownBytesMax = 1_024

/**
 * Longest text whose params are taken out before they are parsed: in so few bytes there are no more values than may
 * be. A longer one is passed over first (bodyScan.ts) and parsed whole.
 */
const fastBytesMax = valuesMax

/** Longest body of which one string is made: each further MiB takes a millisecond at once. */
const wholeTextBytesMax = 1024 * 1024

/**
 * Longest body that is read at once. A log filter of this length takes 0.5 ms from its bytes to its answer, a list of
 * small numbers 0.3 ms to be parsed; what is longer takes turns with others (turns.ts).
 */
export const usualBytesMax = 16 * 1024

const openBrace = 0x7b
const digitZero = 0x30

const spans = createCallSpans()

/**
 * Reads a short body that is a single call of the common form, as most are; nothing of it is kept. Undefined for any other:
 * {@link RequestReader} reads it. `lookup` must know only questions that this function and the reader gave out before.
 */
export function readUsualCall<Known>(body: Uint8Array, lookup: Lookup<Known>): Call<Known> | undefined {
  if (body.length > usualBytesMax) return undefined
  const start = skipSpace(body, 0)
  return body[start] === openBrace
    ? fastCall(new BodyText(body, true), start, body.length, lookup)
    : undefined
}

/** How a body is to be read. */
export interface Reading {
  /** Its memory is the reader's from now on. */
  readonly isGiven?: boolean
  /** Whether long calls of a method are left as text. */
  staysText?(method: string): boolean
}

/**
 * Reads any body in parts none of which takes long: first {@link pass} until it returns true, then {@link read} each
 * call. The body is read where it lies; who goes on in another turn calls {@link keep} before.
 */
export class RequestReader<Known> {
  readonly #scan: BodyScan
  #text: BodyText
  readonly #reading: Reading
  #isKept: boolean
  #read = 0

  /** Throws FaultError: ParseError. */
  constructor(body: Uint8Array, limits: BodyLimits, reading: Reading = {}) {
    this.#scan = new BodyScan(limits)
    this.#reading = reading
    this.#isKept = reading.isGiven ?? false
    this.#text = new BodyText(body, isAscii(body))
    if (!this.#text.ascii && !isUtf8(body)) throw parseFault()
  }

  /**
   * Passes over the next part of the body; true once the end is reached.
   * Throws FaultError: ParseError, EmptyBatch, BatchTooLarge, and InvalidRequest where a bound of bodyScan.ts is crossed.
   */
  pass(): boolean {
    return this.#scan.pass(this.#text.bytes)
  }

  get isBatch(): boolean {
    return this.#scan.isBatch
  }

  /** Calls that are still to be read. */
  get left(): number {
    return this.#scan.bounds.length / 2 - this.#read
  }

  /** Length of the call that was read last. */
  get bytesRead(): number {
    const { bounds } = this.#scan
    return (bounds[this.#read * 2 - 1] as number) - (bounds[this.#read * 2 - 2] as number)
  }

  /** Reads the next call. Throws FaultError: ParseError. */
  read(lookup: Lookup<Known>): Call<Known> {
    const { bounds } = this.#scan
    const from = bounds[this.#read * 2] as number
    const to = bounds[this.#read * 2 + 1] as number
    const signs = this.#scan.signs.get(this.#read++)
    const unread = signs && this.#readHead(from, to, signs)
    if (unread !== undefined) return unread
    return fastCall(this.#text, from, to, lookup) ?? generalCall(this.#text, from, to)
  }

  /** A call whose text is left as it is; undefined for one that is to be read. */
  #readHead(from: number, to: number, signs: readonly number[]): Call<never> | undefined {
    const { staysText } = this.#reading
    const head = staysText && findCallHead(this.#text.bytes, from, to, signs)
    const method = head && this.#shortValue(head.method)
    if (head === undefined || typeof method !== 'string' || !staysText?.(method)) return undefined
    if (this.#shortValue(head.jsonrpc) !== '2.0') return undefined
    const id = this.#shortValue(head.id)
    // What is long or wrong is for the general way to refuse.
    if (head.id !== undefined && id !== null && typeof id !== 'string' && typeof id !== 'number')
      return undefined
    if (head.at !== undefined && isLong(head.at)) return undefined
    const idText = head.id && this.#text.slice(head.id.start, head.id.end)
    const at = this.#shortValue(head.at)
    return {
      kind: 'call',
      id: idText,
      method,
      params: undefined,
      at,
      question: undefined,
      text: this.#cut(from, to),
    }
  }

  /** A value that is not longer than an id may be; undefined for none and for a longer one. Throws ParseError. */
  #shortValue(span: Span | undefined): unknown {
    return span === undefined || isLong(span) ? undefined : parseJson(this.#text.slice(span.start, span.end))
  }

  /** A part of the body, in memory that nothing else uses; the body's own where that holds no other call. */
  #cut(from: number, to: number): Uint8Array {
    const part = this.#text.bytes.subarray(from, to)
    return this.#isKept && !this.isBatch ? part : new Uint8Array(part)
  }

  /** Makes the reader independent of the body's memory. */
  keep(): void {
    if (this.#isKept) return
    this.#isKept = true
    this.#text = new BodyText(new Uint8Array(this.#text.bytes), this.#text.ascii)
  }
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
    if (!this.ascii) return decodeUtf8(asBuffer(this.bytes).subarray(start, end))
    if (this.bytes.length > wholeTextBytesMax) return asBuffer(this.bytes).toString('latin1', start, end)
    this.#whole ??= asBuffer(this.bytes).toString('latin1')
    return this.#whole.slice(start, end)
  }
}

/** From this length on UTF-8 is turned to UTF-16 first, which takes 15 ms for 5 MiB; V8 takes 40 to 80 ms. */
const transcodedBytesMin = 64 * 1024

/** Valid UTF-8 as text. */
function decodeUtf8(bytes: Buffer): string {
  if (bytes.length < transcodedBytesMin) return bytes.toString('utf8')
  return transcode(bytes, 'utf8', 'utf16le').toString('utf16le')
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
  if (end - start > fastBytesMax) return undefined
  const mayBeKnown = end - start <= knownBytesMax
  if (mayBeKnown && guessId(bytes, start, end, spans)) {
    const known = lookup(bytes, questionStart(start), spans.idStart, spans.idEnd, end)
    if (known !== undefined) return { kind: 'known', id: idText(text, spans.idStart, spans.idEnd), known }
  }
  const scanEnd = scanCall(bytes, start, spans)
  if (scanEnd === -1 || (scanEnd !== end && skipSpace(bytes, scanEnd) !== end)) return undefined
  const { idStart, idEnd, methodStart, methodEnd, paramsStart, paramsEnd } = spans
  if (methodEnd - methodStart > methodLengthMax || idEnd - idStart > idBytesMax) return undefined
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

function isLong({ start, end }: Span): boolean {
  return end - start > idBytesMax
}

/** Throws ParseError. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw parseFault()
  }
}

/** The `params` of a call whose text was left as it is. Throws FaultError: ParseError. */
export function parseCallText(text: Uint8Array): unknown {
  const { params } = parseJson(new BodyText(text, isAscii(text)).slice(0, text.length)) as {
    params?: unknown
  }
  return params
}

/** Any JSON value as a call. Throws ParseError when it is not JSON. */
function generalCall(text: BodyText, start: number, end: number): Call<never> {
  const value = parseJson(text.slice(start, end))
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
    if (span !== undefined && span.end - span.start > idBytesMax) return { kind: 'invalid', id: 'null' }
    if (span !== undefined) idText = text.slice(span.start, span.end)
  }
  if (jsonrpc !== '2.0' || typeof method !== 'string' || method.length > methodLengthMax) {
    return { kind: 'invalid', id: idText ?? 'null' }
  }
  return { kind: 'call', id: idText, method, params, at, question: undefined }
}
