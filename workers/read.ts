/** Entry of pool threads for reads of a store without the EVM: proofs, and searches of logs. */
import { forkRules } from '../src/data/chain/forkRules.js'
import { decodeHeader } from '../src/data/chain/header.js'
import { type HeaderProofRequest, HeaderProver } from '../src/data/chain/headerProof.js'
import { type LogBounds, type LogSearch, searchLogs as search } from '../src/data/chain/logSearch.js'
import { buildIndexProofJson, type IndexProofRequest } from '../src/data/state/indexProof.js'
import { buildProofJson, type ProofRequest, UpperNodes } from '../src/data/state/proof.js'
import { triesAfter } from '../src/data/state/tries.js'
import { readRules } from '../src/execution/evm/blocks/blockContext.js'
import { FaultError } from '../src/primitives/faults.js'
import { jobHandler, perStore } from './jobThread.js'

/** One for each store, because most proofs are of its newest state. */
const upperNodesOf = perStore(() => new UpperNodes())
const rulesOf = perStore(readRules)
const headerProverOf = perStore((store) => new HeaderProver(store))

export const prove = jobHandler((request: ProofRequest, context) => {
  const tries = triesAfter(context.store, { number: request.number, hash: request.block })
  return buildProofJson(tries, request, upperNodesOf(context))
})

export const indexProof = jobHandler((request: IndexProofRequest, context) => {
  const { store } = context
  const header = store.readHeader(request.hash)
  const fork = header && rulesOf(context).schedule.forkOf(decodeHeader(header))
  const inTrie = fork && forkRules(fork).proofs.receiptInTrie
  return buildIndexProofJson(store, request, inTrie && ((receipt) => inTrie(receipt, fork)))
})

export const headerProof = jobHandler((request: HeaderProofRequest, context) =>
  headerProverOf(context).prove(request),
)

export const searchLogs = jobHandler(
  (args: { readonly search: LogSearch; readonly bounds: LogBounds }, { store, shouldStop }) => {
    const found = search(store, args.search, args.bounds, shouldStop)
    if (found === undefined) throw new FaultError({ kind: 'RequestTimedOut' })
    return found
  },
)
