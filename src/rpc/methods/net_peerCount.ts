import { defineMethod } from '../method.js'
import type { Network } from '../network.js'
import { quantitySchema } from '../schema.js'

/** Number of peers: this node has none. */
export const net_peerCount = defineMethod({
  name: 'net_peerCount',
  summary: 'Number of peers of this node: always zero',
  params: [],
  paramNames: [],
  cost: 'inline',
  price: 1,
  memo: 'never',
  result: quantitySchema,
  run: (_network: Network) => '"0x0"',
})
