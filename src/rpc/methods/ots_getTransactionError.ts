import { defineMethod } from '../method.js'
import type { Network } from '../network.js'
import { otterscanTrace } from '../otterscan.js'
import { hash32 } from '../params.js'
import { bytesSchema, nullable } from '../schema.js'
import { traceOfHashJson } from '../traceJob.js'

/** Revert data of a transaction of the chain, to be decoded by the caller; null where it has none of this hash. */
export const ots_getTransactionError = defineMethod({
  name: 'ots_getTransactionError',
  summary: 'Data with which a transaction reverted; 0x where it did not',
  params: [hash32],
  paramNames: ['transactionHash'],
  cost: 'job',
  price: 100,
  memo: 'never',
  result: nullable(bytesSchema),
  run: (network: Network, [hash], caller) =>
    traceOfHashJson(network, hash, otterscanTrace('revertData'), caller),
})
