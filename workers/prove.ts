/** Entry of pool threads for proofs. */
import { type HeaderProofRequest, HeaderProver } from '../src/chain/headerProof.js'
import { buildIndexProofJson, type IndexProofRequest } from '../src/state/indexProof.js'
import { buildProofJson, type ProofRequest, UpperNodes } from '../src/state/proof.js'
import type { ChainReader } from '../src/store/chainReader.js'
import { type JobContext, jobHandler } from './jobThread.js'

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

export function proofJson(request: ProofRequest, { store }: JobContext): Uint8Array {
  return buildProofJson((hash) => store.readNode(hash), request, upperNodesOf(store))
}
export const prove = jobHandler(proofJson)

export const indexProof = jobHandler((request: IndexProofRequest, { store }) =>
  buildIndexProofJson(store, request),
)

const headerProvers = new WeakMap<ChainReader, HeaderProver>()

export const headerProof = jobHandler((request: HeaderProofRequest, { store }) => {
  let prover = headerProvers.get(store)
  if (prover === undefined) {
    prover = new HeaderProver(store)
    headerProvers.set(store, prover)
  }
  return prover.prove(request)
})
