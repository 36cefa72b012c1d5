/**
 * Memory for long answers that is used again: the receipts of a block of 200 transactions are 100 KB of RLP and 400 KB of
 * JSON, which the operating system would have to provide anew each time, and the garbage collector to free. Owns what is
 * free; whoever has sent an answer gives it back.
 *
 * Nothing has to be given back: what is not is garbage as any other. So only those do it that know that nobody else has
 * these bytes.
 */

/** Shorter ones are not worth it, and longer ones are rare. */
const bytesMin = 32 * 1024
const bytesMax = 1024 * 1024

/** Of all that is free: most answers are sent at once, so that the next one finds the memory of the last. */
const freeBytesMax = 4 * 2 ** 20

/** Lengths are powers of two, so that answers of about the same length use the same memory. */
const free = new Map<number, ArrayBuffer[]>()
let freeBytes = 0

const taken = new WeakSet<ArrayBuffer>()

/** Memory of at least `length` bytes, uninitialised; for {@link giveBack}, if it is neither short nor very long. */
export function takeBuffer(length: number): Uint8Array<ArrayBuffer> {
  if (length < bytesMin || length > bytesMax) return ownMemory(length)
  const size = 2 ** Math.ceil(Math.log2(length))
  const buffer = free.get(size)?.pop()
  if (buffer !== undefined) freeBytes -= size
  const bytes = buffer === undefined ? ownMemory(size) : new Uint8Array(buffer)
  taken.add(bytes.buffer)
  return bytes.subarray(0, length)
}

/** Takes back what was taken, by any view of it; other memory is left alone. Nobody may read it from now on. */
export function giveBack({ buffer }: Uint8Array): void {
  if (!(buffer instanceof ArrayBuffer) || !taken.delete(buffer)) return
  const { byteLength } = buffer
  if (freeBytes + byteLength > freeBytesMax) return
  freeBytes += byteLength
  const same = free.get(byteLength)
  if (same === undefined) free.set(byteLength, [buffer])
  else same.push(buffer)
}

/** Memory that nobody else has, uninitialised. */
export function ownMemory(length: number): Uint8Array<ArrayBuffer> {
  return new Uint8Array(Buffer.allocUnsafeSlow(length).buffer as ArrayBuffer)
}
