import { callObject } from '../callParams.js'
import { executionRequest } from '../executionJob.js'
import { defineMethod } from '../method.js'
import type { Network } from '../network.js'
import { optional, stateBlockId } from '../params.js'
import { pendingRefused, traceJson, traceSchema } from '../traceJob.js'
import { plainTraceCall, traceCallConfig } from '../traceParams.js'

/**
 * What a message does that is executed on the state after a block, or before its transaction `txIndex`, as
 * debug_traceTransaction. Overrides are members of the options.
 */
export const debug_traceCall = defineMethod({
  name: 'debug_traceCall',
  summary: 'What a message does on the state after a block, in the form of a tracer',
  params: [callObject, stateBlockId, optional(traceCallConfig, plainTraceCall)],
  paramNames: ['call', 'block', 'options'],
  cost: 'job',
  price: 100,
  memo: 'never',
  result: traceSchema,
  run(network: Network, [call, block, options], caller) {
    const { stateOverrides, blockOverrides, txIndex } = options
    const request = executionRequest(network, { call, block, stateOverrides, blockOverrides })
    if (request.block.isPending) throw pendingRefused()
    const index = txIndex === undefined ? {} : { index: txIndex }
    return traceJson(network, { kind: 'call', request, ...index }, options, caller)
  },
})
