import { decodeHeader, stateRootOf } from '../chain/header.js'
import { bytesToBigInt } from '../primitives/bytes.js'
import { headState } from '../state/stateView.js'
import type { ChainReader } from '../store/chainReader.js'
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
