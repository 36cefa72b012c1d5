/** Entry of pool threads for simulations of blocks. */
import { Simulation } from '../src/execution/evm/simulate/simulation.js'
import type { SimulationRequest } from '../src/execution/evm/simulate/simulationRequest.js'
import { jobHandler, perStore } from './jobThread.js'

const simulationOn = perStore((store, { execution }) => new Simulation(store, execution))

export const simulate = jobHandler((request: SimulationRequest, context) =>
  simulationOn(context).simulateJson(request, context.shouldStop),
)
