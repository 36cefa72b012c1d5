/**
 * Recursive Length Prefix, as in appendix B of the Ethereum yellow paper: strict decoding to views of the input,
 * encoding to one allocation. Owns the format, not the meaning of items.
 */
import type { Slab } from './slab.js'

export type RlpItem = Uint8Array | readonly RlpItem[]

/** Position of an item in its input: a header of `payload - start` bytes, then the payload up to `end`. */
export interface RlpSpan {
  readonly isList: boolean
  readonly start: number
  readonly payload: number
  readonly end: number
}

/** Input that is not canonical RLP. `offset` counts bytes from the start of the input. */
export class RlpError extends Error {
  override readonly name = 'RlpError'
  constructor(
    readonly why: string,
    readonly offset: number,
  ) {
    super(`${why} at byte ${offset}`)
  }
}

/**
 * Deepest nesting, above that of any Ethereum object (a block's access lists have 6), so that invalid input cannot
 * exhaust the stack.
 */
const depthMax = 32

/** Longest header: one prefix byte and eight length bytes. */
export const rlpHeaderBytesMax = 9

/**
 * Reads only the header of the item at `offset`. The payload may end beyond the input, because a streaming caller reads
 * it later. Throws {@link RlpError} if the header itself does, or is not canonical.
 */
export function readRlpHeader(input: Uint8Array, offset: number): RlpSpan {
  const prefix = input[offset]
  if (prefix === undefined) throw new RlpError('item missing', offset)
  if (prefix < 0x80) return { isList: false, start: offset, payload: offset, end: offset + 1 }
  const isList = prefix >= 0xc0
  const short = prefix - (isList ? 0xc0 : 0x80)
  if (short <= 55) {
    return { isList, start: offset, payload: offset + 1, end: offset + 1 + short }
  }
  const lengthBytes = short - 55
  if (offset + 1 + lengthBytes > input.length) throw new RlpError('length cut short', offset)
  if (input[offset + 1] === 0) throw new RlpError('length with leading zero', offset)
  let length = 0
  for (let i = 1; i <= lengthBytes; i++) length = length * 256 + (input[offset + i] as number)
  if (length <= 55) throw new RlpError('long form for a short item', offset)
  if (!Number.isSafeInteger(length)) throw new RlpError('length beyond 2^53', offset)
  return { isList, start: offset, payload: offset + 1 + lengthBytes, end: offset + 1 + lengthBytes + length }
}

/**
 * Offset of the payload of the item at `offset`, in input already known to be canonical. This and {@link rlpEndAt}
 * allocate no object, for walks over many items.
 */
export function rlpPayloadAt(input: Uint8Array, offset: number): number {
  const prefix = input[offset] as number
  if (prefix < 0x80) return offset
  if (prefix < 0xb8 || (prefix >= 0xc0 && prefix < 0xf8)) return offset + 1
  return offset + 1 + prefix - (prefix < 0xc0 ? 0xb7 : 0xf7)
}

/** End of the item at `offset`, in input already known to be canonical. */
export function rlpEndAt(input: Uint8Array, offset: number): number {
  const prefix = input[offset] as number
  if (prefix < 0x80) return offset + 1
  if (prefix < 0xb8) return offset + 1 + prefix - 0x80
  if (prefix >= 0xc0 && prefix < 0xf8) return offset + 1 + prefix - 0xc0
  const payload = offset + 1 + prefix - (prefix < 0xc0 ? 0xb7 : 0xf7)
  let length = 0
  for (let at = offset + 1; at < payload; at++) length = length * 256 + (input[at] as number)
  return payload + length
}

/**
 * Writes the start of each item from `offset` to `end` into `starts`, and the end of the last. The input must be
 * canonical. Returns the number of items; those beyond the room in `starts` are only counted.
 */
export function findRlpItems(input: Uint8Array, offset: number, end: number, starts: Int32Array): number {
  let count = 0
  for (let at = offset; at < end; at = rlpEndAt(input, at)) starts[count++] = at
  starts[count] = end
  return count
}

/** The span of the whole item at `offset`. Throws {@link RlpError} if it is not canonical or ends after `limit`. */
export function rlpSpanAt(input: Uint8Array, offset: number, limit = input.length): RlpSpan {
  const span = readRlpHeader(input, offset)
  if (span.end > limit) throw new RlpError('item cut short', offset)
  if (!span.isList && span.end - span.payload === 1 && span.payload > offset) {
    if ((input[span.payload] as number) < 0x80) throw new RlpError('single byte with a header', offset)
  }
  return span
}

/** Spans of a list's items, in order, without decoding them. Throws {@link RlpError} if `list` is not one. */
export function rlpListSpans(input: Uint8Array, list: RlpSpan): RlpSpan[] {
  if (!list.isList) throw new RlpError('expected a list', list.start)
  const spans: RlpSpan[] = []
  let offset = list.payload
  while (offset < list.end) {
    const span = rlpSpanAt(input, offset, list.end)
    spans.push(span)
    offset = span.end
  }
  return spans
}

