import { defineMethod } from '../method.js'
import type { Network } from '../network.js'
import { blockId, optional } from '../params.js'
import { blockTraceSchema, tracedBlockAt, traceJson } from '../traceJob.js'
import { plainTrace, traceConfig } from '../traceParams.js'

/** As debug_traceTransaction, each transaction of a block. */
export const debug_traceBlockByNumber = defineMethod({
  name: 'debug_traceBlockByNumber',
  summary: 'What the transactions of a block did, by its number or tag',
  params: [blockId(), optional(traceConfig, plainTrace)],
  paramNames: ['block', 'options'],
  cost: 'job',
  price: 100,
  memo: 'never',
  result: blockTraceSchema,
  run: (network: Network, [id, options], caller) =>
    traceJson(network, tracedBlockAt(network, id), options, caller),
})
