import type { BlockId } from './blockId.js'
import type { Chain } from './chain.js'
import { ChainBlocks, type Head, type ResolvedBlock } from './chainBlocks.js'

/** The chain that ends with one block, fixed for one request and unaffected by later writes. */
export class ChainView extends ChainBlocks {
  readonly #isPinned: boolean

  /** In a pinned view every tag means its head; in other views tags have their usual meaning. */
  constructor(
    chain: Chain,
    readonly head: Head,
    isPinned: boolean,
  ) {
    super(chain.parts)
    this.#isPinned = isPinned
  }

  override resolve(id: BlockId, argument: number | undefined): ResolvedBlock | undefined {
    const { number, hash } = this.head
    if (this.#isPinned && id.kind === 'tag') return { number, hash, isPending: false }
    return super.resolve(id, argument)
  }
}
