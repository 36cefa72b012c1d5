import { defineMethod } from '../method.js'
import type { Network } from '../network.js'
import { text } from '../params.js'
import { hashSchema, listSchema, logSchema } from '../schema.js'

/**
 * What a filter has to tell since it was asked last: logs, those of blocks that left the chain first, with
 * `"removed": true`; or hashes of blocks.
 */
export const eth_getFilterChanges = defineMethod({
  name: 'eth_getFilterChanges',
  summary: 'What a filter has to tell since it was asked last: logs, or hashes of blocks',
  params: [text('a filter id')],
  paramNames: ['filterId'],
  cost: 'job',
  // To begin with; what the search takes beyond is owed.
  price: 10,
  memo: 'never',
  result: listSchema({ anyOf: [hashSchema, logSchema] }),
  run: ({ filters }: Network, [id], caller, turnMsMax) => filters.changes(id, caller, turnMsMax),
})
