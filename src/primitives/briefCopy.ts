/** Size of the blocks for short copies: a separate allocation takes five times as long as copying 1 KB. */
const pieceBytes = 64 * 1024

/** Longest copy within a block; longer ones get their own memory. */
export const briefBytesMax = pieceBytes / 8

/** Shorter copies get memory in V8's own heap, which is as fast. */
const heapBytesMax = 64

let piece = new Uint8Array(0)
let used = 0

/**
 * A copy of the first `length` bytes, in memory shared with other copies. Only for short-lived use: as long as one
 * copy is referenced, a block of 64 KiB stays in memory. Copies of up to 64 bytes share nothing.
 */
export function briefCopy({ buffer, byteOffset }: Uint8Array, length: number): Uint8Array<ArrayBuffer> {
  const source = new Uint8Array(buffer, byteOffset, length)
  if (length <= heapBytesMax || length > briefBytesMax) {
    const own = new Uint8Array(length)
    own.set(source)
    return own
  }
  if (used + length > piece.length) {
    // Uninitialised, because only written bytes are returned.
    piece = new Uint8Array(Buffer.allocUnsafeSlow(pieceBytes).buffer)
    used = 0
  }
  const copy = new Uint8Array(piece.buffer, used, length)
  used += length
  copy.set(source)
  return copy
}
