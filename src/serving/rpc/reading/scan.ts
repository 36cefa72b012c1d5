/**
 * Finds positions in JSON without building values, on the bytes of its UTF-8 text: all structural characters of JSON
 * are ASCII, and V8 reads bytes several times as fast as characters of a string.
 *
 * {@link scanCall} reads a call in the form that nearly all clients send and returns −1 for anything else.
 * {@link memberSpan} walks any JSON. Neither uses recursion.
 */

import { asBuffer } from '../../../primitives/bytes.js'

const quote = 0x22
const backslash = 0x5c
const comma = 0x2c
const colon = 0x3a
const openBracket = 0x5b
const closeBracket = 0x5d
const openBrace = 0x7b
const closeBrace = 0x7d
const minus = 0x2d
const zero = 0x30
const nine = 0x39

/**
 * Deepest nesting of arrays and objects, the outermost included. Real requests have at most 8. JSON.parse takes 6 s
 * and 1.7 GB for 32 MiB of `[`, and a recursive walk runs out of stack at 10,000.
 */
export const nestingMax = 64

/** Offsets into the scanned bytes; an end is exclusive. Reused from call to call: read it before the next scan. */
export interface CallSpans {
  /** The id as written, with its quotes if it is a string. */
  idStart: number
  idEnd: number
  /** The method's name without its quotes. */
  methodStart: number
  methodEnd: number
  /** The params array with its brackets; both 0 where there is none. */
  paramsStart: number
  paramsEnd: number
}

export function createCallSpans(): CallSpans {
  return { idStart: 0, idEnd: 0, methodStart: 0, methodEnd: 0, paramsStart: 0, paramsEnd: 0 }
}

/** The first offset from `i` on that is not JSON whitespace; `end` if there is none before it. */
export function skipSpace(bytes: Uint8Array, i: number, end = bytes.length): number {
  let at = i
  while (at < end) {
    const byte = bytes[at] as number
    if (byte > 0x20 || (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09)) return at
    at++
  }
  return at
}

const jsonrpcKey = Buffer.from('"jsonrpc"')
const jsonrpcValue = Buffer.from('"2.0"')
const idKey = Buffer.from('"id"')
const methodKey = Buffer.from('"method"')
const paramsKey = Buffer.from('"params"')

const seenJsonrpc = 1
const seenId = 2
const seenMethod = 4
const seenParams = 8
const seenRequired = seenJsonrpc | seenId | seenMethod

/**
 * Reads the call object that starts at `start`, fills `spans` and returns the offset after its closing brace.
 *
 * Accepts exactly: the members `jsonrpc` ("2.0"), `id` (an integer or a string), `method` (a string) and optionally
 * `params` (an array), each once, in any order, with any whitespace; ASCII only, and escapes only inside params.
 * Returns −1 for everything else, valid or not. The bytes between `paramsStart` and `paramsEnd` have balanced
 * brackets but may still not be JSON: if they are, then the whole call is valid JSON.
 */
export function scanCall(bytes: Uint8Array, start: number, spans: CallSpans): number {
  if (bytes[start] !== openBrace) return -1
  let seen = 0
  let i = start + 1
  spans.paramsStart = 0
  spans.paramsEnd = 0
  for (;;) {
    i = skipSpace(bytes, i)
    let member: number
    // The character after the quote tells the four keys apart.
    switch (bytes[i + 1]) {
      case 0x6a:
        member = seenJsonrpc
        i = matchEnd(bytes, valueStart(bytes, matchEnd(bytes, i, jsonrpcKey)), jsonrpcValue)
        break
      case 0x69:
        member = seenId
        i = valueStart(bytes, matchEnd(bytes, i, idKey))
        spans.idStart = i
        i = bytes[i] === quote ? plainStringEnd(bytes, i) : integerEnd(bytes, i)
        spans.idEnd = i
        break
      case 0x6d:
        member = seenMethod
        i = valueStart(bytes, matchEnd(bytes, i, methodKey))
        spans.methodStart = i + 1
        i = plainStringEnd(bytes, i)
        spans.methodEnd = i - 1
        break
      case 0x70:
        member = seenParams
        i = valueStart(bytes, matchEnd(bytes, i, paramsKey))
        spans.paramsStart = i
        i = arrayEnd(bytes, i)
        spans.paramsEnd = i
        break
      default:
        return -1
    }
    if (i < 0 || (seen & member) !== 0) return -1
    seen |= member
    i = skipSpace(bytes, i)
    const byte = bytes[i++]
    if (byte === comma) continue
    return byte === closeBrace && (seen & seenRequired) === seenRequired ? i : -1
  }
}

