/**
 * Snappy's framing format: a stream identifier, then chunks of up to 64 KiB, each with a checksum of its content. An
 * export must equal go-ethereum's byte for byte. `snappy`, the Rust port of the reference, compresses so; `snappyjs`
 * writes other bytes for 8,874 of the 24,576 records of an era1 archive of Sepolia.
 */
import { compressSync, uncompressSync } from 'snappy'

/** Castagnoli's polynomial, bits reversed. */
const polynomial = 0x82f63b78

const table = Int32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte
  for (let bit = 0; bit < 8; bit++) crc = (crc & 1) === 1 ? (crc >>> 1) ^ polynomial : crc >>> 1
  return crc
})

/** CRC-32C (RFC 3720, appendix B.4). */
function crc32c(bytes: Uint8Array): number {
  let crc = -1
  for (let i = 0; i < bytes.length; i++) {
    crc = (table[(crc ^ (bytes[i] as number)) & 0xff] as number) ^ (crc >>> 8)
  }
  return ~crc >>> 0
}

/** Invalid snappy frames. `offset` is within the framed bytes. */
export class SnappyError extends Error {
  override readonly name = 'SnappyError'
  constructor(
    readonly why: string,
    readonly offset: number,
  ) {
    super(`${why} at byte ${offset}`)
  }
}

const identifier = Buffer.from('ff060000734e61507059', 'hex')
const compressedChunk = 0
const plainChunk = 1
/** Chunk types from here on may be skipped. */
const skippableFrom = 0x80
const chunkHeaderBytes = 4
const checksumBytes = 4
/** Most content of a chunk (framing format, section 2). */
const chunkContentMax = 65_536

/** The content of a stream, owned by the receiver or a view of `framed`. Throws {@link SnappyError}. */
export function unframe(framed: Buffer): Uint8Array {
  if (!framed.subarray(0, identifier.length).equals(identifier)) {
    throw new SnappyError('not a snappy stream: its identifier is missing', 0)
  }
  const contents: Uint8Array[] = []
  let at = identifier.length
  while (at < framed.length) {
    if (at + chunkHeaderBytes > framed.length) throw new SnappyError('a chunk is cut short', at)
    const type = framed[at] as number
    const end = at + chunkHeaderBytes + framed.readUIntLE(at + 1, 3)
    if (end > framed.length) throw new SnappyError('a chunk is cut short', at)
    if (type === compressedChunk || type === plainChunk) contents.push(readChunk(framed, at, end))
    else if (type < skippableFrom) throw new SnappyError(`a chunk has the unknown type ${type}`, at)
    at = end
  }
  return contents.length === 1 ? (contents[0] as Uint8Array) : Buffer.concat(contents)
}

function readChunk(framed: Buffer, at: number, end: number): Uint8Array {
  const start = at + chunkHeaderBytes
  if (start + checksumBytes > end) throw new SnappyError('a chunk is cut short', at)
  const body = framed.subarray(start + checksumBytes, end)
  const content = framed[at] === plainChunk ? body : uncompress(body, at)
  if (content.length > chunkContentMax) throw new SnappyError(`a chunk holds ${content.length} bytes`, at)
  const got = maskedChecksum(content)
  const want = framed.readUInt32LE(start)
  if (got !== want) {
    throw new SnappyError(`the checksum of a chunk is ${hex(got)}, the stream says ${hex(want)}`, at)
  }
  return content
}

function uncompress(body: Buffer, at: number): Uint8Array {
  // Checked first, because the decoder allocates the length that the first bytes give (a varint).
  let length = 0
  for (let i = 0; i < 5; i++) {
    const byte = body[i] ?? 0
    length += (byte & 0x7f) * 2 ** (7 * i)
    if (byte < 0x80) break
  }
  if (length > chunkContentMax) throw new SnappyError(`a chunk holds ${length} bytes`, at)
  try {
    return uncompressSync(body) as Buffer
  } catch (error) {
    throw new SnappyError(`a chunk cannot be uncompressed (${(error as Error).message})`, at)
  }
}

/**
 * The stream that go-ethereum writes for `content`: a chunk is stored uncompressed if compression saves less than an
 * eighth.
 */
export function frame(content: Uint8Array): Buffer {
  const parts: Uint8Array[] = [identifier]
  for (let at = 0; at < content.length; at += chunkContentMax) {
    const plain = content.subarray(at, at + chunkContentMax)
    const compressed = compressSync(Buffer.from(plain.buffer, plain.byteOffset, plain.length))
    const isPlain = compressed.length >= plain.length - Math.floor(plain.length / 8)
    const body = isPlain ? plain : compressed
    const header = Buffer.alloc(chunkHeaderBytes + checksumBytes)
    header[0] = isPlain ? plainChunk : compressedChunk
    header.writeUIntLE(checksumBytes + body.length, 1, 3)
    header.writeUInt32LE(maskedChecksum(plain), chunkHeaderBytes)
    parts.push(header, body)
  }
  return Buffer.concat(parts)
}

/** The masked CRC-32C of the framing format, section 3. */
function maskedChecksum(content: Uint8Array): number {
  const crc = crc32c(content)
  return (((crc >>> 15) | (crc << 17)) + 0xa282ead8) >>> 0
}

function hex(value: number): string {
  return `0x${value.toString(16).padStart(8, '0')}`
}
