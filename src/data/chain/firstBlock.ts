import { FaultError } from '../../primitives/faults.js'
import type { ResolvedBlock } from './chainBlocks.js'
import type { ChainView } from './chainView.js'

/**
 * The first block from genesis on whose state satisfies `holds`; undefined if the head's state does not. If the
 * condition begins to hold several times, the result is any block where it begins. Reads log₂ of the chain's height
 * blocks. If the condition already holds at the oldest block with stored state, `atOldest` decides whether it begins
 * there. Throws FaultError HistoryPruned if it began in a block whose state was removed.
 */
export function firstBlockWhere(
  chain: ChainView,
  holds: (block: ResolvedBlock) => boolean,
  atOldest: (block: ResolvedBlock) => boolean,
): ResolvedBlock | undefined {
  const blockAt = (number: number): ResolvedBlock => {
    const block = chain.resolve({ kind: 'number', number }, 0)
    if (block === undefined) throw new Error(`block ${number} is below the head and not there`)
    return block
  }
  const oldest = chain.oldest.state
  let low = oldest
  let high = chain.head.number
  if (!holds(blockAt(high))) return undefined
  if (oldest > 0) {
    const block = blockAt(oldest)
    if (holds(block)) {
      if (atOldest(block)) return block
      throw new FaultError({ kind: 'HistoryPruned', oldest })
    }
  }
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    if (holds(blockAt(middle))) high = middle
    else low = middle + 1
  }
  return blockAt(high)
}
