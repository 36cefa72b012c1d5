import { defineMethod } from '../method.js'
import type { Network } from '../network.js'
import { hash32 } from '../params.js'
import { callTraceSchema, oneCall, traceAddress } from '../parityParams.js'
import { nullable } from '../schema.js'
import { traceOfHashJson } from '../traceJob.js'

/** One call of a transaction, by the indices that lead to it; null where there is none. */
export const trace_get = defineMethod({
  name: 'trace_get',
  summary: "One call of a transaction by its place, in Parity's form",
  params: [hash32, traceAddress],
  paramNames: ['transactionHash', 'traceAddress'],
  cost: 'job',
  price: 100,
  memo: 'never',
  result: nullable(callTraceSchema),
  run: (network: Network, [hash, address], caller) =>
    traceOfHashJson(network, hash, oneCall(address), caller),
})
