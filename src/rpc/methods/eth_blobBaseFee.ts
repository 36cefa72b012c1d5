import { blobGasPrice } from '../../chain/feeMarket.js'
import { toQuantity } from '../../primitives/bytes.js'
import { defineMethod } from '../method.js'
import type { Network } from '../network.js'
import { nullable, quantitySchema } from '../schema.js'

/** The price of blob gas in the head, in wei per gas; null before Cancun. */
export const eth_blobBaseFee = defineMethod({
  name: 'eth_blobBaseFee',
  summary: 'Price of blob gas at the head, in wei',
  params: [],
  paramNames: [],
  cost: 'inline',
  price: 2,
  memo: 'head',
  result: nullable(quantitySchema),
  run({ chain, head }: Network) {
    const price = blobGasPrice(head.header, chain.schedule)
    return price === undefined ? 'null' : `"${toQuantity(price)}"`
  },
})
