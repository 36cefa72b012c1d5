import type { ChainView } from '../../../data/chain/chain.js'
import type { BlockId, ResolvedBlock } from '../../../data/chain/chainBlocks.js'
import { largest } from '../../../primitives/extremes.js'
import { FaultError } from '../../../primitives/faults.js'

/** The block that argument `argument` names by `id`. Throws FaultError for an unknown block. */
export function knownBlock(chain: ChainView, id: BlockId, argument: number): ResolvedBlock {
  const block = chain.resolve(id, argument)
  if (block === undefined) {
    if (id.kind === 'hash') throw new FaultError({ kind: 'HeaderForHashNotFound' })
    throw headerNotFound(chain, id.kind === 'number' ? id.number : id.tag)
  }
  return block
}

/** The fault of a block that does not exist yet. */
export function headerNotFound({ head }: ChainView, block: number | string): FaultError {
  return new FaultError({ kind: 'HeaderNotFound', block, head: head.number })
}

/**
 * The block that argument `argument` names, whose state is read: its values, its tries or both. Throws FaultError for
 * an unknown block, and for state that was pruned.
 */
export function stateBlock(
  chain: ChainView,
  id: BlockId,
  argument: number,
  kinds: readonly ('state' | 'trie')[] = ['state'],
): ResolvedBlock {
  const block = knownBlock(chain, id, argument)
  const oldest = largest(kinds.map((kind) => chain.oldest[kind]))
  if (block.number < oldest) throw new FaultError({ kind: 'HistoryPruned', oldest })
  return block
}

/** The block that argument 0 names; undefined for an unknown block and for the pending one. */
export function minedBlock(chain: ChainView, id: BlockId): ResolvedBlock | undefined {
  return unlessPending(chain.resolve(id, 0))
}

/** Like {@link minedBlock}, but for methods whose specification accepts `safe` on every network. */
export function minedBlockOfAnyTag(chain: ChainView, id: BlockId): ResolvedBlock | undefined {
  return unlessPending(chain.resolve(id, undefined))
}

function unlessPending(block: ResolvedBlock | undefined): ResolvedBlock | undefined {
  return block?.isPending === false ? block : undefined
}
