/**
 * Receipts as rows. A receipt's bloom follows from its logs, and is most of its bytes. So blooms are dropped and the
 * rest is compressed. The first byte of a row is its form. Form 1 is deflate of the RLP list without the bytes of the
 * blooms, form 2 the same without compression. From 0xc0 on the row is the RLP list itself, for receipts whose blooms
 * do not follow from their logs. All lengths within the RLP still count the blooms.
 */
import { deflateRawSync, inflateRawSync } from 'node:zlib'
import { takeBuffer } from '../../../primitives/bufferPool.js'
import { asBuffer, bloomBytes } from '../../../primitives/bytes.js'
import { keccak256 } from '../../../primitives/keccak.js'
import { rlpEndAt, rlpPayloadAt } from '../../../primitives/rlp.js'

const deflated = 1
const plain = 2

/**
 * Measured on the receipts of a block of 200 transactions with 260 logs, 99,610 bytes, 47,372 without blooms. Level 1
 * leaves 17,772 bytes in 0.39 ms, read in 0.11. Level 6 leaves 17,072 in 0.62 ms. Brotli of quality 2 leaves 16,653 in
 * 0.35 ms, read in 0.13. Deflate with the blooms leaves 26,761 in 0.71 ms.
 */
const level = 1
/**
 * Fewer bytes are not worth the 0.1 ms that deflate takes to start: without blooms half of the bytes are already
 * removed.
 */
const deflatedMin = 2_048
/** More than the receipts of any block have: logs take 8 gas a byte. */
const receiptsBytesMax = 2 ** 30
/**
 * Size of zlib's output buffer for each byte of a row: most rows then fit into one piece, so pieces need not be joined.
 * A search reads the rows of many small blocks; with the default, each made 64 KB of garbage.
 */
const pieceGrowth = 4
const pieceBytes = { min: 1_024, max: 64 * 1_024 }

/** The header of a bloom in RLP: a string of 256 bytes. */
const bloomHeader = [0xb9, 0x01, 0x00] as const

/** The row of an RLP list of byte strings, each a receipt in consensus encoding. */
export function packReceipts(rlp: Uint8Array): Uint8Array {
  const short = withoutBlooms(rlp)
  if (short === undefined) return rlp
  const packed = short.length < deflatedMin ? undefined : deflateRawSync(short, { level })
  const isSmaller = packed !== undefined && packed.length < short.length
  const content = isSmaller ? packed : short
  const row = new Uint8Array(1 + content.length)
  row[0] = isSmaller ? deflated : plain
  row.set(content, 1)
  return row
}

/**
 * The inverse of {@link packReceipts}. The result may be the row itself; otherwise `giveBack` of bufferPool.ts takes
 * its memory. With `lacksBlooms` blooms are zeros, which saves a third of the time. Throws for other bytes.
 */
export function unpackReceipts(row: Uint8Array, lacksBlooms = false): Uint8Array {
  if (row[0] === plain) return withBlooms(row.subarray(1), lacksBlooms)
  if (row[0] === deflated) return withBlooms(inflated(row.subarray(1)), lacksBlooms)
  if ((row[0] ?? 0) < 0xc0) throw new RangeError(`a row of receipts begins with ${row[0]}`)
  return row
}

/** One receipt of a block, with the data of earlier receipts that its JSON needs. */
export interface ReceiptInBlock {
  /** An item of the block's RLP list. */
  readonly rlp: Uint8Array
  /** An item of RLP: the gas that the block used before it. */
  readonly gasBefore: Uint8Array
  readonly logsBefore: number
}

const noGas = Uint8Array.of(0x80)
const cutShort = 'a row of receipts is cut short'

/**
 * The receipts of a block one by one. Only the requested receipt is copied and gets its bloom. For a block of 20
 * transactions that takes half the time of {@link unpackReceipts}.
 */
export class ReceiptList {
  /** An RLP list; its lengths count the bytes that its blooms lack. */
  readonly #list: Uint8Array
  readonly #missingBytes: number

