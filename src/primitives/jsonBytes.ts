/**
 * Writes JSON that is mostly hex (chain objects, proofs) directly as bytes. Owns the spelling of wire values, and the
 * growing memory of a text.
 *
 * Values are passed as an array with start and end. A view of each would take longer than writing 32 bytes as hex, and
 * Buffer's own `toString('hex')` takes three times as long (scenario `block-full-uncached`).
 */
import { ownMemory, takeBuffer } from './bufferPool.js'
import { bytesToHex } from './bytes.js'
import { briefSlab } from './slab.js'

/** The two hex digits of each byte as a little-endian pair: the first digit in the low byte. */
const digitPairs = new Uint16Array(256)
for (let byte = 0; byte < 256; byte++) {
  const digits = byte.toString(16).padStart(2, '0')
  digitPairs[byte] = digits.charCodeAt(0) | (digits.charCodeAt(1) << 8)
}

const quote = 0x22
const zero = 0x30
const lowerX = 0x78

/** `"0x`, little-endian; the next write overwrites the fourth byte. */
const hexStart = quote | (zero << 8) | (lowerX << 16)

/** Eight digits `0`. */
const zeros = ascii('00000000').words[0] as number

/** Largest integer for which V8 computes with 32 bits, and its digits. */
const int32Max = 2 ** 31 - 1
const decimalsMax = 10

/** Largest memory that is kept for the next text: a block with 500 transactions and their receipts. */
const keptBytesMax = 1024 * 1024

/** Longest short text, and longest shared memory: while one text of it is referenced, all of it stays. */
const lentBytesMax = briefSlab.sharedBytesMax
const sharedBytesMax = 64 * 1024

/** Position of something written, for {@link JsonBytes.again}. */
export interface Written {
  readonly start: number
  readonly end: number
}

/** Text that is written often; see {@link ascii}. */
export interface Constant {
  readonly length: number
  /**
   * Bytes of the text, little-endian, eight in each word, and zeros after the last. The words are 64-bit numbers, which
   * V8 stores unchanged. ASCII never makes a NaN, whose bits could change.
   */
  readonly words: Float64Array
}

/** For each name the text `,"name":`. */
export function memberNames<const N extends string>(...names: readonly N[]): Readonly<Record<N, Constant>> {
  return Object.fromEntries(names.map((name) => [name, ascii(`,"${name}":`)])) as Record<N, Constant>
}

/**
 * Short ASCII text for {@link JsonBytes.constant}, which takes a quarter of the time of `Uint8Array.set`. With that,
 * the names of a block's members took a sixth of the time of writing it (scenario `block-full-uncached`).
 */
export function ascii(text: string): Constant {
  const view = new DataView(new ArrayBuffer(text.length + 7))
  for (let i = 0; i < text.length; i++) view.setUint8(i, text.charCodeAt(i))
  const words = new Float64Array(Math.ceil(text.length / 8))
  for (let word = 0; word < words.length; word++) words[word] = view.getFloat64(8 * word, true)
  return { length: text.length, words }
}

export const openBracket = ascii('[')
export const closeBracket = ascii(']')
export const closeBrace = ascii('}')
export const comma = ascii(',')

/** Maximum bytes that are converted to hex at once. The string of this many is collected as young garbage. */
const hexPieceBytes = 64 * 1024

/**
 * `"0x…"`, two digits per byte, in memory of its own. For long bytes: as a string they would be encoded as UTF-8 again
 * before sending. 2 MiB take 4 ms.
 */
export function hexJson(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const text = Buffer.allocUnsafeSlow(2 * bytes.length + 4)
  let end = text.write('"0x', 'latin1')
  const { buffer, byteOffset, length } = bytes
  const source = Buffer.from(buffer as ArrayBuffer, byteOffset, length)
  for (let start = 0; start < length; start += hexPieceBytes)
    end += text.write(source.toString('hex', start, start + hexPieceBytes), end, 'latin1')
  text[end] = 0x22
  return text
}

