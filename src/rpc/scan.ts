/**
 * Finds where things stand in JSON text without building values.
 *
 * {@link scanCall} reads a call of the form nearly all clients send and gives up (returns −1) on anything else.
 * {@link skipValue} and {@link lastMemberSpan} walk any JSON. None of them recurses, so depth costs nothing.
 */

const quoteCode = 0x22
const backslashCode = 0x5c
const commaCode = 0x2c
const colonCode = 0x3a
const openBracketCode = 0x5b
const closeBracketCode = 0x5d
const openBraceCode = 0x7b
const closeBraceCode = 0x7d
const minusCode = 0x2d
const zeroCode = 0x30
const nineCode = 0x39

/** Offsets into the scanned text; an end is exclusive. Reused from call to call, so read it before the next scan. */
export interface CallSpans {
  /** The id as written, with its quotes if it is a string. */
  idStart: number
  idEnd: number
  /** The method's name without its quotes. */
  methodStart: number
  methodEnd: number
  /** The params array with its brackets; both 0 when there is none. */
  paramsStart: number
  paramsEnd: number
}

export function createCallSpans(): CallSpans {
  return { idStart: 0, idEnd: 0, methodStart: 0, methodEnd: 0, paramsStart: 0, paramsEnd: 0 }
}

/** The first offset at or after `i` that holds no JSON whitespace. */
export function skipSpace(text: string, i: number): number {
  let at = i
  for (;;) {
    const code = text.charCodeAt(at)
    if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return at
    at++
  }
}

const seenJsonrpc = 1
const seenId = 2
const seenMethod = 4
const seenParams = 8

/**
 * Reads the call object that starts at `start`, fills `spans` and returns the offset after its closing brace.
 *
 * Accepts exactly: the members `jsonrpc` ("2.0"), `id` (an integer or a string), `method` (a string) and optionally
 * `params` (an array), each once, in any order, with any whitespace; ASCII only, and escapes only inside params.
 * Returns −1 for everything else, valid or not. The text between `paramsStart` and `paramsEnd` has balanced
 * brackets but may still not be JSON: if it is, then the whole call is valid JSON.
 */
export function scanCall(text: string, start: number, spans: CallSpans): number {
  if (text.charCodeAt(start) !== openBraceCode) return -1
  let seen = 0
  let i = start + 1
  spans.paramsStart = 0
  spans.paramsEnd = 0
  for (;;) {
    i = skipSpace(text, i)
    let bit: number
    if (text.startsWith('"jsonrpc"', i)) {
      bit = seenJsonrpc
      i = valueStart(text, i + 9)
      if (!text.startsWith('"2.0"', i)) return -1
      i += 5
    } else if (text.startsWith('"id"', i)) {
      bit = seenId
      i = valueStart(text, i + 4)
      spans.idStart = i
      i = text.charCodeAt(i) === quoteCode ? plainStringEnd(text, i) : integerEnd(text, i)
      spans.idEnd = i
    } else if (text.startsWith('"method"', i)) {
      bit = seenMethod
      i = valueStart(text, i + 8)
      if (text.charCodeAt(i) !== quoteCode) return -1
      spans.methodStart = i + 1
      i = plainStringEnd(text, i)
      spans.methodEnd = i - 1
    } else if (text.startsWith('"params"', i)) {
      bit = seenParams
      i = valueStart(text, i + 8)
      if (text.charCodeAt(i) !== openBracketCode) return -1
      spans.paramsStart = i
      i = containerEnd(text, i)
      spans.paramsEnd = i
    } else return -1
    if (i < 0 || (seen & bit) !== 0) return -1
    seen |= bit
    i = skipSpace(text, i)
    const code = text.charCodeAt(i++)
    if (code === commaCode) continue
    if (code !== closeBraceCode) return -1
    return (seen & (seenJsonrpc | seenId | seenMethod)) === (seenJsonrpc | seenId | seenMethod) ? i : -1
  }
}

