import { defineMethod } from '../method.js'
import type { Network } from '../network.js'
import { hash32, position } from '../params.js'
import { rawTransactionOf } from '../rawTransaction.js'
import { bytesSchema } from '../schema.js'

/** One transaction of the block with this hash as it was signed; `0x` where there is no such block or index. */
export const eth_getRawTransactionByBlockHashAndIndex = defineMethod({
  name: 'eth_getRawTransactionByBlockHashAndIndex',
  summary: 'Signed encoding of a transaction of a block',
  params: [hash32, position],
  paramNames: ['blockHash', 'index'],
  cost: 'inline',
  price: 2,
  memo: 'never',
  result: bytesSchema,
  run: ({ chain }: Network, [blockHash, index]) => rawTransactionOf(chain, { blockHash, index }),
})
