import { defineMethod } from '../method.js'
import type { Network } from '../network.js'
import { booleanSchema } from '../schema.js'

/** Whether this node can be reached: true for every caller. */
export const net_listening = defineMethod({
  name: 'net_listening',
  summary: 'Whether this node can be reached',
  params: [],
  paramNames: [],
  cost: 'inline',
  price: 1,
  memo: 'never',
  result: booleanSchema,
  run: (_network: Network) => 'true',
})
