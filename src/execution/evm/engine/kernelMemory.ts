/** The kernel's linear memory as values: words (little-endian), numbers of the exchange (big-endian), addresses. */

const wordEnd64 = 2n ** 64n

export class KernelMemory {
  #bytes: Uint8Array
  #view: DataView
  readonly #memory: { readonly buffer: ArrayBuffer }

  constructor(memory: { readonly buffer: ArrayBuffer }) {
    this.#memory = memory
    this.#bytes = new Uint8Array(memory.buffer)
    this.#view = new DataView(memory.buffer)
  }

  /** Valid until the kernel runs, because growing the memory replaces it. */
  get bytes(): Uint8Array {
    if (this.#bytes.length === 0) this.#refresh()
    return this.#bytes
  }

  get view(): DataView {
    if (this.#bytes.length === 0) this.#refresh()
    return this.#view
  }

  slice(at: number, length: number): Uint8Array {
    return this.bytes.slice(at, at + length)
  }

  put(at: number, bytes: Uint8Array): void {
    this.bytes.set(bytes, at)
  }

  uint32(at: number): number {
    return this.view.getUint32(at, true)
  }

  putWord(at: number, value: bigint): void {
    const { view } = this
    if (value < wordEnd64) {
      view.setBigUint64(at, value, true)
      this.bytes.fill(0, at + 8, at + 32)
      return
    }
    for (let limb = 0; limb < 4; limb++)
      view.setBigUint64(at + limb * 8, BigInt.asUintN(64, value >> BigInt(limb * 64)), true)
  }

  /** Writes a word from at most 32 big-endian bytes. */
  putReversed(at: number, value: Uint8Array): void {
    const { bytes } = this
    const { length } = value
    for (let i = 0; i < length; i++) bytes[at + i] = value[length - 1 - i] as number
    bytes.fill(0, at + length, at + 32)
  }

  wordAt(at: number): bigint {
    const { view } = this
    let value = 0n
    for (let limb = 3; limb >= 0; limb--) {
      const part = view.getBigUint64(at + limb * 8, true)
      if (value !== 0n || part !== 0n) value = (value << 64n) | part
    }
    return value
  }

  /** The big-endian bytes of a word. */
  reversed(at: number): Uint8Array {
    return this.slice(at, 32).reverse()
  }

  /** Writes a number of 32 big-endian bytes, as in the exchange. */
  putNumber(at: number, value: bigint): void {
    const { view } = this
    if (value < wordEnd64) {
      this.bytes.fill(0, at, at + 24)
      view.setBigUint64(at + 24, value)
      return
    }
    for (let limb = 0; limb < 4; limb++)
      view.setBigUint64(at + 24 - limb * 8, BigInt.asUintN(64, value >> BigInt(limb * 64)))
  }

  #refresh(): void {
    this.#bytes = new Uint8Array(this.#memory.buffer)
    this.#view = new DataView(this.#memory.buffer)
  }
}
