/** Entry of pool threads for calls, estimates, access lists, simulations and witnesses of blocks. */
import { Witnesses, type WitnessRequest } from '../src/execution/evm/blocks/executionWitness.js'
import { JobWatch } from '../src/execution/evm/engine/jobWatch.js'
import { Execution } from '../src/execution/evm/messages/execution.js'
import type { ExecutionRequest, FillRequest } from '../src/execution/evm/messages/executionRequest.js'
import { listedAccesses, returnedJson, withTexts } from '../src/execution/evm/messages/outcomeJson.js'
import { Simulation } from '../src/execution/evm/simulate/simulation.js'
import type { SimulationRequest } from '../src/execution/evm/simulate/simulationRequest.js'
import type { JobSettings } from '../src/serving/pool/jobPool.js'
import { jobHandler, perStore } from './jobThread.js'

/** Caches kernels and recently read state. */
const executionOn = perStore((store, { execution }) => new Execution(store, execution))
const simulationOn = perStore((store, { execution }) => new Simulation(store, execution))
const witnessesOf = perStore((store) => new Witnesses(store))

export const call = jobHandler((request: ExecutionRequest, context) =>
  withTexts(executionOn(context).call(request, context.shouldStop).then(returnedJson)),
)
export const estimate = jobHandler((request: ExecutionRequest, context) =>
  withTexts(executionOn(context).estimate(request, context.shouldStop)),
)
export const fill = jobHandler((request: FillRequest, context) =>
  withTexts(executionOn(context).fill(request, context.shouldStop)),
)
export const accessList = jobHandler((request: ExecutionRequest, context) =>
  withTexts(executionOn(context).accessList(request, context.shouldStop).then(listedAccesses)),
)
export const simulate = jobHandler((request: SimulationRequest, context) =>
  simulationOn(context).simulateJson(request, context.shouldStop),
)
export const witness = jobHandler((request: WitnessRequest, context) => {
  const { execution } = context.settings as JobSettings
  return witnessesOf(context).buildJson(request, new JobWatch(context.shouldStop, execution))
})
