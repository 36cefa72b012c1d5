import type { BlockId } from '../../data/chain/chainBlocks.js'
import type { ChainStep } from '../../data/chain/chainSteps.js'
import type { LogFilter } from '../../data/chain/logFilter.js'
import type { Delivery } from './subscription.js'

/** A subscription to heads, logs or receipts. */
export interface ChainRequest {
  readonly delivery: Delivery
  /** The logs to send; undefined for heads, and for receipts. */
  readonly filter: LogFilter | undefined
  /** The transactions whose receipts are sent, one message for each block; absent for heads and logs. */
  readonly receipts?: WantedReceipts | 'all'
  /**
   * Number or tag: the first block to send. Hash: the last block that the client has. If undefined, only new blocks,
   * and no removed heads, as in go-ethereum.
   */
  readonly from: BlockId | undefined
  /** Numbers of the blocks whose logs are sent; undefined for all. Does not apply to heads. */
  readonly within: BlockRange | undefined
}

/** First and last block number, both included. */
export interface BlockRange {
  readonly first: number
  readonly last: number
}

/** Bytes of a hash in a name. */
const hashWidth = 32

/** Hashes of transactions, as one string: a set of them would take several times the memory. */
export class WantedReceipts {
  /** The sorted hashes; equal sets have the same name. */
  readonly name: string

  /** `hashes` as by `latin1Key` (primitives/bytes.ts). */
  constructor(hashes: readonly string[]) {
    this.name = [...new Set(hashes)].sort().join('')
  }

  get size(): number {
    return this.name.length / hashWidth
  }

  /** The indices of the wanted transactions in a block, in order. */
  indicesIn(indexOf: ReadonlyMap<string, number>): number[] {
    const found: number[] = []
    for (let at = 0; at < this.name.length; at += hashWidth) {
      const index = indexOf.get(this.name.slice(at, at + hashWidth))
      if (index !== undefined) found.push(index)
    }
    return found.sort((a, b) => a - b)
  }
}

export function wantsStep({ filter, from }: ChainRequest, step: ChainStep): boolean {
  return step.kind === 'added' || filter !== undefined || from !== undefined
}

export function isWithin({ within }: ChainRequest, { number }: ChainStep): boolean {
  return within === undefined || (number >= within.first && number <= within.last)
}
