import { defineMethod } from '../method.js'
import type { Network } from '../network.js'
import { blockId } from '../params.js'
import { asList, callTraceSchema } from '../parityParams.js'
import { listSchema } from '../schema.js'
import { tracedBlockAt, traceJson } from '../traceJob.js'

/** The calls of a block's transactions and its rewards, in Parity's form. */
export const trace_block = defineMethod({
  name: 'trace_block',
  summary: "Calls of a block's transactions, and its rewards, in Parity's form",
  params: [blockId({ acceptsHash: true })],
  paramNames: ['block'],
  cost: 'job',
  price: 100,
  memo: 'never',
  result: listSchema(callTraceSchema),
  run: (network: Network, [id], caller) => traceJson(network, tracedBlockAt(network, id), asList, caller),
})
