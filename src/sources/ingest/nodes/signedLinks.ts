import type { BlockName } from '../../../data/store/chainRows.js'
import { equalBytes, type Hash32 } from '../../../primitives/bytes.js'
import { OperatorError } from '../../../primitives/faults.js'
import type { BlockLink } from '../blocks/block.js'
import type { UpstreamBlocks } from './upstreamBlocks.js'

/**
 * Most blocks between the stored head and the signed one, whose hashes wait in memory: 32 MB, four months of Ethereum.
 */
const linksMax = 1_000_000
/** Headers per request. */
const linkBatch = 64

/**
 * The hashes of the blocks below a signed one, each named by the block above, so that no node can forge one of them.
 */
export class SignedLinks {
  readonly #blocks: UpstreamBlocks
  /** Number → hash, all on the branch of the newest signed block. */
  readonly #hashes = new Map<number, Hash32>()

  constructor(blocks: UpstreamBlocks) {
    this.#blocks = blocks
  }

  /**
   * Hashes by number from `first` up to a signed block; undefined if no node has one of their headers now. Throws
   * OperatorError if these are too many.
   */
  async from(first: number, signed: BlockLink): Promise<ReadonlyMap<number, Hash32> | undefined> {
    if (signed.number - first >= linksMax) {
      throw new OperatorError(
        `the signed block ${signed.number} is more than ${linksMax} blocks above the stored head; begin with a newer store`,
      )
    }
    for (const number of this.#hashes.keys()) {
      if (number < first || number > signed.number) this.#hashes.delete(number)
    }
    let link = signed
    while (link.number >= first) {
      const known = this.#hashes.get(link.number)
      if (known !== undefined && equalBytes(known, link.hash)) return this.#hashes
      this.#hashes.set(link.number, link.hash)
      if (link.number === first) return this.#hashes
      const below = await this.#below(link, first)
      if (below === undefined) return undefined
      link = below
    }
    return this.#hashes
  }

  /**
   * The block of a number from `first` up to the signed block with this hash; undefined if no node has the headers
   * between.
   */
  async at(number: number, first: number, hash: Hash32): Promise<BlockName | undefined> {
    const signed = await this.#blocks.linkByHash(hash)
    const found = signed && (await this.from(first, signed))?.get(number)
    return found && { number, hash: found }
  }

  /**
   * Goes down from a block by the headers of nodes at the numbers below, as far as they link; at least by one block.
   */
  async #below(link: BlockLink, first: number): Promise<BlockLink | undefined> {
    const links = await this.#blocks.linksBelow(link, Math.min(linkBatch, link.number - first))
    for (const { number, hash } of links.slice(0, -1)) this.#hashes.set(number, hash)
    return links.at(-1)
  }
}
