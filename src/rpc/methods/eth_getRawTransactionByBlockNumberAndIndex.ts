import { defineMethod } from '../method.js'
import type { Network } from '../network.js'
import { blockId, position } from '../params.js'
import { rawTransactionOf } from '../rawTransaction.js'
import { bytesSchema } from '../schema.js'

/** One transaction of a block as it was signed; `0x` where there is no such block or index. */
export const eth_getRawTransactionByBlockNumberAndIndex = defineMethod({
  name: 'eth_getRawTransactionByBlockNumberAndIndex',
  summary: 'Signed encoding of a transaction of a block',
  params: [blockId(), position],
  paramNames: ['block', 'index'],
  cost: 'inline',
  price: 2,
  memo: 'never',
  result: bytesSchema,
  run({ chain }: Network, [id, index]) {
    const block = chain.resolve(id, 0)
    const isThere = block !== undefined && !block.isPending
    return rawTransactionOf(chain, isThere ? { blockHash: block.hash, index } : undefined)
  },
})
