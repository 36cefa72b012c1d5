import { countCriteria, logQuery } from '../logQuery.js'
import { defineMethod } from '../method.js'
import type { Network } from '../network.js'
import { textSchema } from '../schema.js'

/**
 * Makes a filter of logs to be polled with eth_getFilterChanges, which tells what comes from now on, and
 * eth_getFilterLogs, which tells what eth_getLogs would. As in go-ethereum, bounds that are numbers hold for the blocks
 * to come.
 */
export const eth_newFilter = defineMethod({
  name: 'eth_newFilter',
  summary: 'Id of a filter of logs to be polled',
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
