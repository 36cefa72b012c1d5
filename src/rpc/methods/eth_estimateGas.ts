import { toQuantity } from '../../primitives/bytes.js'
import { callObject, stateOverrides } from '../callParams.js'
import { executionRequest, runAfterWaiting } from '../executionJob.js'
import { defineMethod } from '../method.js'
import type { JobNetwork } from '../network.js'
import { optional, stateBlockId } from '../params.js'
import { quantitySchema } from '../schema.js'

/** The least gas with which a message succeeds on the state after a block. Specification, section 4. */
export const eth_estimateGas = defineMethod({
  name: 'eth_estimateGas',
  summary: 'Least gas with which a message succeeds',
  params: [callObject, stateBlockId, optional(stateOverrides, undefined)],
  paramNames: ['call', 'block', 'stateOverrides'],
  cost: 'job',
  jobClass: 'execute',
  price: 100,
  memo: 'head',
  result: quantitySchema,
  run(network: JobNetwork, [call, block, stateOverrides], caller) {
    // The pending block has the gas limit of the head.
    const gasDefault = network.chain.head.header.gasLimit
    const { marginBps } = network.execution
    const request = executionRequest(network, { call, block, stateOverrides, gasDefault, marginBps })
    const run = (each: typeof request) =>
      network.jobs.run('estimate', each, caller).then(({ gas }) => `"${toQuantity(gas)}"`)
    const later = runAfterWaiting(network, request, run)
    if (later !== undefined) return later
    const gas = network.trials?.estimate(request, caller)
    if (gas !== undefined) return `"${toQuantity(gas)}"`
    return run(request)
  },
})
