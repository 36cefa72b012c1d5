import type { BlockId } from '../chain/blockId.js'
import type { ResolvedBlock } from '../chain/chain.js'
import type { ChainView } from '../chain/chainView.js'
import { FaultError } from '../primitives/faults.js'

/**
 * The block whose state argument `argument` (from 0) asks for. Where a block is only looked up an unknown one is
 * null; where its state is read it is a fault. Throws FaultError.
 */
export function stateBlock(chain: ChainView, id: BlockId, argument: number): ResolvedBlock {
  const block = chain.resolve(id, argument)
  if (block === undefined) {
    throw new FaultError({ kind: id.kind === 'hash' ? 'HeaderForHashNotFound' : 'HeaderNotFound' })
  }
  return block
}
