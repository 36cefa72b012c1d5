/**
 * Reused memory for long answers. The receipts of a block of 200 transactions are 100 KB of RLP and 400 KB of JSON.
 * Without reuse, the operating system would have to provide that memory each time, and the garbage collector to free
 * it. Owns the free buffers; the sender of an answer returns its buffer.
 *
 * Returning a buffer is optional: otherwise it becomes garbage. So only callers that have the only reference to the
 * bytes return them.
 */

/** Shorter buffers are not worth reusing, and longer ones are rare. */
const bytesMin = 32 * 1024
const bytesMax = 1024 * 1024

/** Limit of all free bytes: most answers are sent at once, so the next answer finds the memory of the last. */
const freeBytesMax = 4 * 2 ** 20

/** Lengths are powers of two, so that answers of similar length use the same memory. */
const free = new Map<number, ArrayBuffer[]>()
let freeBytes = 0

const taken = new WeakSet<ArrayBuffer>()

/**
 * Memory of at least `length` bytes, uninitialised. Return it with {@link giveBack}; very short and very long ones are
 * not reused.
 */
export function takeBuffer(length: number): Uint8Array<ArrayBuffer> {
  if (length < bytesMin || length > bytesMax) return ownMemory(length)
  const size = 2 ** Math.ceil(Math.log2(length))
  const buffer = free.get(size)?.pop()
  if (buffer !== undefined) freeBytes -= size
  const bytes = buffer === undefined ? ownMemory(size) : new Uint8Array(buffer)
  taken.add(bytes.buffer)
  return bytes.subarray(0, length)
}

/** Returns a buffer to the pool, given any view of it; other memory is ignored. Nobody may read it from now on. */
export function giveBack({ buffer }: Uint8Array): void {
  if (!(buffer instanceof ArrayBuffer) || !taken.delete(buffer)) return
  const { byteLength } = buffer
  if (freeBytes + byteLength > freeBytesMax) return
  freeBytes += byteLength
  const same = free.get(byteLength)
  if (same === undefined) free.set(byteLength, [buffer])
  else same.push(buffer)
}

/** New memory, uninitialised. */
export function ownMemory(length: number): Uint8Array<ArrayBuffer> {
  return new Uint8Array(Buffer.allocUnsafeSlow(length).buffer as ArrayBuffer)
}
