import { stateRootOf } from '../chain/genesisState.js'
import { decodeHeader } from '../chain/header.js'
import { bytesToBigInt } from '../primitives/bytes.js'
import { headState } from '../state/stateView.js'
import type { ChainReader } from '../store/chainReader.js'
import type { PreviousState } from './verifyBundle.js'

/** The head of a store as what a bundle follows. Valid until the head changes. */
export function previousState(store: ChainReader): PreviousState {
  const head = store.readHead()
  const header = head && store.readHeader(head.hash)
  const total = head && store.readTotalDifficulty(head.hash)
  if (head === undefined || header === undefined || total === undefined)
    throw new Error('the store has no whole head')
  const root = stateRootOf(decodeHeader(header), store.readIdentity()?.development)
  return { ...head, totalDifficulty: bytesToBigInt(total), state: headState(store, root) }
}
