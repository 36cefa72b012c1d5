/**
 * One gzip member (RFC 1952) of a short text and of bytes that were compressed separately. The text goes uncompressed,
 * in a stored block of DEFLATE (RFC 1951), and the checksum of the whole is combined from those of its parts. So an
 * answer is compressed once, although each request has its own id.
 */
import { crc32 } from 'node:zlib'

/** Compressed bytes, and the values needed to put a text before them. */
export interface Deflated {
  /** A whole stream of DEFLATE. */
  readonly deflated: Uint8Array
  /** CRC-32 and length of the bytes that it decompresses to. */
  readonly crc: number
  readonly length: number
  /** {@link crcShift} of that length. */
  readonly shift: number
}

/** The {@link Deflated} of `bytes`, given their compressed stream. */
export function describeDeflated(bytes: Uint8Array, deflated: Uint8Array): Deflated {
  return { deflated, crc: crc32(bytes), length: bytes.length, shift: crcShift(bytes.length) }
}

/** Maximum bytes of one stored block, whose length has 16 bits. */
export const storedBytesMax = 0xffff

/** ID, method 8, no flags, no time, no hints, unknown system. */
const memberHead = Uint8Array.of(0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255)
const storedHeadBytes = 5

/** The member, in pieces; `text` has at most {@link storedBytesMax} bytes of UTF-8. */
export function gzipMember(text: string, { deflated, crc, length, shift }: Deflated): Uint8Array[] {
  const end = Buffer.allocUnsafe(8)
  if (text === '') {
    end.writeUInt32LE(crc, 0)
    end.writeUInt32LE(length % 2 ** 32, 4)
    return [memberHead, deflated, end]
  }
  const textBytes = Buffer.byteLength(text)
  if (textBytes > storedBytesMax) throw new RangeError(`${textBytes} bytes do not fit into a stored block`)
  const textStart = memberHead.length + storedHeadBytes
  const start = Buffer.allocUnsafe(textStart + textBytes)
  start.set(memberHead)
  start[memberHead.length] = 0
  start.writeUInt16LE(textBytes, memberHead.length + 1)
  start.writeUInt16LE(textBytes ^ 0xffff, memberHead.length + 3)
  start.write(text, textStart)
  const textCrc = crc32(start.subarray(textStart))
  end.writeUInt32LE((multiply(shift, textCrc) ^ crc) >>> 0, 0)
  end.writeUInt32LE((textBytes + length) % 2 ** 32, 4)
  return [start, deflated, end]
}

/** The polynomial of CRC-32, its bits reversed: the highest bit stands for x^0. */
const polynomial = 0xedb88320
const one = 0x8000_0000

/** Product of two polynomials modulo {@link polynomial}. */
function multiply(a: number, b: number): number {
  let product = 0
  let factor = b
  for (let bit = one; bit !== 0; bit >>>= 1) {
    if (a & bit) product ^= factor
    factor = factor & 1 ? (factor >>> 1) ^ polynomial : factor >>> 1
  }
  return product >>> 0
}

/** The factor of a CRC-32 that this number of bytes follows: x^(8·bytes). */
function crcShift(bytes: number): number {
  let shift = one
  let power = one >>> 8
  for (let rest = bytes; rest > 0; rest = Math.floor(rest / 2)) {
    if (rest % 2 === 1) shift = multiply(power, shift)
    power = multiply(power, power)
  }
  return shift
}
