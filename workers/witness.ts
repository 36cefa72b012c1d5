/** Entry of pool threads for witnesses of blocks. */
import { Witnesses, type WitnessRequest } from '../src/evm/blocks/executionWitness.js'
import { JobWatch } from '../src/evm/engine/jobWatch.js'
import type { JobSettings } from '../src/pool/jobPool.js'
import type { ChainReader } from '../src/store/chainReader.js'
import { jobHandler } from './jobThread.js'

const made = new WeakMap<ChainReader, Witnesses>()

/** One for each store, because it keeps an engine. */
function witnessesOf(store: ChainReader): Witnesses {
  let witnesses = made.get(store)
  if (witnesses === undefined) {
    witnesses = new Witnesses(store)
    made.set(store, witnesses)
  }
  return witnesses
}

export const witness = jobHandler((request: WitnessRequest, { store, settings, shouldStop }) =>
  witnessesOf(store).buildJson(request, new JobWatch(shouldStop, (settings as JobSettings).execution)),
)
