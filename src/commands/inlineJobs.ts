import type { JobName, Jobs } from '../pool/jobs.js'
import type { NetworkJobs } from '../rpc/network.js'
import { computeMappingSlots, type MappingSlotsRequest } from '../state/mappingSlots.js'
import { buildProofJson, type ProofRequest } from '../state/proof.js'
import type { ChainReader } from '../store/chainReader.js'

/** Jobs of a network on the calling thread, for what the pool does not run. */
export function createInlineJobs(store: ChainReader): NetworkJobs {
  const readNode = (hash: Uint8Array) => store.readNode(hash)
  return {
    async run<N extends JobName>(name: N, args: Jobs[N]['args']): Promise<Jobs[N]['result']> {
      if (name === 'prove') return buildProofJson(readNode, args as ProofRequest)
      if (name === 'mappingSlots') return computeMappingSlots(args as MappingSlotsRequest)
      throw new Error(`no thread runs ${name} jobs`)
    },
  }
}
