import { defineMethod } from '../method.js'
import type { Network } from '../network.js'
import { text } from '../params.js'
import { hashSchema, listSchema, logSchema } from '../schema.js'

/**
 * Changes of a filter since the last call: logs, first those of blocks that left the chain, with `"removed": true`;
 * or hashes of new blocks.
 */
export const eth_getFilterChanges = defineMethod({
  name: 'eth_getFilterChanges',
  summary: 'What is new since the last poll of a filter: logs, or hashes of blocks',
  params: [text('a filter id')],
  paramNames: ['filterId'],
  cost: 'job',
  // Charged before; CPU time beyond it is charged after the search.
  price: 10,
  memo: 'never',
  result: listSchema({ anyOf: [hashSchema, logSchema] }),
  run: ({ filters }: Network, [id], caller, turnMsMax) => filters.changes(id, caller, turnMsMax),
})
