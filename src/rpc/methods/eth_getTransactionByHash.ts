import { defineMethod } from '../method.js'
import type { Network } from '../network.js'
import { hash32 } from '../params.js'
import { nullable, transactionSchema } from '../schema.js'

/** A transaction of the chain; null where it has none of this hash. */
export const eth_getTransactionByHash = defineMethod({
  name: 'eth_getTransactionByHash',
  summary: 'Transaction of the chain by its hash',
  params: [hash32],
  paramNames: ['transactionHash'],
  cost: 'inline',
  price: 5,
  memo: 'head',
  result: nullable(transactionSchema),
  run({ chain }: Network, [hash]) {
    const at = chain.findTransaction(hash)
    return (at && chain.transactionJson(at.blockHash, at.index)) ?? 'null'
  },
})
