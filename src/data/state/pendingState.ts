import type { Hash32 } from '../../primitives/bytes.js'
import { decodeRlpList, rlpBytes } from '../../primitives/rlp.js'
import type { ChainRows, PendingBlock } from '../store/chainRows.js'
import { BranchState, headState, type StateView } from './stateView.js'

/** One view for each block, as long as the store keeps it. */
const views = new WeakMap<PendingBlock, StateView>()

/**
 * The state after the block of waiting transactions that a developer chain could make now; undefined where none waits.
 * Valid until the head or that block changes.
 */
export function pendingState(store: ChainRows): StateView | undefined {
  const pending = store.readPending?.()
  if (pending === undefined) return undefined
  const known = views.get(pending)
  if (known !== undefined) return known
  // The state root is the fourth field of every header (yellow paper 4.4).
  const stateRoot = rlpBytes(decodeRlpList(pending.block.header)[3]) as Hash32
  const view = new BranchState(headState(store, stateRoot))
  view.add(pending.block, stateRoot)
  views.set(pending, view)
  return view
}