/** Up to this size hex is text. Text is encoded as UTF-8 a second time, to be joined with its surroundings. */
const shortBytesMax = 8 * 1024

/** `"0x…"` as text, or as {@link hexJson} for long bytes. */
export function hexText(bytes: Uint8Array): string | Uint8Array {
  return bytes.length <= shortBytesMax ? `"${bytesToHex(bytes)}"` : hexJson(bytes)
}

/**
 * A text under construction. A part that is already written can be repeated by copying it. Compared with joined strings
 * this saves two copies of the whole text and their garbage.
 */
export class JsonBytes {
  #memory: ArrayBuffer
  #bytes: Uint8Array<ArrayBuffer>
  /** View of the same memory, to write several digits at once at any offset. */
  #view: DataView
  /** Start of the text: after other texts in use that share the memory. */
  #start = 0
  /** End of the text. */
  #end = 0

  /** Reserves `expected` bytes; the memory grows as needed. */
  constructor(expected: number) {
    this.#memory = ownMemory(expected).buffer
    this.#bytes = new Uint8Array(this.#memory)
    this.#view = new DataView(this.#memory)
  }

  get length(): number {
    return this.#end - this.#start
  }

  /** Everything written, a view that is valid until the next write. */
  get written(): Uint8Array {
    return this.#bytes.subarray(this.#start, this.#end)
  }

