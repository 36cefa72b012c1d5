import type { Address, Hash32 } from '../primitives/bytes.js'
import { keccak256 } from '../primitives/keccak.js'

/** Which logs a caller wants, as in eth_getLogs. */
export interface LogCriteria {
  /** Contracts whose logs count; none for all. */
  readonly addresses: readonly Address[]
  /** What may stand at each position; none for anything that stands there. A log with fewer topics does not count. */
  readonly topics: readonly (readonly Hash32[])[]
}

/** What of a log filters look at: bytes as {@link bytesKey} writes them. */
export interface LogKeys {
  readonly address: string
  readonly topics: readonly string[]
}

/** Bytes as text of as many characters, so that Maps and Sets can find them. */
export function bytesKey(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1')
}

/** Criteria made ready to be compared. Two that want the same logs in the same words have the same {@link name}. */
export class LogFilter {
  readonly addresses: ReadonlySet<string>
  readonly topics: readonly ReadonlySet<string>[]
  readonly name: string
  /** Of each restricted place, the bloom bits of what may stand there. */
  readonly #blooms: readonly (readonly BloomBits[])[]

  constructor({ addresses, topics }: LogCriteria) {
    this.addresses = new Set(addresses.map(bytesKey))
    this.topics = topics.map((alternatives) => new Set(alternatives.map(bytesKey)))
    // Keys of one place have one length, so their counts alone separate them.
    const places = [this.addresses, ...this.topics].map((keys) => [...keys].sort())
    this.name = places.map((keys) => `${keys.length}:${keys.join('')}`).join()
    this.#blooms = [addresses, ...topics]
      .filter((alternatives) => alternatives.length > 0)
      .map((alternatives) => alternatives.map(bloomBits))
  }

  matches(log: LogKeys): boolean {
    if (this.addresses.size > 0 && !this.addresses.has(log.address)) return false
    if (this.topics.length > log.topics.length) return false
    return this.topics.every(
      (alternatives, position) => alternatives.size === 0 || alternatives.has(log.topics[position] as string),
    )
  }

  /** Whether a block with this bloom (256 bytes) can hold a log that matches; false is certain. */
  mayMatch(bloom: Uint8Array): boolean {
    // Every log sets bits, so an empty bloom says that there is none.
    if (this.#blooms.length === 0) return bloom.some((byte) => byte !== 0)
    return this.#blooms.every((alternatives) => alternatives.some((bits) => hasBits(bloom, bits)))
  }
}

/** Three bits of a bloom, each as its byte and its mask. */
type BloomBits = readonly { readonly byte: number; readonly mask: number }[]

/** Yellow paper 4.3.1, M3:2048. */
function bloomBits(value: Uint8Array): BloomBits {
  const hash = keccak256(value)
  return [0, 2, 4].map((at) => {
    const bit = (((hash[at] as number) << 8) | (hash[at + 1] as number)) & 2047
    return { byte: 255 - (bit >> 3), mask: 1 << (bit & 7) }
  })
}

function hasBits(bloom: Uint8Array, bits: BloomBits): boolean {
  return bits.every(({ byte, mask }) => ((bloom[byte] as number) & mask) !== 0)
}
