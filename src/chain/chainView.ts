import type { Hash32 } from '../primitives/bytes.js'
import type { ChainIdentity } from '../store/chainRows.js'
import type { BlockId } from './blockId.js'
import type { Chain, Head, ResolvedBlock } from './chain.js'

/**
 * The chain that ends with one block, as one request sees it, whatever the writer does meanwhile. Blocks above it do
 * not exist here; what a hash names is the same in every view.
 */
export class ChainView {
  /** A pinned view has one block that every tag stands for, its head; in another tags mean what they always mean. */
  constructor(
    private readonly chain: Chain,
    readonly head: Head,
    private readonly isPinned: boolean,
  ) {}

  get identity(): ChainIdentity {
    return this.chain.identity
  }

  /** See {@link Chain.resolve}. */
  resolve(id: BlockId, argument: number): ResolvedBlock | undefined {
    const { head } = this
    if (this.isPinned && id.kind === 'tag') return { number: head.number, hash: head.hash, isPending: false }
    return this.chain.resolve(id, argument, head)
  }

  /** See {@link Chain.pendingBlockJson}. */
  pendingBlockJson(): Uint8Array {
    return this.chain.pendingBlockJson(this.head)
  }

  /** See {@link Chain.blockJson}. */
  blockJson(hash: Hash32, isFull: boolean): Uint8Array | undefined {
    return this.chain.blockJson(hash, isFull)
  }

  /** See {@link Chain.transactionJson}. */
  transactionJson(hash: Hash32, index: number): Uint8Array | undefined {
    return this.chain.transactionJson(hash, index)
  }

  /** See {@link Chain.receiptsJson}. */
  receiptsJson(hash: Hash32): Uint8Array | undefined {
    return this.chain.receiptsJson(hash)
  }

  /** See {@link Chain.uncleJson}. */
  uncleJson(hash: Hash32, index: number): string | undefined {
    return this.chain.uncleJson(hash, index)
  }
}
