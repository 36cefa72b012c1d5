import { defineMethod } from '../method.js'
import type { Network } from '../network.js'
import { listSchema } from '../schema.js'

/** Blocks that were refused. This node does not keep refused blocks, so the list is empty. */
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
