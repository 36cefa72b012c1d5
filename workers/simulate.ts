/** Entry of pool threads for simulations of blocks. */
import { Simulation } from '../src/evm/simulate/simulation.js'
import type { SimulationRequest } from '../src/evm/simulate/simulationRequest.js'
import type { JobSettings } from '../src/pool/jobPool.js'
import type { ChainReader } from '../src/store/chainReader.js'
import { type JobContext, jobHandler } from './jobThread.js'

const simulations = new WeakMap<ChainReader, Simulation>()

/** One for each store, because it keeps a kernel. */
function simulationOn({ store, settings }: JobContext): Simulation {
  let simulation = simulations.get(store)
  if (simulation === undefined) {
    simulation = new Simulation(store, (settings as JobSettings).execution)
    simulations.set(store, simulation)
  }
  return simulation
}

export function simulationJson(request: SimulationRequest, context: JobContext): Uint8Array {
  return simulationOn(context).simulateJson(request, context.shouldStop)
}
export const simulate = jobHandler(simulationJson)
