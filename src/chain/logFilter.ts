import { type Address, type Hash32, mapKey, mapKeyToBytes } from '../primitives/bytes.js'
import { keccak256 } from '../primitives/keccak.js'
import { rlpEndAt, rlpPayloadAt } from '../primitives/rlp.js'

/** Which logs a caller wants, as in eth_getLogs. */
export interface LogCriteria {
  /** Contracts whose logs count; none for all. */
  readonly addresses: readonly Address[]
  /** What may stand at each position; none for anything that stands there. A log with fewer topics does not count. */
  readonly topics: readonly (readonly Hash32[])[]
}

/** What of a log filters look at: bytes as {@link mapKey} writes them. */
export interface LogKeys {
  readonly address: string
  readonly topics: readonly string[]
}

/** Bytes of an address and of a topic. */
const addressBytes = 20
const topicBytes = 32

/**
 * Criteria made ready to be compared, as one string: an object for each address would take more memory than the
 * address many times over.
 */
export class LogFilter {
  /**
   * How many keys may stand at each position, and the keys of each position, sorted. Two filters that want the same logs
   * in the same words have the same name.
   */
  readonly name: string
  /** Keys that may stand at each position, the address first; 0 where anything may. */
  readonly #counts: readonly number[]
  /** Where the keys begin in the name. */
  readonly #start: number
  /** The three bits of each key in a bloom, in the order of the name; undefined until a bloom is looked at. */
  #bloomBits: Uint16Array | undefined

  constructor({ addresses, topics }: LogCriteria) {
    const places = [addresses, ...topics].map((keys) => [...new Set(keys.map(mapKey))].sort())
    this.#counts = places.map(({ length }) => length)
    const counts = `${this.#counts.join()}:`
    this.#start = counts.length
    // Joined at once, because a string put together from pieces keeps them.
    this.name = [counts, ...places.flat()].join('')
  }

  /** Keys that may stand at each position, the address first and then the topics; 0 where anything may. */
  get counts(): readonly number[] {
    return this.#counts
  }

  /** Addresses and topics in all. */
  get size(): number {
    return this.#counts.reduce((sum, count) => sum + count, 0)
  }

  /** Calls `visit` with every key that may stand at `position`: 0 for the address, 1 to 4 for the topics. */
  visitKeys(position: number, visit: (key: string) => void): void {
    const width = widthAt(position)
    const start = this.#startOf(position)
    const end = start + (this.#counts[position] ?? 0) * width
    for (let at = start; at < end; at += width) visit(this.name.slice(at, at + width))
  }

  matches({ address, topics }: LogKeys): boolean {
    if (this.#counts.length - 1 > topics.length || !this.#allows(0, address)) return false
    for (let position = 1; position < this.#counts.length; position++) {
      if (!this.#allows(position, topics[position - 1] as string)) return false
    }
    return true
  }

  /**
   * As {@link matches}, for the log whose RLP begins at `log` of `receipts`, which were found well-formed before. Makes
   * no object: of a block's logs few match.
   */
  matchesAt(receipts: Uint8Array, log: number): boolean {
    const address = rlpPayloadAt(receipts, log)
    if (!this.#allows(0, receipts, rlpPayloadAt(receipts, address))) return false
    const topics = rlpEndAt(receipts, address)
    const end = rlpEndAt(receipts, topics)
    let topic = rlpPayloadAt(receipts, topics)
    for (let position = 1; position < this.#counts.length; position++) {
      if (topic === end || !this.#allows(position, receipts, rlpPayloadAt(receipts, topic))) return false
      topic = rlpEndAt(receipts, topic)
    }
    return true
  }

  /** Whether a block with this bloom (256 bytes) can hold a log that matches; false is certain. */
  mayMatch(bloom: Uint8Array): boolean {
    // Every log sets bits, so an empty bloom says that there is none.
    if (bloom.every((byte) => byte === 0)) return false
    this.#bloomBits ??= this.#computeBloomBits()
    let first = 0
    for (const count of this.#counts) {
      if (count > 0 && !hasOneOf(bloom, this.#bloomBits, first, count)) return false
      first += count
    }
    return true
  }

  #startOf(position: number): number {
    let start = this.#start
    for (let before = 0; before < position; before++) start += (this.#counts[before] ?? 0) * widthAt(before)
    return start
  }

  /** Whether `key` may stand at `position`: text, or what begins at `offset` of bytes. */
  #allows(position: number, key: string | Uint8Array, offset = 0): boolean {
    const count = this.#counts[position] as number
    if (count === 0) return true
    const width = widthAt(position)
    const start = this.#startOf(position)
    let low = 0
    let high = count
    while (low < high) {
      const middle = (low + high) >>> 1
      const at = start + middle * width
      const order =
        typeof key === 'string' ? this.#compareText(at, key) : this.#compareBytes(at, key, offset, width)
      if (order === 0) return true
      if (order < 0) low = middle + 1
      else high = middle
    }
    return false
  }

  /** Below, equal to or above zero, as the key that stands at `at` comes before, is or comes after `key`. */
  #compareText(at: number, key: string): number {
    for (let i = 0; i < key.length; i++) {
      const difference = this.name.charCodeAt(at + i) - key.charCodeAt(i)
      if (difference !== 0) return difference
    }
    return 0
  }

  /** As {@link #compareText}, with the `width` bytes from `offset` on. */
  #compareBytes(at: number, bytes: Uint8Array, offset: number, width: number): number {
    for (let i = 0; i < width; i++) {
      const difference = this.name.charCodeAt(at + i) - (bytes[offset + i] as number)
      if (difference !== 0) return difference
    }
    return 0
  }

  #computeBloomBits(): Uint16Array {
    const bits = new Uint16Array(3 * this.size)
    let at = 0
    for (let position = 0; position < this.#counts.length; position++) {
      this.visitKeys(position, (key) => {
        // Yellow paper 4.3.1, M3:2048.
        const hash = keccak256(mapKeyToBytes(key))
        for (const pair of [0, 2, 4]) {
          bits[at++] = (((hash[pair] as number) << 8) | (hash[pair + 1] as number)) & 2047
        }
      })
    }
    return bits
  }
}

/** Bytes of what stands at a position. */
function widthAt(position: number): number {
  return position === 0 ? addressBytes : topicBytes
}

/** Whether a bloom has all bits of one of `count` keys, whose bits stand in `bits` from key `first` on. */
function hasOneOf(bloom: Uint8Array, bits: Uint16Array, first: number, count: number): boolean {
  for (let at = 3 * first; at < 3 * (first + count); at += 3) {
    if (hasBit(bloom, bits[at]) && hasBit(bloom, bits[at + 1]) && hasBit(bloom, bits[at + 2])) return true
  }
  return false
}

function hasBit(bloom: Uint8Array, bit: number | undefined): boolean {
  const index = bit as number
  return ((bloom[255 - (index >> 3)] as number) & (1 << (index & 7))) !== 0
}
