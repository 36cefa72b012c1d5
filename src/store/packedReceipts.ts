/**
 * Receipts as rows. A receipt's bloom follows from its logs, and is most of its bytes; what is left is compressed. The
 * first byte of a row says how: 1 deflate of the RLP list without the bytes of the blooms, 2 the same not compressed;
 * from 0xc0 on it is the RLP list itself, as earlier versions kept all, and of receipts whose blooms do not follow. All
 * lengths within the RLP count the blooms.
 */
import { deflateRawSync, inflateRawSync } from 'node:zlib'
import { asBuffer, latin1Text } from '../primitives/bytes.js'
import { keccak256 } from '../primitives/keccak.js'
import { rlpEndAt, rlpPayloadAt } from '../primitives/rlp.js'

const deflated = 1
const plain = 2

/**
 * For the receipts of a block of 200 transactions with 260 logs, 99,610 bytes of which 47,372 are left without blooms:
 * 17,772 bytes in 0.39 ms, read in 0.11. Level 6 leaves 17,072 in 0.62 ms, Brotli of quality 2 16,653 in 0.35, read in
 * 0.13, deflate with the blooms 26,761 in 0.71.
 */
const level = 1
/** Fewer bytes are not worth the 0.1 ms that deflate takes to begin: without blooms half of them are gone already. */
const deflatedMin = 2_048
/** More than the receipts of any block have: logs take 8 gas a byte. */
const receiptsBytesMax = 2 ** 30

const bloomBytes = 256
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
 * The inverse of {@link packReceipts}. With `lacksBlooms` blooms are zeros, which saves half of the time. Throws for other
 * bytes.
 */
export function unpackReceipts(row: Uint8Array, lacksBlooms = false): Uint8Array {
  if (row[0] === plain) return withBlooms(row.subarray(1), lacksBlooms)
  if (row[0] === deflated)
    return withBlooms(inflateRawSync(row.subarray(1), { maxOutputLength: receiptsBytesMax }), lacksBlooms)
  if ((row[0] ?? 0) < 0xc0) throw new RangeError(`a row of receipts begins with ${row[0]}`)
  return row
}

/** Undefined where a bloom is not the one of its logs, or the bytes are no receipts. */
function withoutBlooms(rlp: Uint8Array): Uint8Array | undefined {
  const end = rlpEndAt(rlp, 0)
  if ((rlp[0] as number) < 0xc0 || end !== rlp.length) return undefined
  const short = new Uint8Array(rlp.length)
  const bloom = new Uint8Array(bloomBytes)
  const bloomBuffer = asBuffer(bloom)
  let copied = 0
  let length = 0
  for (let receipt = rlpPayloadAt(rlp, 0); receipt < end; receipt = rlpEndAt(rlp, receipt)) {
    const content = contentAt(rlp, receipt)
    const at = bloomAt(rlp, content)
    if (at + bloomBytes > end || !hasBloomHeader(rlp, at)) return undefined
    bloom.fill(0)
    addLogs(rlp, at + bloomBytes, bloom)
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
  const rlp = new Uint8Array(end)
  let copied = 0
  let length = 0
  const copy = (to: number): void => {
    if (to > short.length || length + to - copied > end)
      throw new RangeError('a row of receipts is cut short')
    rlp.set(short.subarray(copied, to), length)
    length += to - copied
    copied = to
  }
  copy(rlpPayloadAt(short, 0))
  while (length < end) {
    const receiptEnd = length + rlpEndAt(short, copied) - copied
    const at = bloomAt(short, contentAt(short, copied))
    copy(at)
    const bloom = rlp.subarray(length, length + bloomBytes)
    length += bloomBytes
    const logs = length
    copy(copied + receiptEnd - length)
    if (!lacksBlooms) addLogs(rlp, logs, bloom)
  }
  if (copied !== short.length) throw new RangeError('a row of receipts has more than it says')
  return rlp
}

/** Where the list of a receipt's fields begins. */
function contentAt(rlp: Uint8Array, receipt: number): number {
  const content = rlpPayloadAt(rlp, receipt)
  return (rlp[content] as number) >= 0xc0 ? content : content + 1
}

/** Where the bytes of its bloom are, after outcome and gas; or would be. */
function bloomAt(rlp: Uint8Array, content: number): number {
  const outcome = rlpPayloadAt(rlp, content)
  return rlpEndAt(rlp, rlpEndAt(rlp, outcome)) + bloomHeader.length
}

function hasBloomHeader(rlp: Uint8Array, bloom: number): boolean {
  const [first, second, third] = bloomHeader
  return rlp[bloom - 3] === first && rlp[bloom - 2] === second && rlp[bloom - 1] === third
}

/** Sets the bits of addresses and topics of a list of logs (yellow paper 4.4.1). */
function addLogs(rlp: Uint8Array, logs: number, bloom: Uint8Array): void {
  const end = rlpEndAt(rlp, logs)
  for (let log = rlpPayloadAt(rlp, logs); log < end; log = rlpEndAt(rlp, log)) {
    const address = rlpPayloadAt(rlp, log)
    const topics = rlpEndAt(rlp, address)
    addItem(rlp, address, topics, bloom)
    const topicsEnd = rlpEndAt(rlp, topics)
    for (let topic = rlpPayloadAt(rlp, topics); topic < topicsEnd; ) {
      const next = rlpEndAt(rlp, topic)
      addItem(rlp, topic, next, bloom)
      topic = next
    }
  }
}

/** The bits of items that were met before, 16 each: most logs are of few contracts, and of few kinds. Some 10 MB. */
const knownBits = new Map<string, number>()
const knownMax = 65_536
const bitsOf = 2 ** 16

function addItem(rlp: Uint8Array, item: number, end: number, bloom: Uint8Array): void {
  const name = latin1Text(rlp, item, end)
  let bits = knownBits.get(name)
  if (bits === undefined) {
    const hash = keccak256(rlp.subarray(rlpPayloadAt(rlp, item), end))
    const bit = (at: number) => (((hash[at] as number) << 8) | (hash[at + 1] as number)) & 0x7ff
    bits = (bit(0) * bitsOf + bit(2)) * bitsOf + bit(4)
    if (knownBits.size >= knownMax) knownBits.clear()
    knownBits.set(name, bits)
  }
  setBit(bloom, bits % bitsOf)
  const others = Math.floor(bits / bitsOf)
  setBit(bloom, others % bitsOf)
  setBit(bloom, Math.floor(others / bitsOf))
}

function setBit(bloom: Uint8Array, bit: number): void {
  const at = bloomBytes - 1 - (bit >> 3)
  bloom[at] = (bloom[at] as number) | (1 << (bit & 7))
}
