import { countCriteria, logQuery } from '../logQuery.js'
import { defineMethod } from '../method.js'
import type { Network } from '../network.js'
import { textSchema } from '../schema.js'

/**
 * Makes a filter of logs. eth_getFilterChanges answers new logs, eth_getFilterLogs what eth_getLogs would. As in
 * go-ethereum, bounds that are numbers limit which new blocks count.
 */
export const eth_newFilter = defineMethod({
  name: 'eth_newFilter',
  summary: 'Id of a new filter of logs, to be polled',
  params: [logQuery],
  paramNames: ['filter'],
  cost: 'job',
  price: ([{ criteria }]) => 10 + countCriteria(criteria),
  memo: 'never',
  result: textSchema,
  run({ filters }: Network, [query], caller) {
    const id = filters.create({ kind: 'logs', query }, caller)
    return id instanceof Promise ? id.then((settled) => `"${settled}"`) : `"${id}"`
  },
})
