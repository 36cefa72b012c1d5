import { defineMethod } from '../method.js'
import type { Network } from '../network.js'
import { hash32 } from '../params.js'
import { asList, callTraceSchema } from '../parityParams.js'
import { listSchema, nullable } from '../schema.js'
import { traceOfHashJson } from '../traceJob.js'

/** The calls of a transaction of the chain, in Parity's form; null where it has none of this hash. */
export const trace_transaction = defineMethod({
  name: 'trace_transaction',
  summary: "Calls of a transaction of the chain, in Parity's form",
  params: [hash32],
  paramNames: ['transactionHash'],
  cost: 'job',
  price: 100,
  memo: 'never',
  result: nullable(listSchema(callTraceSchema)),
  run: (network: Network, [hash], caller) => traceOfHashJson(network, hash, asList, caller),
})