export function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= zero && byte <= nine
}

/** The offset after the last byte before `i` that is not whitespace. */
export function skipSpaceBack(bytes: Uint8Array, i: number): number {
  let at = i
  while (at > 0) {
    const byte = bytes[at - 1]
    if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return at
    at--
  }
  return at
}

/** The end of `pattern` at `i`, or −1 if the bytes differ. */
function matchEnd(bytes: Uint8Array, i: number, pattern: Uint8Array): number {
  return i >= 0 && isAt(bytes, i, pattern) ? i + pattern.length : -1
}

/** Whether `pattern` is at `i`. */
export function isAt(bytes: Uint8Array, i: number, pattern: Uint8Array): boolean {
  for (let k = 0; k < pattern.length; k++) if (bytes[i + k] !== pattern[k]) return false
  return true
}

/** The start of the value whose key ends at `i`, or −1 if there is no colon. */
function valueStart(bytes: Uint8Array, i: number): number {
  if (i < 0) return -1
  const at = skipSpace(bytes, i)
  return bytes[at] === colon ? skipSpace(bytes, at + 1) : -1
}

/** The end of the string at `i`, or −1 if there is none, or it contains an escape or anything but printable ASCII. */
export function plainStringEnd(bytes: Uint8Array, i: number): number {
  if (bytes[i] !== quote) return -1
  for (let at = i + 1; at < bytes.length; at++) {
    const byte = bytes[at] as number
    if (byte === quote) return at + 1
    if (byte < 0x20 || byte >= 0x7f || byte === backslash) return -1
  }
  return -1
}

/** The end of the value at `i`, if that is a string as {@link plainStringEnd} reads it or no string; or −1. */
export function plainValueEnd(bytes: Uint8Array, i: number): number {
  return bytes[i] === quote ? plainStringEnd(bytes, i) : literalEnd(bytes, i)
}

/** The end of the JSON integer at `i`, or −1. */
export function integerEnd(bytes: Uint8Array, i: number): number {
  if (i < 0) return -1
  let at = bytes[i] === minus ? i + 1 : i
  if (bytes[at] === zero) return at + 1
  const digits = at
  while (isDigit(bytes[at])) at++
  return at > digits ? at : -1
}

/** Bytes that end the plain part of a string: a quote, a backslash, and what is not ASCII. */
const stopsText = new Uint8Array(256).fill(1, 0x80)
stopsText[quote] = 1
stopsText[backslash] = 1

/**
 * The end of the array at `i`, by counting brackets outside strings; −1 if there is none, if it is not ASCII, or if
 * it is nested too deeply for a call's params. Most bytes are in strings, and take half as long by a table.
 */
export function arrayEnd(bytes: Uint8Array, i: number): number {
  if (i < 0 || bytes[i] !== openBracket) return -1
  const end = bytes.length
  let depth = 0
  for (let at = i; at < end; at++) {
    const byte = bytes[at] as number
    if (byte === quote) {
      at++
      for (;;) {
        while (at < end && stopsText[bytes[at] as number] === 0) at++
        if (bytes[at] === quote) break
        if (bytes[at] !== backslash) return -1
        at += 2
      }
    } else if (byte === openBracket || byte === openBrace) {
      // The call itself counts as one level.
      if (++depth === nestingMax) return -1
    } else if (byte === closeBracket || byte === closeBrace) {
      if (--depth === 0) return at + 1
    } else if (byte >= 0x80) return -1
  }
  return -1
}

