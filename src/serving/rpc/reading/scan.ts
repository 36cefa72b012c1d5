/**
 * Finds positions in JSON without building values, on the bytes of its UTF-8 text. All structural characters of JSON
 * are ASCII, and V8 reads bytes several times as fast as characters of a string.
 *
 * {@link scanCall} reads a call in the form that nearly all clients send and returns −1 for anything else.
 */

import {
  callBytes,
  integerEnd,
  isAt,
  type Pattern,
  patternOf,
  stringEnd as plainStringEnd,
} from './callText.js'

const quote = 0x22
const backslash = 0x5c
const comma = 0x2c
const colon = 0x3a
const openBracket = 0x5b
const closeBracket = 0x5d
const openBrace = 0x7b
const closeBrace = 0x7d

/**
 * Maximum nesting of arrays and objects, the outermost included. Real requests have at most 8. JSON.parse takes 6 s and
 * 1.7 GB for 32 MiB of `[`, and a recursive walk runs out of stack at 10,000.
 */
export const nestingMax = 64

/** Offsets into the scanned bytes; an end is exclusive. Reused by each scan: read it before the next one. */
export interface CallSpans {
  /** The id as written, with its quotes if it is a string. */
  idStart: number
  idEnd: number
  /** The method's name without its quotes. */
  methodStart: number
  methodEnd: number
  /** Start and end of the params array with its brackets; both are 0 if there is none. */
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

const jsonrpcKey = patternOf(Buffer.from('"jsonrpc"'))
const jsonrpcValue = patternOf(Buffer.from('"2.0"'))
const idKey = patternOf(Buffer.from('"id"'))
const methodKey = patternOf(Buffer.from('"method"'))
const paramsKey = patternOf(Buffer.from('"params"'))

const seenJsonrpc = 1
const seenId = 2
const seenMethod = 4
const seenParams = 8
const seenRequired = seenJsonrpc | seenId | seenMethod

/**
 * Reads the call object at `start` of {@link callBytes}, fills `spans` and returns the offset after its closing brace.
 *
 * Accepts exactly the members `jsonrpc` ("2.0"), `id` (an integer or a string), `method` (a string) and optionally
 * `params` (an array). Each comes once, in any order, with any whitespace; ASCII only, and escapes only inside params.
 * Returns −1 for everything else, valid or not. The bytes between `paramsStart` and `paramsEnd` have balanced brackets
 * but may still not be JSON: if they are, then the whole call is valid JSON.
 */
export function scanCall(start: number, spans: CallSpans): number {
  const bytes = callBytes
  if (bytes[start] !== openBrace) return -1
  let seen = 0
  let i = start + 1
  spans.paramsStart = 0
  spans.paramsEnd = 0
  for (;;) {
    i = skipSpace(bytes, i)
    let member: number
    // The character after the quote distinguishes the four keys.
    switch (bytes[i + 1]) {
      case 0x6a:
        member = seenJsonrpc
        i = matchEnd(valueStart(bytes, matchEnd(i, jsonrpcKey)), jsonrpcValue)
        break
      case 0x69:
        member = seenId
        i = valueStart(bytes, matchEnd(i, idKey))
        spans.idStart = i
        if (i >= 0) i = bytes[i] === quote ? plainStringEnd(i) : integerEnd(i)
        spans.idEnd = i
        break
      case 0x6d:
        member = seenMethod
        i = valueStart(bytes, matchEnd(i, methodKey))
        spans.methodStart = i + 1
        if (i >= 0) i = plainStringEnd(i)
        spans.methodEnd = i - 1
        break
      case 0x70:
        member = seenParams
        i = valueStart(bytes, matchEnd(i, paramsKey))
        spans.paramsStart = i
        i = arrayEnd(i)
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

/** The end of `pattern` at `i`, or −1 if the bytes differ. */
function matchEnd(i: number, pattern: Pattern): number {
  return i >= 0 && isAt(i, pattern) ? i + pattern.length : -1
}

/** The start of the value whose key ends at `i`, or −1 if there is no colon. */
function valueStart(bytes: Uint8Array, i: number): number {
  if (i < 0) return -1
  const at = skipSpace(bytes, i)
  return bytes[at] === colon ? skipSpace(bytes, at + 1) : -1
}

/** Bytes that end the plain part of a string: a quote, a backslash, non-ASCII bytes, and the zero after the call. */
const stopsText = new Uint8Array(256).fill(1, 0x80)
stopsText[0] = 1
stopsText[quote] = 1
stopsText[backslash] = 1

/**
 * The end of the array at `i`, by counting brackets outside strings. Returns −1 if there is no array, if it is not
 * ASCII, or if it is nested too deeply. Most bytes are in strings; a table halves their time.
 */
export function arrayEnd(i: number): number {
  const bytes = callBytes
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
    } else if (byte >= 0x80 || byte === 0) return -1
  }
  return -1
}

/**
 * The end of the value at `i` of {@link callBytes} if it is a string without escapes, or not a string; otherwise −1.
 */
export function plainValueEnd(i: number): number {
  return callBytes[i] === quote ? plainStringEnd(i) : literalEnd(callBytes, i)
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
