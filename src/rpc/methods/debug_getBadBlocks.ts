import { defineMethod } from '../method.js'
import type { Network } from '../network.js'
import { listSchema } from '../schema.js'

/** Blocks that were refused. Whatever this node does not take in it does not keep either, so there are none. */
export const debug_getBadBlocks = defineMethod({
  name: 'debug_getBadBlocks',
  summary: 'Blocks that were refused lately',
  params: [],
  paramNames: [],
  cost: 'inline',
  price: 1,
  memo: 'head',
  result: { ...listSchema({}), maxItems: 0 },
  run: (_network: Network) => '[]',
})
