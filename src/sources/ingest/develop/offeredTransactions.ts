/**
 * Offers waiting transactions to a block that is built, as go-ethereum's miner does. A transaction that does not fit or
 * breaks a rule is left out, with the later ones of its sender. The block continues with others.
 */
import type { ForkName } from '../../../data/chain/forks.js'
import type { Offers } from '../../../execution/evm/blocks/executeBlock.js'
import type { SentTransaction } from '../../../execution/evm/transactions/sentTransaction.js'
import { type BlockGas, fitsBlock } from '../../../execution/evm/transactions/transactionChecks.js'
import { latin1Key } from '../../../primitives/bytes.js'
import type { RlpItem } from '../../../primitives/rlp.js'

/** Amounts of a transaction besides gas, or of some together. */
export interface Amounts {
  readonly blobs: number
  /** Bytes of the transaction as in the block. */
  readonly bytes: number
  /** Blob gas where a fork computes it from the bytes of transactions; otherwise 0. */
  readonly footprint: bigint
  /** Estimated bytes in a batch on L1; 0 on a chain without batches. */
  readonly dataBytes: bigint
}

/** The block to which transactions are offered. */
export interface OfferedBlock {
  readonly fork: ForkName
  readonly gasLimit: bigint
  /** Most of each amount in the block, and most data of one transaction. */
  readonly most: Amounts & { readonly dataBytesOfEach: bigint }
  /** Amounts of the mandatory transactions. */
  readonly opening: Amounts
  amountsOf(transaction: SentTransaction): Amounts
  itemOf(transaction: SentTransaction): RlpItem
}

interface Refused {
  readonly tx: SentTransaction
  readonly why: string
  /** Whether the block has no transaction of its sender, which could be the cause. */
  readonly isFirst: boolean
}

export class OfferedTransactions implements Offers {
  readonly refused: Refused[] = []
  readonly #block: OfferedBlock
  readonly #candidates: Iterator<SentTransaction>
  /** Taken transactions, each with the amounts of the block before it. */
  readonly #taken: (readonly [tx: SentTransaction, before: Amounts])[] = []
  /** Senders whose transactions are no longer offered. */
  readonly #left = new Set<string>()
  #amounts: Amounts

  /** `candidates`: in the order of the offers, those of one sender by nonce. */
  constructor(candidates: readonly SentTransaction[], block: OfferedBlock) {
    this.#candidates = candidates.values()
    this.#block = block
    this.#amounts = block.opening
  }

  /** Offered transactions that were not refused, in order. */
  get taken(): readonly SentTransaction[] {
    return this.#taken.map(([tx]) => tx)
  }

  next(used: BlockGas): RlpItem | undefined {
    for (let next = this.#candidates.next(); next.done !== true; next = this.#candidates.next()) {
      const tx = next.value
      const sender = latin1Key(tx.sender)
      if (this.#left.has(sender)) continue
      const amounts = fitsBlock(this.#block, tx.gasLimit, used) ? this.#amountsWith(tx) : undefined
      if (amounts === undefined) {
        this.#left.add(sender)
        continue
      }
      this.#taken.push([tx, this.#amounts])
      this.#amounts = amounts
      return this.#block.itemOf(tx)
    }
    return undefined
  }

  refuse(why: string): void {
    const last = this.#taken.pop()
    if (last === undefined) throw new Error('no transaction was offered')
    const [tx, before] = last
    this.#amounts = before
    const sender = latin1Key(tx.sender)
    this.#left.add(sender)
    const isFirst = !this.#taken.some(([other]) => latin1Key(other.sender) === sender)
    this.refused.push({ tx, why, isFirst })
  }

  /** Amounts of the block with one more transaction; undefined if that does not fit. */
  #amountsWith(tx: SentTransaction): Amounts | undefined {
    const { most, amountsOf } = this.#block
    const added = amountsOf(tx)
    const blobs = this.#amounts.blobs + added.blobs
    const bytes = this.#amounts.bytes + added.bytes
    const footprint = this.#amounts.footprint + added.footprint
    const dataBytes = this.#amounts.dataBytes + added.dataBytes
    const fits =
      blobs <= most.blobs &&
      bytes <= most.bytes &&
      footprint <= most.footprint &&
      dataBytes <= most.dataBytes &&
      added.dataBytes <= most.dataBytesOfEach
    return fits ? { blobs, bytes, footprint, dataBytes } : undefined
  }
}
