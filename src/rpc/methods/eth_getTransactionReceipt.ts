import { defineMethod } from '../method.js'
import type { Network } from '../network.js'
import { hash32 } from '../params.js'
import { nullable, receiptSchema } from '../schema.js'

/** The receipt of a transaction of the chain; null where it has none of this hash. */
export const eth_getTransactionReceipt = defineMethod({
  name: 'eth_getTransactionReceipt',
  summary: 'Receipt of a transaction of the chain',
  params: [hash32],
  paramNames: ['transactionHash'],
  cost: 'inline',
  price: 10,
  memo: 'head',
  result: nullable(receiptSchema),
  run({ chain }: Network, [hash]) {
    const at = chain.findTransaction(hash)
    return (at && chain.receiptJson(at)) ?? 'null'
  },
})
