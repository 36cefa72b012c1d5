/**
 * Reads and writes values in the kernel's linear memory: words (little-endian), numbers of the exchange (big-endian),
 * addresses. A value of another length is refused. A longer one would overwrite the bytes behind it, and a shorter one
 * would leave old bytes.
 */

const wordEnd64 = 2n ** 64n
const wordEnd = 2n ** 256n
const wordBytes = 32

export class KernelMemory {
  #bytes: Uint8Array
  #view: DataView
  #parts: Int32Array
  readonly #memory: { readonly buffer: ArrayBuffer }

  constructor(memory: { readonly buffer: ArrayBuffer }) {
    this.#memory = memory
    this.#bytes = new Uint8Array(memory.buffer)
    this.#view = new DataView(memory.buffer)
    this.#parts = new Int32Array(memory.buffer)
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

  /** Four bytes in each number, which are compared at once. */
  get parts(): Int32Array {
    if (this.#bytes.length === 0) this.#refresh()
    return this.#parts
  }

  slice(at: number, length: number): Uint8Array {
    return this.bytes.slice(at, at + length)
  }

  /** Writes the `placeBytes` bytes of a place. Throws RangeError for another number of them. */
  put(at: number, bytes: Uint8Array, placeBytes: number): void {
    requireBytes(bytes, placeBytes, placeBytes)
    this.bytes.set(bytes, at)
  }

  /** Writes a number of at most 32 big-endian bytes into a place of 32. Throws RangeError for more of them. */
  putRight(at: number, bytes: Uint8Array): void {
    requireBytes(bytes, 0, wordBytes)
    const start = at + wordBytes - bytes.length
    this.bytes.fill(0, at, start)
    this.bytes.set(bytes, start)
  }

  uint32(at: number): number {
    return this.view.getUint32(at, true)
  }

  int64(at: number): bigint {
    return this.view.getBigInt64(at, true)
  }

  /** Throws RangeError for a number that does not fit a word. */
  putWord(at: number, value: bigint): void {
    requireWord(value)
    const { view } = this
    if (value < wordEnd64) {
      view.setBigUint64(at, value, true)
      clearParts(view, at + 8)
      return
    }
    for (let limb = 0; limb < 4; limb++)
      view.setBigUint64(at + limb * 8, BigInt.asUintN(64, value >> BigInt(limb * 64)), true)
  }

  /** Writes a word from exactly `length` big-endian bytes, 32 at most. Throws RangeError for another number of them. */
  putReversed(at: number, value: Uint8Array, length: number): void {
    requireBytes(value, length, length)
    const { bytes } = this
    for (let i = 0; i < length; i++) bytes[at + i] = value[length - 1 - i] as number
    for (let i = length; i < wordBytes; i++) bytes[at + i] = 0
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

  /** Writes a number as 32 big-endian bytes, as in the exchange. Throws RangeError if it does not fit. */
  putNumber(at: number, value: bigint): void {
    requireWord(value)
    const { view } = this
    if (value < wordEnd64) {
      clearParts(view, at)
      view.setBigUint64(at + 24, value)
      return
    }
    for (let limb = 0; limb < 4; limb++)
      view.setBigUint64(at + 24 - limb * 8, BigInt.asUintN(64, value >> BigInt(limb * 64)))
  }

  #refresh(): void {
    this.#bytes = new Uint8Array(this.#memory.buffer)
    this.#view = new DataView(this.#memory.buffer)
    this.#parts = new Int32Array(this.#memory.buffer)
  }
}

function requireBytes({ length }: Uint8Array, least: number, most: number): void {
  if (length >= least && length <= most) return
  throw new RangeError(`a value of ${length} bytes does not fit a place of ${most}`)
}

function requireWord(value: bigint): void {
  if (value >= 0n && (value < wordEnd64 || value < wordEnd)) return
  throw new RangeError('a number does not fit a word')
}

/** Writes 24 zero bytes. A call of `fill` takes four times the instructions. */
function clearParts(view: DataView, at: number): void {
  for (let i = 0; i < 24; i += 4) view.setInt32(at + i, 0)
}
