import { decodeHeader, stateRootOf } from '../../data/chain/header.js'
import { headState } from '../../data/state/stateView.js'
import type { ChainReader } from '../../data/store/chainReader.js'
import { bytesToBigInt } from '../../primitives/bytes.js'
import type { PreviousState } from './verifyBlockDiff.js'

/** The head of a store as what a block diff follows. Valid until the head changes. */
export function previousState(store: ChainReader): PreviousState {
  const head = store.readHead()
  const rlp = head && store.readHeader(head.hash)
  const total = head && store.readTotalDifficulty(head.hash)
  if (head === undefined || rlp === undefined || total === undefined)
    throw new Error('the store has no whole head')
  const header = decodeHeader(rlp)
  const root = stateRootOf(header, store.readIdentity()?.development)
  return { ...head, header, totalDifficulty: bytesToBigInt(total), state: headState(store, root) }
}
