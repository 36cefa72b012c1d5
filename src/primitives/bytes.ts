/**
 * Byte strings: hex in and out, comparison, concatenation, fixed-width big-endian integers, and the branded types
 * that parsers make.
 *
 * The process works on bytes; hex is used only where data enters and leaves it. Every function that returns bytes
 * returns fresh memory owned by the caller, unless its docstring says otherwise.
 */
import { excerpt } from './jsonType.js'

declare const brand: unique symbol

export const addressBytes = 20
export const hashBytes = 32
export const bloomBytes = 256
/** Shared: never write to them, and never transfer their memory. */
export const noBytes = new Uint8Array(0)
export const zeroAddress = new Uint8Array(addressBytes)
export const zeroHash = new Uint8Array(hashBytes) as Hash32

/** 20 bytes. Only {@link toAddress} and parsers of requests make one. */
export type Address = Uint8Array & { readonly [brand]: 'Address' }
/** 32 bytes: a hash or a storage slot. Only {@link toHash32} and parsers of requests make one. */
export type Hash32 = Uint8Array & { readonly [brand]: 'Hash32' }
/** Lower-case hexadecimal text with its `0x`. */
export type Hex = `0x${string}`

/** Views 20 bytes as an address, without copying. Throws RangeError for any other length. */
export function toAddress(bytes: Uint8Array): Address {
  if (bytes.length !== addressBytes) throw new RangeError(`an address has 20 bytes, got ${bytes.length}`)
  return bytes as Address
}

/**
 * Copies the first 32 bytes; the input must have that many. It is a loop, because a call of V8's runtime takes longer
 * (scenario `block-random`).
 */
export function leadingHash(bytes: Uint8Array): Hash32 {
  const hash = new Uint8Array(hashBytes)
  for (let at = 0; at < hashBytes; at++) hash[at] = bytes[at] as number
  return hash as Hash32
}

/** Views 32 bytes as a hash, without copying. Throws RangeError for any other length. */
export function toHash32(bytes: Uint8Array): Hash32 {
  if (bytes.length !== hashBytes) throw new RangeError(`a hash has 32 bytes, got ${bytes.length}`)
  return bytes as Hash32
}