function decodeSpan(input: Uint8Array, span: RlpSpan, depth: number): RlpItem {
  if (!span.isList) return input.subarray(span.payload, span.end)
  if (depth >= depthMax) throw new RlpError('nested too deeply', span.start)
  const items: RlpItem[] = []
  let offset = span.payload
  while (offset < span.end) {
    const child = rlpSpanAt(input, offset, span.end)
    items.push(decodeSpan(input, child, depth + 1))
    offset = child.end
  }
  return items
}

/** Decodes exactly one item. Strings are views of `input`. Throws {@link RlpError}, also for bytes after the item. */
export function decodeRlp(input: Uint8Array): RlpItem {
  const span = rlpSpanAt(input, 0)
  if (span.end !== input.length) throw new RlpError('bytes after the item', span.end)
  return decodeSpan(input, span, 0)
}

/** Like {@link decodeRlp}, but for an item that must be a list. */
export function decodeRlpList(input: Uint8Array): readonly RlpItem[] {
  const item = decodeRlp(input)
  if (item instanceof Uint8Array) throw new RlpError('expected a list', 0)
  return item
}

/** Narrows an item to a byte string. Throws {@link RlpError} for a list or nothing. */
export function rlpBytes(item: RlpItem | undefined): Uint8Array {
  if (item instanceof Uint8Array) return item
  throw new RlpError(item === undefined ? 'item missing' : 'expected a byte string', 0)
}

/** Narrows an item to a list. Throws {@link RlpError} for a byte string or nothing. */
export function rlpList(item: RlpItem | undefined): readonly RlpItem[] {
  if (item === undefined) throw new RlpError('item missing', 0)
  if (item instanceof Uint8Array) throw new RlpError('expected a list', 0)
  return item
}

function headerLength(payloadLength: number): number {
  if (payloadLength <= 55) return 1
  let bytes = 1
  for (let rest = payloadLength; rest > 0; rest = Math.floor(rest / 256)) bytes++
  return bytes
}

/** Encoded length of an item with a header whose payload has `payloadLength` bytes. */
export function rlpLength(payloadLength: number): number {
  return headerLength(payloadLength) + payloadLength
}

/** Payload bytes of a list, or of a byte string with a header, whose encoding has `length` bytes. */
export function rlpPayloadLength(length: number): number {
  let payload = length - 1
  for (let headerBytes = 2; rlpLength(payload) > length; headerBytes++) payload = length - headerBytes
  return payload
}

function encodedLength(item: RlpItem): number {
  return item instanceof Uint8Array ? rlpBytesLength(item) : rlpLength(listPayloadLength(item))
}

/** Encoded length of a byte string. */
export function rlpBytesLength(bytes: Uint8Array): number {
  return bytes.length === 1 && (bytes[0] as number) < 0x80 ? 1 : rlpLength(bytes.length)
}

function listPayloadLength(items: readonly RlpItem[]): number {
  let length = 0
  for (const item of items) length += encodedLength(item)
  return length
}

/** First byte of the shortest header of a byte string and of a list. */
const stringBase = 0x80
export const listBase = 0xc0

/** Writes the header of an item whose payload has `length` bytes; returns the offset after it. */
export function writeRlpHeader(target: Uint8Array, offset: number, base: number, length: number): number {
  if (length <= 55) {
    target[offset] = base + length
    return offset + 1
  }
  const lengthBytes = headerLength(length) - 1
  target[offset] = base + 55 + lengthBytes
  let rest = length
  for (let i = lengthBytes; i >= 1; i--) {
    target[offset + i] = rest % 256
    rest = Math.floor(rest / 256)
  }
  return offset + 1 + lengthBytes
}

function writeItem(target: Uint8Array, offset: number, item: RlpItem): number {
  if (item instanceof Uint8Array) return writeRlpBytes(target, offset, item)
  let next = writeRlpHeader(target, offset, listBase, listPayloadLength(item))
  for (const child of item) next = writeItem(target, next, child)
  return next
}

/** Writes an encoded byte string; returns the offset after it. */
export function writeRlpBytes(target: Uint8Array, offset: number, bytes: Uint8Array): number {
  if (bytes.length === 1 && (bytes[0] as number) < 0x80) {
    target[offset] = bytes[0] as number
    return offset + 1
  }
  const start = writeRlpHeader(target, offset, stringBase, bytes.length)
  target.set(bytes, start)
  return start + bytes.length
}

/** Encodes an item in memory of its own, or of `slab`. */
export function encodeRlp(item: RlpItem, slab?: Slab): Uint8Array<ArrayBuffer> {
  const length = encodedLength(item)
  const target = slab === undefined ? new Uint8Array(length) : slab.take(length)
  writeItem(target, 0, item)
  return target
}

/** Writes an item at the start of `target`, and returns its length; undefined if there is no room. */
export function writeRlp(target: Uint8Array, item: RlpItem): number | undefined {
  return encodedLength(item) > target.length ? undefined : writeItem(target, 0, item)
}

/** Encodes a list whose items are encoded already. */
export function encodeRlpListOfEncoded(items: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  let payload = 0
  for (const item of items) payload += item.length
  const target = new Uint8Array(rlpLength(payload))
  let offset = writeRlpHeader(target, 0, listBase, payload)
  for (const item of items) {
    target.set(item, offset)
    offset += item.length
  }
  return target
}
