import { defineMethod } from '../method.js'
import type { Network } from '../network.js'
import { booleanSchema } from '../schema.js'

/** Whether this node makes blocks: it does not. */
export const eth_mining = defineMethod({
  name: 'eth_mining',
  summary: 'Whether this node mines: it does not',
  params: [],
  paramNames: [],
  cost: 'inline',
  price: 1,
  memo: 'never',
  result: booleanSchema,
  run: (_network: Network) => 'false',
})
