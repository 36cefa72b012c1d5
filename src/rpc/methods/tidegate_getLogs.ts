import type { FoundLogs } from '../../chain/logSearch.js'
import { pageQuery, renderPage, toPage } from '../logPages.js'
import { countCriteria, findLogs } from '../logQuery.js'
import { defineMethod } from '../method.js'
import type { Network } from '../network.js'
import { listSchema, logSchema, nullable, objectSchema, textSchema } from '../schema.js'

const nothing = Buffer.from('[]', 'latin1')

/**
 * The logs that a filter matches, page by page: `{logs, next}`. The filter is that of eth_getLogs, with `limit` (logs
 * per page). The same filter with `next` as its `cursor` gives the next page; on the last page `next` is null. The
 * range is fixed by the first page, and a page ends with a whole block.
 *
 * @example tidegate_getLogs({"address": "0x62…", "fromBlock": "0x0", "limit": 1000, "cursor": "0x…"})
 */
export const tidegate_getLogs = defineMethod({
  name: 'tidegate_getLogs',
  summary: 'Logs page by page: `limit` and `cursor` stand beside the filter of `eth_getLogs`',
  params: [pageQuery],
  paramNames: ['filter'],
  cost: 'job',
  // Charged before; CPU time beyond it is charged after the search.
  price: ([{ criteria }]) => 20 + countCriteria(criteria),
  memo: 'head',
  result: objectSchema('LogPage', { logs: listSchema(logSchema), next: nullable(textSchema) }),
  run(network: Network, [query], caller, turnMsMax) {
    const { chain, logBounds } = network
    const page = toPage(chain, query, logBounds)
    const answer = (found: FoundLogs) => renderPage(chain, page, query, found)
    if (page.search === undefined) return answer({ json: nothing, count: 0, last: -1 })
    const found = findLogs(network, page.search, page.bounds, caller, turnMsMax)
    return found instanceof Promise ? found.then(answer) : answer(found)
  },
})