  /**
   * Begins an empty text, in the same memory unless that is longer than {@link keptBytesMax}, or nearly used up by
   * short texts.
   */
  clear(): void {
    this.#end = this.#start
    const bytes = this.#bytes.length
    if (bytes > keptBytesMax) this.#move(keptBytesMax)
    else if (this.#start > Math.max(0, bytes - lentBytesMax)) this.#move(bytes)
  }

  /** Removes everything from `length` on. */
  cut(length: number): void {
    this.#end = this.#start + length
  }

  /** Writes ASCII text. */
  text(text: string): void {
    this.#reserve(text.length)
    const bytes = this.#bytes
    let at = this.#end
    for (let i = 0; i < text.length; i++) bytes[at++] = text.charCodeAt(i)
    this.#end = at
  }

  /**
   * Writes ASCII text with values: bytes as {@link hex}, bigints as {@link quantity}, absent ones as null, and text and
   * numbers unchanged.
   */
  put(
    texts: TemplateStringsArray,
    ...values: readonly (string | number | bigint | Uint8Array | undefined)[]
  ): void {
    this.text(texts[0] as string)
    for (let i = 0; i < values.length; i++) {
      const value = values[i]
      if (value instanceof Uint8Array) this.hex(value)
      else if (typeof value === 'bigint') this.quantity(value)
      else this.text(value === undefined ? 'null' : String(value))
      this.text(texts[i + 1] as string)
    }
  }

  /** Writes an integer in decimal digits. */
  decimal(value: number | bigint): void {
    if (value > int32Max || value < 0) {
      this.text(String(value))
      return
    }
    let rest = Number(value) | 0
    let length = 1
    for (let power = 10; length < decimalsMax && rest >= power; power *= 10) length++
    this.#reserve(length)
    const bytes = this.#bytes
    const end = this.#end + length
    for (let at = end - 1; at >= this.#end; at--) {
      const next = (rest / 10) | 0
      bytes[at] = zero + rest - next * 10
      rest = next
    }
    this.#end = end
  }

  constant({ length, words }: Constant): void {
    // The next write overwrites the zeros after the last byte.
    this.#reserve(length + 7)
    const view = this.#view
    let at = this.#end
    this.#end = at + length
    for (let word = 0; word < words.length; word++, at += 8) view.setFloat64(at, words[word] as number, true)
  }

  raw(source: Uint8Array): void {
    this.#reserve(source.length)
    this.#bytes.set(source, this.#end)
    this.#end += source.length
  }

  /** Writes `"0x…"`, two digits per byte. */
  hex(source: Uint8Array, start = 0, end = source.length): void {
    this.#open((end - start) * 2)
    this.#close(this.#pairs(source, start, end, this.#end))
  }

  /** Writes the same as {@link hex}; faster if nearly all bytes are zero, as in blooms. */
  sparseHex(source: Uint8Array, start: number, end: number): void {
    this.#open((end - start) * 2)
    const view = this.#view
    let at = this.#end
    let i = start
    for (; i + 8 <= end; i += 8, at += 16) {
      if (areZeros(source, i)) {
        view.setFloat64(at, zeros, true)
        view.setFloat64(at + 8, zeros, true)
      } else this.#pairs(source, i, i + 8, at)
    }
    this.#close(this.#pairs(source, i, end, at))
  }

  /** Writes big-endian bytes as a quantity: no leading zeros, `"0x0"` for zero or no bytes. */
  quantityOf(source: Uint8Array, start: number, end: number): void {
    let first = start
    while (first < end && source[first] === 0) first++
    this.#open((end - first) * 2 + 1)
    const bytes = this.#bytes
    let at = this.#end
    if (first === end) bytes[at++] = zero
    else if ((source[first] as number) < 0x10) bytes[at++] = digitOf(source[first++] as number)
    this.#close(this.#pairs(source, first, end, at))
  }

  /** Writes 32 little-endian bytes as a quantity. */
  quantityOfWord(source: Uint8Array, start: number): void {
    let last = start + 31
    while (last > start && source[last] === 0) last--
    this.#open((last + 1 - start) * 2)
    const bytes = this.#bytes
    let at = this.#end
    const first = source[last] as number
    if (first < 0x10) {
      bytes[at++] = digitOf(first)
      last--
    }
    for (let i = last; i >= start; i--) {
      this.#view.setUint16(at, digitPairs[source[i] as number] as number, true)
      at += 2
    }
    this.#close(at)
  }

  /** Writes a non-negative integer as a quantity. */
  quantity(value: number | bigint): void {
    if (typeof value === 'bigint' && value > Number.MAX_SAFE_INTEGER) {
      this.text(`"0x${value.toString(16)}"`)
      return
    }
    const number = Number(value)
    this.#open(14)
    const upper = Math.floor(number / 0x1_0000_0000)
    const lower = number >>> 0
    if (upper > 0) this.#digits(upper, hexLength(upper))
    this.#digits(lower, upper > 0 ? 8 : hexLength(lower))
    this.#close(this.#end)
  }

  /** Repeats the text from `start` up to `end`. */
  again(start: number, end: number): void {
    this.#reserve(end - start)
    this.#bytes.copyWithin(this.#end, this.#start + start, this.#start + end)
    this.#end += end - start
  }

  /** The text from `start` on, as a string. */
  textFrom(start: number): string {
    const from = this.#start + start
    return Buffer.from(this.#memory, from, this.#end - from).toString('latin1')
  }

  /**
   * The whole text, in memory of its own and of its own length. With `isBrief` it is for immediate use. Then a short
   * text shares memory with other short ones, without a copy if this memory is small enough. A long one is in reusable
   * memory ({@link takeBuffer}).
   */
  finish(isBrief = false): Uint8Array<ArrayBuffer> {
    const { length } = this
    if (isBrief && length <= lentBytesMax) {
      if (this.#bytes.length > sharedBytesMax) return briefSlab.copy(this.written, length)
      const text = new Uint8Array(this.#memory, this.#start, length)
      this.#start = this.#end
      return text
    }
    // Uninitialised, because all of it is overwritten.
    const copy = isBrief ? takeBuffer(length) : (Buffer.allocUnsafeSlow(length) as Uint8Array<ArrayBuffer>)
    copy.set(this.written)
    return copy
  }

  /** Writes `"0x` and reserves room for `digits` digits. */
  #open(digits: number): void {
    this.#reserve(digits + 4)
    this.#view.setInt32(this.#end, hexStart, true)
    this.#end += 3
  }

  /**
   * Writes two digits per byte at `to`, which must have room, and returns their end. Eight bytes are read before any
   * digit is written, because after each write V8 checks its assumptions about an array again (scenario
   * `block-random`).
   */
  #pairs(source: Uint8Array, start: number, end: number, to: number): number {
    const view = this.#view
    const pairs = digitPairs
    let at = to
    let i = start
    for (; i + 7 < end; i += 8) {
      const first =
        (pairs[source[i] as number] as number) | ((pairs[source[i + 1] as number] as number) << 16)
      const second =
        (pairs[source[i + 2] as number] as number) | ((pairs[source[i + 3] as number] as number) << 16)
      const third =
        (pairs[source[i + 4] as number] as number) | ((pairs[source[i + 5] as number] as number) << 16)
      const fourth =
        (pairs[source[i + 6] as number] as number) | ((pairs[source[i + 7] as number] as number) << 16)
      view.setInt32(at, first, true)
      view.setInt32(at + 4, second, true)
      view.setInt32(at + 8, third, true)
      view.setInt32(at + 12, fourth, true)
      at += 16
    }
    for (; i < end; i++) {
      view.setUint16(at, pairs[source[i] as number] as number, true)
      at += 2
    }
    return at
  }

  #close(at: number): void {
    this.#bytes[at] = quote
    this.#end = at + 1
  }

  /** Writes the last `count` hex digits of an unsigned 32-bit integer. */
  #digits(value: number, count: number): void {
    const bytes = this.#bytes
    let at = this.#end
    for (let shift = (count - 1) * 4; shift >= 0; shift -= 4) {
      bytes[at++] = digitOf((value >>> shift) & 0xf)
    }
    this.#end = at
  }

