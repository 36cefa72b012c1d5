import { defineMethod } from '../method.js'
import type { Network } from '../network.js'
import { quantitySchema } from '../schema.js'

/** How many hashes a second this node makes for blocks: none. */
export const eth_hashrate = defineMethod({
  name: 'eth_hashrate',
  summary: 'Mining hash rate of this node: always zero',
  params: [],
  paramNames: [],
  cost: 'inline',
  price: 1,
  memo: 'never',
  result: quantitySchema,
  run: (_network: Network) => '"0x0"',
})
