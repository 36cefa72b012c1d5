import { defineMethod } from '../method.js'
import type { Network } from '../network.js'
import { blockId, position } from '../params.js'
import { nullable, transactionSchema } from '../schema.js'

/** One transaction of a block; null where there is no such block or index. Specification, section 4. */
export const eth_getTransactionByBlockNumberAndIndex = defineMethod({
  name: 'eth_getTransactionByBlockNumberAndIndex',
  summary: 'Transaction of a block by its index',
  params: [blockId(), position],
  paramNames: ['block', 'index'],
  cost: 'inline',
  price: 5,
  memo: 'head',
  result: nullable(transactionSchema),
  run({ chain }: Network, [id, index]) {
    const block = chain.resolve(id, 0)
    if (block === undefined || block.isPending) return 'null'
    return chain.transactionJson(block.hash, index, block.number) ?? 'null'
  },
})
