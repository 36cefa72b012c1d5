import {
  type Address,
  addressBytes,
  type Hash32,
  hashBytes,
  latin1Key,
  latin1KeyToBytes,
} from '../../primitives/bytes.js'
import { keccak256 } from '../../primitives/keccak.js'
import { rlpEndAt, rlpPayloadAt } from '../../primitives/rlp.js'

/** Criteria of logs, as in eth_getLogs. */
export interface LogCriteria {
  /** Contracts whose logs match; empty for all. */
  readonly addresses: readonly Address[]
  /** Topics allowed at each position; empty for any. A log with fewer topics does not match. */
  readonly topics: readonly (readonly Hash32[])[]
}

/** The parts of a log that filters compare, in the form of {@link latin1Key}. */
export interface LogKeys {
  readonly address: string
  readonly topics: readonly string[]
}

/**
 * Criteria prepared for comparison, as one string: an object per address would take many times the memory of the
 * address.
 */
export class LogFilter {
  /**
   * Number of keys at each position, then the sorted keys of each position. Filters with equal criteria have the same
   * name.
   */
  readonly name: string
  /** Number of keys at each position, the address first; 0 for any. */
  readonly #counts: readonly number[]
  /** Offset of the keys in the name. */
  readonly #start: number
  /** The three bloom bits of each key, in the order of the name; computed at first use. */
  #bloomBits: Uint16Array | undefined

  constructor({ addresses, topics }: LogCriteria) {
    const places = [addresses, ...topics].map((keys) => [...new Set(keys.map(latin1Key))].sort())
    this.#counts = places.map(({ length }) => length)
    const counts = `${this.#counts.join()}:`
    this.#start = counts.length
    // One join makes a flat string; repeated concatenation would keep all pieces in memory.
    this.name = [counts, ...places.flat()].join('')
  }

  /** Number of keys at each position, the address first, then the topics; 0 for any. */
  get counts(): readonly number[] {
    return this.#counts
  }

  /** Number of addresses and topics. */
  get size(): number {
    return this.#counts.reduce((sum, count) => sum + count, 0)
  }

  /** Calls `visit` with every key at `position`: 0 for the address, 1 to 4 for the topics. */
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
   * Like {@link matches}, but for the log at offset `log` of well-formed `receipts`. Allocates no object, because few
   * of a block's logs match.
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

  /** Whether a block with this bloom (256 bytes) may contain a matching log; false is certain. */
  mayMatch(bloom: Uint8Array): boolean {
    // Every log sets bits, so an empty bloom means no logs.
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

  /** Whether `key` (text, or bytes from `offset` on) is allowed at `position`. */
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

  /** Negative, zero or positive as the key at offset `at` is less than, equal to or greater than `key`. */
  #compareText(at: number, key: string): number {
    for (let i = 0; i < key.length; i++) {
      const difference = this.name.charCodeAt(at + i) - key.charCodeAt(i)
      if (difference !== 0) return difference
    }
    return 0
  }

  /** Like {@link #compareText}, but for `width` bytes from `offset` on. */
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
        const hash = keccak256(latin1KeyToBytes(key))
        for (const pair of [0, 2, 4]) {
          bits[at++] = (((hash[pair] as number) << 8) | (hash[pair + 1] as number)) & 2047
        }
      })
    }
    return bits
  }
}

function widthAt(position: number): number {
  return position === 0 ? addressBytes : hashBytes
}

/** Whether a bloom has all bits of one of `count` keys from key `first` on in `bits`. */
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