  /** Throws RangeError for bytes that are no row of receipts. */
  constructor(row: Uint8Array) {
    this.#missingBytes = row[0] === plain || row[0] === deflated ? bloomBytes : 0
    if (this.#missingBytes === 0) this.#list = unpackReceipts(row)
    else this.#list = row[0] === plain ? row.subarray(1) : inflated(row.subarray(1))
  }

  get bytesCached(): number {
    return this.#list.length
  }

  /** Receipt `index`; undefined beyond the last one. Walks over those before it. Throws RangeError for other bytes. */
  at(index: number): ReceiptInBlock | undefined {
    const list = this.#list
    const missingBytes = this.#missingBytes
    let gasBefore: Uint8Array = noGas
    let logsBefore = 0
    let receipt = rlpPayloadAt(list, 0)
    let before = 0
    for (; receipt < list.length; before++) {
      const gas = rlpEndAt(list, rlpPayloadAt(list, contentAt(list, receipt)))
      const gasEnd = rlpEndAt(list, gas)
      const bloom = gasEnd + bloomHeader.length
      const logs = bloom + bloomBytes - missingBytes
      const end = rlpEndAt(list, receipt) - missingBytes
      if (!(logs < end && end <= list.length)) throw new RangeError(cutShort)
      if (before === index) {
        const own = list.subarray(receipt, end)
        const rlp = missingBytes === 0 ? own : withBloom(own, bloom - receipt)
        return { rlp, gasBefore, logsBefore }
      }
      const logsEnd = rlpEndAt(list, logs)
      for (let log = rlpPayloadAt(list, logs); log < logsEnd; log = rlpEndAt(list, log)) logsBefore++
      gasBefore = list.subarray(gas, gasEnd)
      receipt = end
    }
    if (receipt + before * missingBytes !== rlpEndAt(list, 0)) throw new RangeError(cutShort)
    return undefined
  }
}

/** A receipt with the bloom that it lacks at `bloom`. */
function withBloom(short: Uint8Array, bloom: number): Uint8Array {
  const rlp = new Uint8Array(short.length + bloomBytes)
  rlp.set(short.subarray(0, bloom))
  rlp.set(short.subarray(bloom), bloom + bloomBytes)
  addLogs(rlp, viewOf(rlp), bloom + bloomBytes, rlp, bloom)
  return rlp
}

function inflated(content: Uint8Array): Uint8Array {
  const chunkSize = Math.min(Math.max(content.length * pieceGrowth, pieceBytes.min), pieceBytes.max)
  return inflateRawSync(content, { chunkSize, maxOutputLength: receiptsBytesMax })
}

/** Undefined if a bloom does not match its logs, or the bytes are no receipts. */
function withoutBlooms(rlp: Uint8Array): Uint8Array | undefined {
  const end = rlpEndAt(rlp, 0)
  if ((rlp[0] as number) < 0xc0 || end !== rlp.length) return undefined
  const short = new Uint8Array(rlp.length)
  const view = viewOf(rlp)
  const bloom = new Uint8Array(bloomBytes)
  const bloomBuffer = asBuffer(bloom)
  let copied = 0
  let length = 0
  for (let receipt = rlpPayloadAt(rlp, 0); receipt < end; receipt = rlpEndAt(rlp, receipt)) {
    const content = contentAt(rlp, receipt)
    const at = bloomAt(rlp, content)
    if (at + bloomBytes > end || !hasBloomHeader(rlp, at)) return undefined
    bloom.fill(0)
    addLogs(rlp, view, at + bloomBytes, bloom, 0)
    if (bloomBuffer.compare(rlp, at, at + bloomBytes) !== 0) return undefined
    short.set(rlp.subarray(copied, at), length)
    length += at - copied
    copied = at + bloomBytes
  }
  short.set(rlp.subarray(copied), length)
  return short.subarray(0, length + rlp.length - copied)
}

function withBlooms(short: Uint8Array, lacksBlooms: boolean): Uint8Array {
  const end = rlpEndAt(short, 0)
  if ((short[0] ?? 0) < 0xc0 || end > receiptsBytesMax) throw new RangeError('a row of receipts is no list')
  const rlp = takeBuffer(end)
  const view = viewOf(rlp)
  let copied = 0
  let length = 0
  const copy = (to: number): void => {
    if (to > short.length || length + to - copied > end) throw new RangeError(cutShort)
    rlp.set(short.subarray(copied, to), length)
    length += to - copied
    copied = to
  }
  copy(rlpPayloadAt(short, 0))
  while (length < end) {
    const receiptEnd = length + rlpEndAt(short, copied) - copied
    const at = bloomAt(short, contentAt(short, copied))
    copy(at)
    const bloom = length
    length += bloomBytes
    rlp.fill(0, bloom, length)
    copy(copied + receiptEnd - length)
    if (!lacksBlooms) addLogs(rlp, view, bloom + bloomBytes, rlp, bloom)
  }
  if (copied !== short.length) throw new RangeError('a row of receipts has extra bytes')
  return rlp
}

function viewOf({ buffer, byteOffset, length }: Uint8Array): DataView {
  return new DataView(buffer, byteOffset, length)
}

/** Offset of the list of a receipt's fields. */
function contentAt(rlp: Uint8Array, receipt: number): number {
  const content = rlpPayloadAt(rlp, receipt)
  return (rlp[content] as number) >= 0xc0 ? content : content + 1
}

/** Offset of the bytes of its bloom, after outcome and gas; checks nothing. */
function bloomAt(rlp: Uint8Array, content: number): number {
  const outcome = rlpPayloadAt(rlp, content)
  return rlpEndAt(rlp, rlpEndAt(rlp, outcome)) + bloomHeader.length
}

function hasBloomHeader(rlp: Uint8Array, bloom: number): boolean {
  const [first, second, third] = bloomHeader
  return rlp[bloom - 3] === first && rlp[bloom - 2] === second && rlp[bloom - 1] === third
}

/** Sets the bits of a list of logs' addresses and topics (yellow paper 4.4.1) in the bloom at offset `at`. */
function addLogs(rlp: Uint8Array, view: DataView, logs: number, bloom: Uint8Array, at: number): void {
  const end = rlpEndAt(rlp, logs)
  for (let log = rlpPayloadAt(rlp, logs); log < end; log = rlpEndAt(rlp, log)) {
    const address = rlpPayloadAt(rlp, log)
    const topics = rlpEndAt(rlp, address)
    addItem(rlp, view, rlpPayloadAt(rlp, address), topics, bloom, at)
    const topicsEnd = rlpEndAt(rlp, topics)
    for (let topic = rlpPayloadAt(rlp, topics); topic < topicsEnd; ) {
      const next = rlpEndAt(rlp, topic)
      addItem(rlp, view, rlpPayloadAt(rlp, topic), next, bloom, at)
      topic = next
    }
  }
}

/**
 * Cache of the bloom bits of items: most logs are of few contracts, and of few kinds. The hash of an item gives its
 * only place; a new item replaces the old one there. It takes 1.3 MB. A lookup takes an eighth of a lookup in a Map of
 * strings (scenario `receipts-uncached`).
 */
const knownItems = 2 ** 15
const itemWords = 8
const knownWords = new Uint32Array(knownItems * itemWords)
/** For each item its length in words, 0 if the place is free, and its three bits. */
const knownBits = new Uint16Array(knownItems * 4)

function addItem(
  rlp: Uint8Array,
  view: DataView,
  start: number,
  end: number,
  bloom: Uint8Array,
  bloomAt: number,
): void {
  const words = (end - start) >> 2
  // Addresses have 20 bytes and topics 32.
  const isUsual = words > 0 && words <= itemWords && end - start === words * 4 && end <= rlp.length
  let hash = words
  if (isUsual) for (let at = start; at < end; at += 4) hash = mixed(hash, view.getUint32(at, true))
  const place = (hash ^ (hash >>> 15)) & (knownItems - 1)
  let isKnown = isUsual && knownBits[place * 4] === words
  for (let at = 0; isKnown && at < words; at++)
    isKnown = knownWords[place * itemWords + at] === view.getUint32(start + at * 4, true)
  if (isKnown) {
    for (let bit = 1; bit <= 3; bit++) setBit(bloom, bloomAt, knownBits[place * 4 + bit] as number)
    return
  }
  const digest = keccak256(rlp.subarray(start, end))
  for (let bit = 1; bit <= 3; bit++) {
    const value = (((digest[2 * bit - 2] as number) << 8) | (digest[2 * bit - 1] as number)) & 0x7ff
    setBit(bloom, bloomAt, value)
    if (isUsual) knownBits[place * 4 + bit] = value
  }
  if (!isUsual) return
  knownBits[place * 4] = words
  for (let at = 0; at < words; at++) knownWords[place * itemWords + at] = view.getUint32(start + at * 4, true)
}

function mixed(hash: number, word: number): number {
  const sum = Math.imul(hash ^ word, 0x9e3779b1)
  return sum ^ (sum >>> 15)
}

function setBit(bloom: Uint8Array, bloomAt: number, bit: number): void {
  const at = bloomAt + bloomBytes - 1 - (bit >> 3)
  bloom[at] = (bloom[at] as number) | (1 << (bit & 7))
}
