/**
 * Receipts of a block: their consensus encoding (EIP-2718, EIP-658) and the bloom of their logs (yellow paper 4.3.1).
 */
import { bloomBytes, latin1Key, toMinimalBytes } from '../../../primitives/bytes.js'
import { keccak256 } from '../../../primitives/keccak.js'
import { encodeRlp } from '../../../primitives/rlp.js'
import { Slab } from '../../../primitives/slab.js'
import type { KernelLog } from '../engine/kernelLogs.js'

/** A buffer for receipts, which live until their block is stored. */
const slab = new Slab()

export interface Receipt {
  readonly type: number
  /** Whether the transaction succeeded; before Byzantium, the state root after it. */
  readonly outcome: boolean | Uint8Array
  /** Cumulative gas used, up to and including this transaction. */
  readonly gasUsed: bigint
  readonly logs: readonly KernelLog[]
  /** Integers behind the logs. */
  readonly tail?: readonly bigint[]
}

export function encodeReceipt(
  { type, outcome, gasUsed, logs, tail = [] }: Receipt,
  bloom: Uint8Array,
): Uint8Array {
  const status = typeof outcome === 'boolean' ? toMinimalBytes(outcome ? 1 : 0) : outcome
  const items = logs.map(({ address, topics, data }) => [address, topics, data])
  const fields = [status, toMinimalBytes(gasUsed), bloom, items]
  const rlp = encodeRlp(tail.length === 0 ? fields : [...fields, ...tail.map(toMinimalBytes)], slab)
  return type === 0 ? rlp : Buffer.concat([Uint8Array.of(type), rlp])
}

/** Blooms of one block. Caches the bits of addresses and topics, which are repeated in its logs. */
export class Blooms {
  /** Bloom of the whole block. */
  readonly block = new Uint8Array(bloomBytes)
  readonly #bloom = new Uint8Array(bloomBytes)
  readonly #bits = new Map<string, readonly number[]>()

  /** Valid until the next call. */
  bloomOf(logs: readonly KernelLog[]): Uint8Array {
    const bloom = this.#bloom.fill(0)
    for (const { address, topics } of logs) {
      this.#add(bloom, address)
      for (const topic of topics) this.#add(bloom, topic)
    }
    if (logs.length > 0) for (let i = 0; i < bloomBytes; i++) this.block[i] = at(this.block, i) | at(bloom, i)
    return bloom
  }

  #add(bloom: Uint8Array, key: Uint8Array): void {
    const name = latin1Key(key)
    let bits = this.#bits.get(name)
    if (bits === undefined) {
      const hash = keccak256(key)
      bits = [0, 2, 4].map((pair) => ((at(hash, pair) << 8) | at(hash, pair + 1)) & 2047)
      this.#bits.set(name, bits)
    }
    for (const bit of bits) {
      const index = bloomBytes - 1 - (bit >> 3)
      bloom[index] = at(bloom, index) | (1 << (bit & 7))
    }
  }
}

function at(bytes: Uint8Array, index: number): number {
  return bytes[index] as number
}
