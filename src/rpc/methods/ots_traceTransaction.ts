import { defineMethod } from '../method.js'
import type { Network } from '../network.js'
import { callsSchema, otterscanTrace } from '../otterscan.js'
import { hash32 } from '../params.js'
import { traceOfHashJson } from '../traceJob.js'

/** Calls of a transaction of the chain as a list, also undone ones; null where it has none of this hash. */
export const ots_traceTransaction = defineMethod({
  name: 'ots_traceTransaction',
  summary: 'Every call, creation and selfdestruct of a transaction, in order, with its depth',
  params: [hash32],
  paramNames: ['transactionHash'],
  cost: 'job',
  price: 100,
  memo: 'never',
  result: callsSchema,
  run: (network: Network, [hash], caller) =>
    traceOfHashJson(network, hash, otterscanTrace('otterscanCalls'), caller),
})
