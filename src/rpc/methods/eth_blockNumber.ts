import { toQuantity } from '../../primitives/bytes.js'
import { defineMethod } from '../method.js'
import type { Network } from '../network.js'
import { quantitySchema } from '../schema.js'

/** The number of the newest block. */
export const eth_blockNumber = defineMethod({
  name: 'eth_blockNumber',
  summary: 'Number of the newest block',
  params: [],
  paramNames: [],
  cost: 'inline',
  price: 1,
  memo: 'head',
  result: quantitySchema,
  run: ({ chain }: Network) => `"${toQuantity(chain.head.number)}"`,
})
