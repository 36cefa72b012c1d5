/** Entry of pool threads for proofs. */
import { type HeaderProofRequest, HeaderProver } from '../src/data/chain/headerProof.js'
import { buildIndexProofJson, type IndexProofRequest } from '../src/data/state/indexProof.js'
import { buildProofJson, type ProofRequest, UpperNodes } from '../src/data/state/proof.js'
import { triesAfter } from '../src/data/state/tries.js'
import { type JobContext, jobHandler } from './jobThread.js'
import { perStore } from './perStore.js'

/** One for each store, because most proofs are of its newest state. */
const upperNodesOf = perStore(() => new UpperNodes())
const headerProverOf = perStore((store) => new HeaderProver(store))

function proofJson(request: ProofRequest, context: JobContext): Uint8Array {
  const { store } = context
  const tries = triesAfter(store, { number: request.number, hash: request.block })
  return buildProofJson(tries, request, upperNodesOf(context))
}
export const prove = jobHandler(proofJson)

export const indexProof = jobHandler((request: IndexProofRequest, { store }) =>
  buildIndexProofJson(store, request),
)

export const headerProof = jobHandler((request: HeaderProofRequest, context) =>
  headerProverOf(context).prove(request),
)
