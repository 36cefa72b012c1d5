import { defineMethod } from '../method.js'
import type { Network } from '../network.js'
import { hash32, position } from '../params.js'
import { nullable, transactionSchema } from '../schema.js'

/** One transaction of the block with this hash; null where there is no such block or index. Specification, section 4. */
export const eth_getTransactionByBlockHashAndIndex = defineMethod({
  name: 'eth_getTransactionByBlockHashAndIndex',
  summary: 'Transaction of a block by its index',
  params: [hash32, position],
  paramNames: ['blockHash', 'index'],
  cost: 'inline',
  price: 5,
  memo: 'head',
  result: nullable(transactionSchema),
  run: ({ chain }: Network, [hash, index]) => chain.transactionJson(hash, index) ?? 'null',
})
