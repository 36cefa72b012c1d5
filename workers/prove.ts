/** Entry of pool threads for proofs. */
import { buildProofJson, type ProofRequest, UpperNodes } from '../src/state/proof.js'
import type { ChainReader } from '../src/store/chainReader.js'
import { jobHandler } from './jobThread.js'

const upperNodes = new WeakMap<ChainReader, UpperNodes>()

/** One per store, because most proofs are of its newest state. */
function upperNodesOf(store: ChainReader): UpperNodes {
  let upper = upperNodes.get(store)
  if (upper === undefined) {
    upper = new UpperNodes()
    upperNodes.set(store, upper)
  }
  return upper
}

export const prove = jobHandler((request: ProofRequest, { store }) =>
  buildProofJson((hash) => store.readNode(hash), request, upperNodesOf(store)),
)
