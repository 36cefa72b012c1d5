import { defineMethod } from '../method.js'
import type { Network } from '../network.js'
import { text } from '../params.js'
import { listSchema, logSchema } from '../schema.js'

/** All logs that a filter of eth_newFilter matches, as eth_getLogs answers them. */
export const eth_getFilterLogs = defineMethod({
  name: 'eth_getFilterLogs',
  summary: 'All logs that match a filter, polled or not',
  params: [text('a filter id')],
  paramNames: ['filterId'],
  cost: 'job',
  // Charged before; CPU time beyond it is charged after the search.
  price: 20,
  memo: 'never',
  result: listSchema(logSchema),
  run: ({ filters }: Network, [id], caller, turnMsMax) => filters.logs(id, caller, turnMsMax),
})
