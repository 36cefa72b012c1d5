const high = new Uint8Array(256)
const low = new Uint8Array(256)
for (let byte = 0; byte < 256; byte++) {
  const digits = byte.toString(16).padStart(2, '0')
  high[byte] = digits.charCodeAt(0)
  low[byte] = digits.charCodeAt(1)
}

/**
 * JSON that is mostly hex, written straight to bytes. What is already written can be written again by copying it.
 * Against joined strings it saves two copies of the whole and what they leave to the garbage collector.
 */
export class JsonBytes {
  #bytes: Uint8Array<ArrayBuffer>
  #length = 0

  /** `expected` bytes are reserved; more are found as needed. */
  constructor(expected: number) {
    this.#bytes = new Uint8Array(expected)
  }

  get length(): number {
    return this.#length
  }

  /** Writes ASCII text. */
  text(text: string): void {
    this.#reserve(text.length)
    const bytes = this.#bytes
    let at = this.#length
    for (let i = 0; i < text.length; i++) bytes[at++] = text.charCodeAt(i)
    this.#length = at
  }

  /** Writes `"0x…"`, two digits a byte. */
  hex(source: Uint8Array): void {
    this.#reserve(source.length * 2 + 4)
    const bytes = this.#bytes
    let at = this.#length
    bytes[at++] = 0x22
    bytes[at++] = 0x30
    bytes[at++] = 0x78
    for (let i = 0; i < source.length; i++) {
      const byte = source[i] as number
      bytes[at++] = high[byte] as number
      bytes[at++] = low[byte] as number
    }
    bytes[at++] = 0x22
    this.#length = at
  }

  /** Writes again what stands from `start` up to `end`. */
  again(start: number, end: number): void {
    this.#reserve(end - start)
    this.#bytes.copyWithin(this.#length, start, end)
    this.#length += end - start
  }

  /** A copy of everything, in memory of its own and of its own length. */
  finish(): Uint8Array<ArrayBuffer> {
    return this.#bytes.slice(0, this.#length)
  }

  #reserve(more: number): void {
    const needed = this.#length + more
    if (needed <= this.#bytes.length) return
    const larger = new Uint8Array(Math.max(needed, this.#bytes.length * 2))
    larger.set(this.#bytes.subarray(0, this.#length))
    this.#bytes = larger
  }
}
