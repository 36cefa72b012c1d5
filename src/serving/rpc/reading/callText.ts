/**
 * The call being read, in memory that all calls share: the next call overwrites it. Its readers are closures over that
 * memory. V8 reads a byte of a constant array in six instructions, of a passed array in about 25 (scenario `slots-1k`).
 * Two zeros follow a call and end each loop; the second one is for the byte after a backslash.
 */
import { digitOf, latin1Text } from '../../../primitives/bytes.js'

const quote = 0x22
const backslash = 0x5c
const minus = 0x2d
const zero = 0x30

/** Maximum length of a call in this memory. */
export const callBytesMax = 100_000

/** The call itself, for rare readers, with room for comparing it with a longer pattern. */
export const callBytes = new Uint8Array(callBytesMax + 256)

/** A text for comparison, four bytes at a time. */
export interface Pattern {
  readonly length: number
  /** Little-endian; after the last byte are zeros. */
  readonly words: Int32Array
  /** Which bits of the last word count. */
  readonly mask: number
}

export function patternOf(bytes: Uint8Array): Pattern {
  const { length } = bytes
  const words = new Int32Array((length + 3) >> 2)
  for (let at = 0; at < length; at++) (words[at >> 2] as number) |= (bytes[at] as number) << (8 * (at & 3))
  return { length, words, mask: length % 4 === 0 ? -1 : (1 << (8 * (length % 4))) - 1 }
}

function findersOf(text: Uint8Array) {
  const plain = new Uint8Array(256).fill(1, 0x20, 0x7f)
  plain[quote] = 0
  plain[backslash] = 0
  const isDigit = (at: number) => ((text[at] as number) - zero) >>> 0 < 10

  /** The end of the string at `i`, or −1 if there is none, or it contains an escape or anything but printable ASCII. */
  function stringEnd(i: number): number {
    if (text[i] !== quote) return -1
    let at = (i + 1) | 0
    while (plain[text[at] as number] === 1) at = (at + 1) | 0
    return text[at] === quote ? at + 1 : -1
  }

  /** The end of the JSON integer at `i`, or −1. */
  function integerEnd(i: number): number {
    let at = text[i] === minus ? i + 1 : i
    if (text[at] === zero) return at + 1
    const digits = at
    while (isDigit(at)) at++
    return at > digits ? at : -1
  }

  /** The first offset from `i` on that is not JSON whitespace. */
  function spaceEnd(i: number): number {
    let at = i
    for (;;) {
      const byte = text[at] as number
      if (byte > 0x20 || (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09)) return at
      at++
    }
  }

  return { isDigit, stringEnd, integerEnd, spaceEnd }
}

function readersOf(text: Uint8Array) {
  const view = new DataView(text.buffer)
  const digits = Int8Array.from({ length: 256 }, (_, byte) => digitOf(byte))

  /** Takes a call of at most {@link callBytesMax}. */
  function takeCall(bytes: Uint8Array): void {
    text.set(bytes)
    text[bytes.length] = 0
    text[bytes.length + 1] = 0
  }

  function byteAt(at: number): number {
    return text[at] as number
  }

  function isAt(i: number, { words, mask }: Pattern): boolean {
    const last = words.length - 1
    if (i < 0) return false
    for (let k = 0; k < last; k++) if (view.getInt32(i + 4 * k, true) !== words[k]) return false
    return last < 0 || ((view.getInt32(i + 4 * last, true) ^ (words[last] as number)) & mask) === 0
  }

  /** Writes the hex digits from `start` up to `end` into the last bytes of `target`; false if one is no hex digit. */
  function readDigits(start: number, end: number, target: Uint8Array): boolean {
    let misfits = 0
    let to = target.length - 1
    let i = (end - 1) | 0
    for (; i > start; i = (i - 2) | 0) {
      const low = digits[text[i] as number] as number
      const high = digits[text[i - 1] as number] as number
      misfits |= low | high
      target[to--] = (high << 4) | low
    }
    if (i < start) return misfits >= 0
    const last = digits[text[i] as number] as number
    target[to] = last
    return (misfits | last) >= 0
  }

  function hashOf(start: number, end: number): number {
    let hash = end - start
    for (let at = start; at < end; at++) hash = (Math.imul(hash, 31) + (text[at] as number)) | 0
    return hash ^ (hash >>> 9)
  }

  return { takeCall, byteAt, isAt, readDigits, hashOf }
}

export const { isDigit, stringEnd, integerEnd, spaceEnd } = findersOf(callBytes)
export const { takeCall, byteAt, isAt, readDigits, hashOf } = readersOf(callBytes)

/** The text between `start` and `end`, which must be ASCII. */
export function textBetween(start: number, end: number): string {
  return latin1Text(callBytes, start, end)
}