/** The start of the value whose key ends at `i`; an offset past the text if there is no colon. */
function valueStart(text: string, i: number): number {
  const at = skipSpace(text, i)
  return text.charCodeAt(at) === colonCode ? skipSpace(text, at + 1) : text.length
}

/** The end of a string without escapes and outside ASCII nothing, or −1. `i` is at its opening quote. */
function plainStringEnd(text: string, i: number): number {
  for (let at = i + 1; ; at++) {
    const code = text.charCodeAt(at)
    if (code === quoteCode) return at + 1
    // Written so that the NaN past the end of the text fails it too.
    if (!(code >= 0x20 && code < 0x7f) || code === backslashCode) return -1
  }
}

/** The end of an integer as JSON writes it, or −1. */
function integerEnd(text: string, i: number): number {
  let at = text.charCodeAt(i) === minusCode ? i + 1 : i
  const first = text.charCodeAt(at)
  if (!(first >= zeroCode && first <= nineCode)) return -1
  at++
  if (first === zeroCode) return at
  for (;;) {
    const code = text.charCodeAt(at)
    if (!(code >= zeroCode && code <= nineCode)) return at
    at++
  }
}

/** The end of the array or object at `i`, by counting brackets outside strings; −1 if it has none or leaves ASCII. */
function containerEnd(text: string, i: number): number {
  let depth = 0
  for (let at = i; ; at++) {
    const code = text.charCodeAt(at)
    if (code === quoteCode) {
      for (;;) {
        const inside = text.charCodeAt(++at)
        if (inside === quoteCode) break
        if (inside === backslashCode) at++
        else if (!(inside < 0x80)) return -1
      }
    } else if (code === openBracketCode || code === openBraceCode) depth++
    else if (code === closeBracketCode || code === closeBraceCode) {
      if (--depth === 0) return at + 1
    } else if (!(code < 0x80)) return -1
  }
}

/**
 * The end of the value at `i`: of the right value for valid JSON, of something or −1 otherwise.
 * Always ends, and costs time in proportion to what it passes.
 */
export function skipValue(text: string, i: number): number {
  const first = text.charCodeAt(i)
  if (first === quoteCode) return stringEnd(text, i)
  if (first !== openBracketCode && first !== openBraceCode) return literalEnd(text, i)
  let depth = 0
  for (let at = i; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === quoteCode) {
      at = stringEnd(text, at) - 1
      if (at < 0) return -1
    } else if (code === openBracketCode || code === openBraceCode) depth++
    else if ((code === closeBracketCode || code === closeBraceCode) && --depth === 0) return at + 1
  }
  return -1
}

function stringEnd(text: string, i: number): number {
  for (let at = i + 1; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === quoteCode) return at + 1
    if (code === backslashCode) at++
  }
  return -1
}

const literalPattern = /[-+.0-9A-Za-z]+/y

function literalEnd(text: string, i: number): number {
  literalPattern.lastIndex = i
  return literalPattern.test(text) ? literalPattern.lastIndex : -1
}

/**
 * The value of the member `key` of the object at `start`, exactly as written; undefined if there is none.
 * Of several the last counts, as for JSON.parse, and a key may be written with escapes. The object is valid JSON.
 */
export function lastMemberText(text: string, start: number, key: string): string | undefined {
  let found: string | undefined
  let i = skipSpace(text, start + 1)
  while (text.charCodeAt(i) === quoteCode) {
    const keyEnd = stringEnd(text, i)
    const written = text.slice(i, keyEnd)
    const value = valueStart(text, keyEnd)
    const valueEnd = skipValue(text, value)
    if (valueEnd < 0) throw new RangeError('not an object of valid JSON')
    if (JSON.parse(written) === key) found = text.slice(value, valueEnd)
    i = skipSpace(text, valueEnd)
    if (text.charCodeAt(i) === commaCode) i = skipSpace(text, i + 1)
  }
  return found
}
