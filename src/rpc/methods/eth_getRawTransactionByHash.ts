import { defineMethod } from '../method.js'
import type { Network } from '../network.js'
import { hash32 } from '../params.js'
import { rawTransactionOf } from '../rawTransaction.js'
import { bytesSchema } from '../schema.js'

/** A transaction of the chain as it was signed (EIP-2718); `0x` where it has none of this hash. */
export const eth_getRawTransactionByHash = defineMethod({
  name: 'eth_getRawTransactionByHash',
  summary: 'Signed encoding of a transaction of the chain',
  params: [hash32],
  paramNames: ['transactionHash'],
  cost: 'inline',
  price: 5,
  memo: 'never',
  result: bytesSchema,
  run: ({ chain }: Network, [hash]) => rawTransactionOf(chain, chain.findTransaction(hash)),
})