/** The end of the value at `i` of valid JSON; of other JSON any offset or −1, in linear time. */
function skipValue(bytes: Uint8Array, i: number): number {
  const first = bytes[i]
  if (first === quote) return stringEnd(bytes, i)
  if (first !== openBracket && first !== openBrace) return literalEnd(bytes, i)
  let depth = 0
  for (let at = i; at < bytes.length; at++) {
    const byte = bytes[at] as number
    if (byte === quote) {
      at = stringEnd(bytes, at) - 1
      if (at < 0) return -1
    } else if (byte === openBracket || byte === openBrace) depth++
    else if ((byte === closeBracket || byte === closeBrace) && --depth === 0) return at + 1
  }
  return -1
}

/** The end of the string at `i`, or −1. */
function stringEnd(bytes: Uint8Array, i: number): number {
  const end = passString(bytes, i + 1, bytes.length)
  return end < 0 ? -1 : end
}

/** Bytes of a string that are checked one by one; after that the end is found by a native search. */
const shortStringBytes = 4_096

/**
 * The offset after the quote that ends the string around `start`. If there is none before `end`, `~offset` at which
 * to continue: `end`, or one more where the byte at `end` is escaped. A search passes 5 MiB in 0.2 ms, a loop over
 * bytes in 9 ms.
 */
export function passString(bytes: Uint8Array, start: number, end: number): number {
  let at = start
  while (at < end) {
    for (const stop = Math.min(at + shortStringBytes, end); at < stop; ) {
      const byte = bytes[at++]
      if (byte === backslash) at++
      else if (byte === quote) return at
    }
    if (at >= end) break
    const found = asBuffer(bytes.subarray(at, end)).indexOf(quote)
    const stop = found === -1 ? end : at + found
    let escapes = stop
    while (escapes > at && bytes[escapes - 1] === backslash) escapes--
    if ((stop - escapes) % 2 === 1) at = stop + 1
    else if (stop < end) return stop + 1
    else at = end
  }
  return ~at
}

/** The end of a number, `true`, `false` or `null`: the first character that cannot be part of one. */
function literalEnd(bytes: Uint8Array, i: number): number {
  let at = i
  while (at < bytes.length) {
    const byte = bytes[at] as number
    if (byte <= 0x20 || byte === comma || byte === closeBracket || byte === closeBrace) break
    at++
  }
  return at > i ? at : -1
}

/** Position of a value. */
export interface Span {
  readonly start: number
  readonly end: number
}

/**
 * Position of the value of member `key` of the object at `start`; undefined if there is none. Of several the last
 * counts, as in JSON.parse; keys may contain escapes. The input must be valid JSON in UTF-8; RangeError if not.
 */
export function memberSpan(bytes: Buffer, start: number, key: string): Span | undefined {
  let found: Span | undefined
  let i = skipSpace(bytes, start + 1)
  while (bytes[i] === quote) {
    const keyEnd = stringEnd(bytes, i)
    const valueAt = valueStart(bytes, keyEnd)
    const end = valueAt < 0 ? -1 : skipValue(bytes, valueAt)
    if (end < 0) throw new RangeError('not an object of valid JSON')
    if (isKey(bytes, i, keyEnd, key)) found = { start: valueAt, end }
    i = skipSpace(bytes, end)
    if (bytes[i] === comma) i = skipSpace(bytes, i + 1)
  }
  return found
}

/** Bytes of a character written as a `\u` escape. */
const escapeBytes = 6

/** Whether the JSON string between `start` and `end` equals `key`. Throws SyntaxError. */
export function isKey(bytes: Buffer, start: number, end: number, key: string): boolean {
  if (end - start > key.length * escapeBytes + 2) return false
  const first = bytes[start + 1]
  if (first !== key.charCodeAt(0) && first !== backslash) return false
  return JSON.parse(bytes.toString('utf8', start, end)) === key
}
