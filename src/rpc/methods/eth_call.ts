import type { CallOutcome } from '../../evm/executionRequest.js'
import { bytesToHex } from '../../primitives/bytes.js'
import { FaultError } from '../../primitives/faults.js'
import { blockOverrides, callObject, stateOverrides } from '../callParams.js'
import { executionRequest, runAfterWaiting } from '../executionJob.js'
import { defineMethod } from '../method.js'
import type { JobNetwork } from '../network.js'
import { optional, stateBlockId } from '../params.js'
import { bytesSchema } from '../schema.js'

/**
 * What a message returns when it is executed on the state after a block, as go-ethereum answers. A revert is the
 * fault ExecutionReverted, any other failure of the execution ExecutionFailed.
 */
export const eth_call = defineMethod({
  name: 'eth_call',
  summary: 'Data that a message returns when executed on the state after a block',
  params: [
    callObject,
    stateBlockId,
    optional(stateOverrides, undefined),
    optional(blockOverrides, undefined),
  ],
  paramNames: ['call', 'block', 'stateOverrides', 'blockOverrides'],
  cost: 'job',
  jobClass: 'execute',
  price: 100,
  memo: 'head',
  result: bytesSchema,
  run(network: JobNetwork, [call, block, stateOverrides, blockOverrides], caller) {
    const request = executionRequest(network, { call, block, stateOverrides, blockOverrides })
    const run = (each: typeof request) => network.jobs.run('call', each, caller).then(resultOf)
    const later = runAfterWaiting(network, request, run)
    if (later !== undefined) return later
    const short = network.trials?.call(request, caller)
    if (short !== undefined) return resultOf(short)
    return run(request)
  },
})

function resultOf({ failure, returnData }: CallOutcome): string {
  if (failure !== undefined) throw new FaultError(failure)
  return `"${bytesToHex(returnData)}"`
}
