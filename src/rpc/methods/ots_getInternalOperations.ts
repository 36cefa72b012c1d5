import { defineMethod } from '../method.js'
import type { Network } from '../network.js'
import { operationsSchema, otterscanTrace } from '../otterscan.js'
import { hash32 } from '../params.js'
import { traceOfHashJson } from '../traceJob.js'

/** What moved ether within a transaction of the chain, in order; null where it has none of this hash. */
export const ots_getInternalOperations = defineMethod({
  name: 'ots_getInternalOperations',
  summary: 'Transfers of ether within a transaction, its creations and selfdestructs, without undone ones',
  params: [hash32],
  paramNames: ['transactionHash'],
  cost: 'job',
  price: 100,
  memo: 'never',
  result: operationsSchema,
  run: (network: Network, [hash], caller) =>
    traceOfHashJson(network, hash, otterscanTrace('otterscanOperations'), caller),
})
