import { countCriteria, findLogs, logQuery, toLogSearch, wholeLogs } from '../logQuery.js'
import { defineMethod } from '../method.js'
import type { Network } from '../network.js'
import { listSchema, logSchema } from '../schema.js'

/**
 * The logs that a filter matches, in one block or a range of them, oldest first. go-ethereum's rules and faults. More
 * logs than one answer may contain are the fault TooManyLogs, which names a range that fits.
 *
 * @example eth_getLogs({"address": "0x62…", "topics": ["0xdd…", null, ["0x…", "0x…"]], "fromBlock": "0x1"})
 */
export const eth_getLogs = defineMethod({
  name: 'eth_getLogs',
  summary: 'Logs that match a filter, in a block or a range of blocks',
  params: [logQuery],
  paramNames: ['filter'],
  cost: 'job',
  // Charged before; CPU time beyond it is charged after the search.
  price: ([{ criteria }]) => 20 + countCriteria(criteria),
  memo: 'head',
  result: listSchema(logSchema),
  run(network: Network, [query], caller, turnMsMax) {
    const search = toLogSearch(network.chain, query, 0)
    const { logBounds } = network
    const found = findLogs(network, search, logBounds, caller, turnMsMax)
    if (!(found instanceof Promise)) return wholeLogs(found, search, logBounds)
    return found.then((settled) => wholeLogs(settled, search, logBounds))
  },
})