  #reserve(more: number): void {
    if (this.#end + more > this.#bytes.length) this.#grow(this.length + more)
  }

  /**
   * Gets memory for `needed` bytes of this text. If other texts take most of the old memory, the new one may be of the
   * same length.
   */
  #grow(needed: number): void {
    const bytes = this.#bytes.length
    const { written } = this
    this.#move(needed <= bytes ? bytes : Math.max(needed, bytes * 2))
    this.#bytes.set(written)
    this.#end = written.length
  }

  /** Continues in new memory, uninitialised and empty. */
  #move(bytes: number): void {
    this.#memory = ownMemory(bytes).buffer
    this.#bytes = new Uint8Array(this.#memory)
    this.#view = new DataView(this.#memory)
    this.#start = 0
    this.#end = 0
  }
}

/** At most 32 big-endian bytes as a word of 32, `"0x…"`, for immediate use. */
export function hexWord(source: Uint8Array): Uint8Array {
  const word = briefSlab.take(68)
  const pairs = digitPairs
  word[0] = quote
  word[1] = zero
  word[2] = lowerX
  let at = 3
  for (const first = 67 - 2 * source.length; at < first; at++) word[at] = zero
  for (let i = 0; i < source.length; i++) {
    const pair = pairs[source[i] as number] as number
    word[at] = pair
    word[at + 1] = pair >>> 8
    at += 2
  }
  word[at] = quote
  return word
}

/** Whether the eight bytes from `at` on are zeros. */
function areZeros(b: Uint8Array, at: number): boolean {
  const first = (b[at] as number) | (b[at + 1] as number) | (b[at + 2] as number) | (b[at + 3] as number)
  return (
    (first |
      (b[at + 4] as number) |
      (b[at + 5] as number) |
      (b[at + 6] as number) |
      (b[at + 7] as number)) ===
    0
  )
}

/** The hex digit of a number below 16, as ASCII. */
function digitOf(value: number): number {
  return (digitPairs[value] as number) >>> 8
}

/** Number of hex digits of an unsigned 32-bit integer. */
function hexLength(value: number): number {
  return Math.max(1, 8 - (Math.clz32(value) >>> 2))
}
