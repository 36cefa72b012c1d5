/** Entry of pool threads for simulations of blocks. */
import { Simulation } from '../src/execution/evm/simulate/simulation.js'
import type { SimulationRequest } from '../src/execution/evm/simulate/simulationRequest.js'
import { type JobContext, jobHandler } from './jobThread.js'
import { perStore } from './perStore.js'

const simulationOn = perStore((store, { execution }) => new Simulation(store, execution))

function simulationJson(request: SimulationRequest, context: JobContext): Uint8Array {
  return simulationOn(context).simulateJson(request, context.shouldStop)
}
export const simulate = jobHandler(simulationJson)
