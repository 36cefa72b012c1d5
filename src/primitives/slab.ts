/**
 * Memory for many small byte arrays of similar lifetime. An ArrayBuffer for each takes longer than the work on it: V8
 * calls malloc for those of more than 64 bytes. An import of 22,000 token transfers had 218,000 of them (scenario
 * `import-tokens`).
 */

/** Shorter arrays are in V8's own heap, which is faster than a view of shared memory. */
const heapBytesMax = 64
/** Longer arrays are copied faster by a view than by a loop. */
const loopBytesMax = 128

export class Slab {
  readonly #chunkBytes: number
  #chunk = new ArrayBuffer(0)
  #used = 0

  /**
   * While one array is referenced, its whole chunk of `chunkBytes` stays; use small chunks if some arrays live longer.
   */
  constructor(chunkBytes = 64 * 1024) {
    this.#chunkBytes = chunkBytes
  }

  /** The longest array that shares memory. */
  get sharedBytesMax(): number {
    return this.#chunkBytes / 8
  }

  /** Returns zeros. */
  take(length: number): Uint8Array<ArrayBuffer> {
    if (length <= heapBytesMax || length > this.sharedBytesMax) return new Uint8Array(length)
    if (this.#used + length > this.#chunk.byteLength) {
      this.#chunk = new ArrayBuffer(this.#chunkBytes)
      this.#used = 0
    }
    const taken = new Uint8Array(this.#chunk, this.#used, length)
    this.#used += length
    return taken
  }

  /** Copies the first `length` bytes. */
  copy(bytes: Uint8Array, length: number): Uint8Array<ArrayBuffer> {
    const copy = this.take(length)
    if (length <= loopBytesMax) for (let at = 0; at < length; at++) copy[at] = bytes[at] as number
    else copy.set(new Uint8Array(bytes.buffer, bytes.byteOffset, length))
    return copy
  }
}

/**
 * A part of an array. A short array is copied, because for a view V8 moves the whole array out of its heap (scenario
 * `slots-1k`).
 */
export function partOf(bytes: Uint8Array, start: number, end = bytes.length): Uint8Array {
  if (bytes.length > heapBytesMax) return bytes.subarray(start, end)
  const part = new Uint8Array(end - start)
  for (let at = start; at < end; at++) part[at - start] = bytes[at] as number
  return part
}

/** Memory for one array at a time: each copy overwrites the one before it. */
export class LentMemory {
  // Kept, because reading an array's `buffer` is a call of V8's runtime.
  readonly #memory: ArrayBuffer
  readonly #bytes: Uint8Array

  /** `bytesMax`: length of the longest array. */
  constructor(bytesMax: number) {
    this.#memory = new ArrayBuffer(bytesMax)
    this.#bytes = new Uint8Array(this.#memory)
  }

  /** The copy is valid until the next call. Throws RangeError for a longer array. */
  copy(bytes: Uint8Array): Uint8Array {
    this.#bytes.set(bytes)
    return new Uint8Array(this.#memory, 0, bytes.length)
  }
}

/** For data of immediate use: parts of answers, and rows that were read. */
export const briefSlab = new Slab()
