/** Entry of pool threads for witnesses of blocks. */
import { Witnesses, type WitnessRequest } from '../src/execution/evm/blocks/executionWitness.js'
import { JobWatch } from '../src/execution/evm/engine/jobWatch.js'
import type { JobSettings } from '../src/serving/pool/jobPool.js'
import { jobHandler, perStore } from './jobThread.js'

const witnessesOf = perStore((store) => new Witnesses(store))

export const witness = jobHandler((request: WitnessRequest, context) => {
  const { execution } = context.settings as JobSettings
  return witnessesOf(context).buildJson(request, new JobWatch(context.shouldStop, execution))
})
