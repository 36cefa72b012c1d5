/**
 * Memory for many small byte arrays that live about as long. An ArrayBuffer for each takes longer than what is done with it,
 * and lmdb asks for the address of each.
 */

/** Bytes taken at a time. */
const slabBytes = 64 * 1024

export class Slab {
  #bytes = new Uint8Array(0)
  #used = 0

  /** Zeros. As long as one array is referenced, so many bytes stay. */
  take(length: number): Uint8Array {
    if (length > slabBytes / 8) return new Uint8Array(length)
    if (this.#used + length > this.#bytes.length) {
      this.#bytes = new Uint8Array(slabBytes)
      this.#used = 0
    }
    const taken = this.#bytes.subarray(this.#used, this.#used + length)
    this.#used += length
    return taken
  }
}
