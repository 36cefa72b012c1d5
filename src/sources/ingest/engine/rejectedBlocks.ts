/**
 * Blocks that are invalid, and their descendants, in memory: each is answered without an execution. Owns their number.
 */
import { type Hash32, latin1Key } from '../../../primitives/bytes.js'
import { putNewest } from '../../../primitives/putNewest.js'

/** As many as go-ethereum remembers (invalidTipsetsCap): a consensus client leaves such a branch within an epoch. */
export const rejectedMax = 512

export interface Rejection {
  /** The parent of the first invalid block of the branch. */
  readonly latestValidHash: Hash32
  readonly why: string
}

export class RejectedBlocks {
  /** By hash, the oldest first. */
  readonly #rejections = new Map<string, Rejection>()
  readonly #countMax: number

  constructor(countMax = rejectedMax) {
    this.#countMax = countMax
  }

  add(hash: Hash32, rejection: Rejection): void {
    putNewest(this.#rejections, latin1Key(hash), rejection, this.#countMax)
  }

  find(hash: Hash32): Rejection | undefined {
    return this.#rejections.get(latin1Key(hash))
  }

  /** The rejection of a block, or of its parent. Remembers a child of a rejected block. */
  findBranch(hash: Hash32, parentHash: Hash32): Rejection | undefined {
    const known = this.find(hash)
    if (known !== undefined) return known
    const parent = this.find(parentHash)
    if (parent !== undefined) this.add(hash, parent)
    return parent
  }
}
