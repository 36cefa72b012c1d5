/** Short copies lie in pieces of this size: an allocation of its own costs a copy of 1 KB five times the copying. */
const pieceBytes = 64 * 1024

/** A longer copy has memory of its own. */
const sharedBytesMax = pieceBytes / 8

let piece = new Uint8Array(0)
let used = 0

/**
 * A copy of the first `length` bytes, in memory that it shares with other copies: of something that is looked at and
 * let go, since as long as one copy lives, so does a piece of 64 KiB.
 */
export function briefCopy({ buffer, byteOffset }: Uint8Array, length: number): Uint8Array<ArrayBuffer> {
  const source = new Uint8Array(buffer, byteOffset, length)
  if (length > sharedBytesMax) {
    const own = new Uint8Array(length)
    own.set(source)
    return own
  }
  if (used + length > piece.length) {
    // Not zeroed first, since only what was written is given out.
    piece = new Uint8Array(Buffer.allocUnsafeSlow(pieceBytes).buffer)
    used = 0
  }
  const copy = new Uint8Array(piece.buffer, used, length)
  used += length
  copy.set(source)
  return copy
}
