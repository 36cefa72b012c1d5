import { toQuantity } from '../../primitives/bytes.js'
import { defineMethod } from '../method.js'
import type { Network } from '../network.js'

/** The number of the newest block. */
export const eth_blockNumber = defineMethod({
  name: 'eth_blockNumber',
  params: [],
  cost: 'inline',
  price: 1,
  memo: 'head',
  run: ({ chain }: Network) => `"${toQuantity(chain.head.number)}"`,
})
