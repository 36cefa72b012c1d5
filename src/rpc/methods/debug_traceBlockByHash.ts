import { defineMethod } from '../method.js'
import type { Network } from '../network.js'
import { hash32, optional } from '../params.js'
import { blockTraceSchema, tracedBlock, traceJson } from '../traceJob.js'
import { plainTrace, traceConfig } from '../traceParams.js'

/** As debug_traceTransaction, each transaction of the block with this hash, canonical or not. */
export const debug_traceBlockByHash = defineMethod({
  name: 'debug_traceBlockByHash',
  summary: 'What the transactions of a block did, by its hash',
  params: [hash32, optional(traceConfig, plainTrace)],
  paramNames: ['blockHash', 'options'],
  cost: 'job',
  price: 100,
  memo: 'never',
  result: blockTraceSchema,
  run: (network: Network, [hash, options], caller) =>
    traceJson(network, tracedBlock(network, hash), options, caller),
})
