import { toQuantity } from '../../primitives/bytes.js'
import { defineMethod } from '../method.js'
import type { Network } from '../network.js'
import { hash32 } from '../params.js'
import { nullable, quantitySchema } from '../schema.js'

/** How many transactions the block with this hash has; null where it is not known. */
export const eth_getBlockTransactionCountByHash = defineMethod({
  name: 'eth_getBlockTransactionCountByHash',
  summary: 'How many transactions a block has',
  params: [hash32],
  paramNames: ['blockHash'],
  cost: 'inline',
  price: 2,
  memo: 'head',
  result: nullable(quantitySchema),
  run({ chain }: Network, [hash]) {
    const block = chain.readBlock(hash)
    return block === undefined ? 'null' : `"${toQuantity(block.transactions.length)}"`
  },
})
