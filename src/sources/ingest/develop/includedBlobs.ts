/**
 * Blobs of transactions in blocks, in memory only. A block has no blobs, and a transaction whose block leaves the chain
 * needs them to wait again. go-ethereum's limbo does the same.
 */
import type { SentTransaction } from '../../../execution/evm/transactions/sentTransaction.js'
import { latin1Key } from '../../../primitives/bytes.js'
import { keccak256 } from '../../../primitives/keccak.js'

export class IncludedBlobs {
  readonly #bytesMax: number
  /** Transactions with their blobs by hash, oldest first. */
  readonly #sent = new Map<string, Uint8Array>()
  #bytes = 0

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  /** Keeps the blobs of a transaction; the oldest ones are dropped if there is no room. */
  add({ hash, raw }: SentTransaction): void {
    const key = latin1Key(hash)
    if (this.#sent.has(key)) return
    this.#sent.set(key, raw)
    this.#bytes += raw.length
    for (const [oldest, { length }] of this.#sent) {
      if (this.#bytes <= this.#bytesMax) return
      this.#sent.delete(oldest)
      this.#bytes -= length
    }
  }

  /** A transaction of a block (EIP-2718 bytes) as it was sent, with its blobs; undefined if they are not here. */
  find(bytes: Uint8Array): Uint8Array | undefined {
    return this.#sent.get(latin1Key(keccak256(bytes)))
  }
}
