/** Entry of pool threads for proofs. */
import { buildProofJson, type ProofRequest } from '../src/state/proof.js'
import { jobHandler } from './jobThread.js'

export const prove = jobHandler((request: ProofRequest, { store }) =>
  buildProofJson((hash) => store.readNode(hash), request),
)