/** A Buffer over the same memory; Buffer's native methods are faster than loops in JavaScript. */
export function asBuffer(bytes: Uint8Array): Buffer {
  return bytes instanceof Buffer ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

/** Buffer's methods work on any bytes. Making a Buffer first would cost twice as much again. */
const { hexSlice, latin1Slice } = Buffer.prototype as unknown as Record<
  'hexSlice' | 'latin1Slice',
  (this: Uint8Array, start: number, end: number) => string
>

/** Lower-case hex digits without `0x`. */
export function hexDigits(bytes: Uint8Array): string {
  return hexSlice.call(bytes, 0, bytes.length)
}

/** The bytes from `start` up to `end` as text with one character per byte. */
export function latin1Text(bytes: Uint8Array, start = 0, end = bytes.length): string {
  return latin1Slice.call(bytes, start, end)
}

/** Bytes as `0x…`, two digits a byte; `0x` for none. */
export function bytesToHex(bytes: Uint8Array): Hex {
  return `0x${hexDigits(bytes)}`
}

/** Big-endian bytes as a hex quantity: no leading zeros, `0x0` for zero or no bytes. */
export function bytesToQuantity(bytes: Uint8Array): Hex {
  const digits = hexDigits(bytes)
  let start = 0
  while (start < digits.length && digits.charCodeAt(start) === 0x30) start++
  return start === digits.length ? '0x0' : `0x${digits.slice(start)}`
}

/** Bytes as text with one character per byte, for the keys of Maps and Sets; cheaper than hex. */
export function latin1Key(bytes: Uint8Array): string {
  return latin1Text(bytes)
}

/** The bytes of a {@link latin1Key}. */
export function latin1KeyToBytes(key: string): Buffer<ArrayBuffer> {
  return Buffer.from(key, 'latin1')
}

/** A non-negative integer as a hex quantity. */
export function toQuantity(value: number | bigint): Hex {
  return `0x${value.toString(16)}`
}

/**
 * The integer of a hex quantity, with or without leading zeros; undefined for other values, and for more than 32 bytes.
 */
export function parseQuantity(value: unknown): bigint | undefined {
  return typeof value === 'string' && /^0x[0-9a-f]{1,64}$/i.test(value) ? BigInt(value) : undefined
}

/** Parses an even number of hex digits, with or without `0x`. Throws RangeError that quotes the text. */
export function hexToBytes(hex: string): Uint8Array<ArrayBuffer> {
  const bytes = digitsToBytes(hex, hex.startsWith('0x') ? 2 : 0)
  if (bytes === undefined) throw new RangeError(`not an even number of hex digits: ${excerpt(hex, 80)}`)
  return bytes
}

/**
 * UTF-16 code unit → its value as a hex digit, −1 for others. It covers all units, so that no index is out of range.
 */
const digitValues = new Int8Array(0x1_0000).fill(-1)
for (const digit of '0123456789abcdefABCDEF') digitValues[digit.charCodeAt(0)] = Number.parseInt(digit, 16)

/** Writes hex digits into the last bytes of `target`; false if a character is not a digit. */
export function writeDigits(text: string, start: number, target: Uint8Array): boolean {
  let misfits = 0
  let at = target.length - 1
  for (let i = text.length - 1; i >= start; i -= 2) {
    const low = digitValues[text.charCodeAt(i)] as number
    const high = i > start ? (digitValues[text.charCodeAt(i - 1)] as number) : 0
    misfits |= low | high
    target[at--] = (high << 4) | low
  }
  return misfits >= 0
}

/** The value of a hex digit in ASCII; −1 for any other byte. */
export function digitOf(byte: number): number {
  return digitValues[byte] as number
}

/** Longer ones are parsed by Node.js, whose call takes half a microsecond. */
const shortDigits = 128

/**
 * Bytes of the hex digits from `start` on, two each; undefined for any other text. 5 MiB of them take 7 ms. Reading the
 * characters of a text that was cut from another takes twice the instructions, so short digits stay in theirs.
 */
export function digitsToBytes(text: string, start = 0): Uint8Array<ArrayBuffer> | undefined {
  const { length } = text
  if ((length - start) % 2 === 1) return undefined
  const bytes = new Uint8Array((length - start) / 2)
  if (length <= shortDigits) return writeDigits(text, start, bytes) ? bytes : undefined
  // Node.js reads only the low eight bits of a character, so one beyond ASCII could pass for a digit.
  if (Buffer.byteLength(text) !== length) return undefined
  // `write` stops at the first character that is not a digit.
  return asBuffer(bytes).write(text.slice(start), 'hex') === bytes.length ? bytes : undefined
}

/** Bytes of a text `0x…`, with exactly `length` bytes if that is given; undefined for anything else. */
export function bytesOfHex(value: unknown, length?: number): Uint8Array<ArrayBuffer> | undefined {
  if (typeof value !== 'string' || !value.startsWith('0x')) return undefined
  return length === undefined || value.length === 2 + 2 * length ? digitsToBytes(value, 2) : undefined
}

/**
 * Big-endian bytes as a non-negative integer; zero for no bytes. Fast up to 12 bytes: most amounts on chains have no
 * more.
 */
export function bytesToBigInt(bytes: Uint8Array): bigint {
  const { length } = bytes
  if (length <= 6) return BigInt(smallAt(bytes, 0, length))
  if (length > 12) return BigInt(bytesToHex(bytes))
  const high = BigInt(smallAt(bytes, 0, length - 6))
  return (high << 48n) | BigInt(smallAt(bytes, length - 6, length))
}

/** At most 6 bytes as an integer. */
function smallAt(bytes: Uint8Array, start: number, end: number): number {
  let value = 0
  for (let i = start; i < end; i++) value = value * 256 + (bytes[i] as number)
  return value
}

/**
 * The big-endian integer from `start` up to `end`. A number if it has at most 6 bytes, as most integers on chains;
 * otherwise a bigint. A bigint is slower, because each operation is a call out of compiled code.
 */
export function integerAt(source: Uint8Array, start: number, end: number): number | bigint {
  return end - start > 6 ? bytesToBigInt(source.subarray(start, end)) : smallAt(source, start, end)
}

/** Big-endian bytes as a safe integer. Throws RangeError above 2^53 − 1. */
export function bytesToNumber(bytes: Uint8Array): number {
  let value = 0
  for (const byte of bytes) value = value * 256 + byte
  if (!Number.isSafeInteger(value)) throw new RangeError(`integer too large: ${bytesToHex(bytes)}`)
  return value
}

const wordBytes = new Uint8Array(16)
const word = new DataView(wordBytes.buffer)

/** A non-negative integer as its shortest big-endian bytes; none for zero. Fast below 2^128. */
export function toMinimalBytes(value: number | bigint): Uint8Array<ArrayBuffer> {
  if (value < 0) throw new RangeError(`negative integer: ${value}`)
  const integer = BigInt(value)
  const high = integer >> 64n
  if (high >> 64n !== 0n) {
    const digits = integer.toString(16)
    return hexToBytes(digits.length % 2 === 0 ? digits : `0${digits}`)
  }
  word.setBigUint64(0, high)
  word.setBigUint64(8, integer)
  let start = 0
  while (start < wordBytes.length && wordBytes[start] === 0) start++
  return wordBytes.slice(start)
}

/** `bytes` with leading zeros up to `width`. Throws RangeError if it is longer. */
export function padLeft(bytes: Uint8Array, width: number): Uint8Array<ArrayBuffer> {
  if (bytes.length > width) throw new RangeError(`${bytes.length} bytes do not fit into ${width}`)
  const padded = new Uint8Array(width)
  padded.set(bytes, width - bytes.length)
  return padded
}

/** A view of `bytes` without its leading zero bytes. */
export function trimLeft(bytes: Uint8Array): Uint8Array {
  let start = 0
  while (start < bytes.length && bytes[start] === 0) start++
  return start === 0 ? bytes : bytes.subarray(start)
}

export function concatBytes(...parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  return joinBytes(parts)
}

/** Like {@link concatBytes}, but for a list of parts. */
export function joinBytes(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  let length = 0
  for (const part of parts) length += part.length
  const joined = new Uint8Array(length)
  let offset = 0
  for (const part of parts) {
    joined.set(part, offset)
    offset += part.length
  }
  return joined
}

/** Up to this length bytes are compared one by one, which is faster than a call. */
const loopBytesMax = 64

/** Whether both have the same bytes. Eight at once take half the instructions: a hash is compared five times a call. */
export function equalBytes(a: Uint8Array, b: Uint8Array): boolean {
  const { length } = a
  if (length !== b.length) return false
  if (length > loopBytesMax) return Buffer.compare(a, b) === 0
  let i = 0
  for (; i + 8 <= length; i += 8) if (differsAt(a, b, i) || differsAt(a, b, i + 4)) return false
  for (; i < length; i++) if (a[i] !== b[i]) return false
  return true
}

/** Whether one of four bytes differs. */
function differsAt(a: Uint8Array, b: Uint8Array, i: number): boolean {
  return (
    (((a[i] as number) ^ (b[i] as number)) |
      ((a[i + 1] as number) ^ (b[i + 1] as number)) |
      ((a[i + 2] as number) ^ (b[i + 2] as number)) |
      ((a[i + 3] as number) ^ (b[i + 3] as number))) !==
    0
  )
}

/** Writes a non-negative safe integer as 8 big-endian bytes at `offset`. Throws RangeError for other values. */
export function writeUint64(target: Uint8Array, value: number, offset: number): void {
  if (!Number.isSafeInteger(value) || value < 0 || offset + 8 > target.length) {
    throw new RangeError(`cannot write ${value} as 8 bytes`)
  }
  writeUint32(target, Math.floor(value / 0x1_0000_0000), offset)
  writeUint32(target, value >>> 0, offset + 4)
}

/** Reads 8 big-endian bytes at `offset`. Throws RangeError above 2^53 − 1. */
export function readUint64(source: Uint8Array, offset: number): number {
  if (offset + 8 > source.length) throw new RangeError('integer cut short')
  const value = readUint32(source, offset) * 0x1_0000_0000 + readUint32(source, offset + 4)
  if (!Number.isSafeInteger(value)) throw new RangeError('integer above 2^53 - 1')
  return value
}

/** Writes an unsigned 32-bit integer as 4 big-endian bytes; all of them must be within `target`. */
export function writeUint32(target: Uint8Array, value: number, offset: number): void {
  target[offset] = value >>> 24
  target[offset + 1] = value >>> 16
  target[offset + 2] = value >>> 8
  target[offset + 3] = value
}

/** Reads 4 big-endian bytes; all of them must be within `source`. */
export function readUint32(source: Uint8Array, offset: number): number {
  const upper = ((source[offset] as number) << 8) | (source[offset + 1] as number)
  const lower = ((source[offset + 2] as number) << 8) | (source[offset + 3] as number)
  return ((upper << 16) | lower) >>> 0
}
