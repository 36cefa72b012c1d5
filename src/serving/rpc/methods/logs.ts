/** Searches of logs, whole or page by page, and filters that are polled. */
import type { FoundLogs } from '../../../data/chain/logSearch.js'
import { pageQuery, renderPage, toPage } from '../logs/logPages.js'
import { countCriteria, findLogs, findWholeLogs, logQuery } from '../logs/logQuery.js'
import { chainMethod } from '../network.js'
import { boolean, optional, text } from '../params/params.js'
import {
  booleanSchema,
  hashSchema,
  listSchema,
  logSchema,
  nullable,
  objectSchema,
  sentTransactionSchema,
  textSchema,
} from '../params/schema.js'

const nothing = Buffer.from('[]', 'latin1')

const newFilter = { cost: 'job', effect: true, result: textSchema } as const
const ofFilter = {
  params: [text('a filter id').as('filterId')],
  cost: 'job',
} as const

/** The prices of searches are charged before; CPU time beyond them is charged after the search. */
export const logMethods = {
  /** Logs, first those of blocks that left the chain, with `"removed": true`; hashes of new blocks; or transactions that wait. */
  eth_getFilterChanges: chainMethod({
    ...ofFilter,
    summary: 'What is new since the last poll of a filter: logs, hashes of blocks, or transactions that wait',
    price: 10,
    result: listSchema({ anyOf: [hashSchema, logSchema, sentTransactionSchema] }),
    run: ({ filters }, [id], context, turnMsMax) => filters.changes(id, context, turnMsMax),
  }),
  /** Of a filter of eth_newFilter, as eth_getLogs answers them. */
  eth_getFilterLogs: chainMethod({
    ...ofFilter,
    summary: 'All logs that match a filter, polled or not',
    price: 20,
    result: listSchema(logSchema),
    run: ({ filters }, [id], context, turnMsMax) => filters.logs(id, context, turnMsMax),
  }),
  /**
   * Oldest first, by go-ethereum's rules and faults. More logs than one answer may contain are the fault TooManyLogs,
   * which names a range that fits.
   *
   * @example eth_getLogs({"address": "0x62…", "topics": ["0xdd…", null, ["0x…", "0x…"]], "fromBlock": "0x1"})
   */
  eth_getLogs: chainMethod({
    summary: 'Logs that match a filter, in a block or a range of blocks',
    params: [logQuery.as('filter')],
    cost: 'job',
    price: ([{ criteria }]) => 20 + countCriteria(criteria),
    memo: 'head',
    result: listSchema(logSchema),
    run: (network, [query], context, turnMsMax) => findWholeLogs(network, query, context, turnMsMax),
  }),
  eth_newBlockFilter: chainMethod({
    ...newFilter,
    summary: 'Id of a new filter of blocks, to be polled',
    price: 10,
    run: ({ filters }, _args, context) => quoted(filters.create({ kind: 'blocks' }, context)),
  }),
  /** As in go-ethereum, bounds that are numbers limit which new blocks count. */
  eth_newFilter: chainMethod({
    ...newFilter,
    summary: 'Id of a new filter of logs, to be polled',
    params: [logQuery.as('filter')],
    price: ([{ criteria }]) => 10 + countCriteria(criteria),
    run: ({ filters }, [query], context) => quoted(filters.create({ kind: 'logs', query }, context)),
  }),
  /** Where there is no node to announce any, it stays empty. */
  eth_newPendingTransactionFilter: chainMethod({
    ...newFilter,
    summary: 'Id of a new filter of transactions that wait for a block',
    params: [optional(boolean, false).as('fullTransactions')],
    price: 10,
    run: ({ filters }, [isWhole], context) =>
      quoted(filters.create({ kind: 'transactions', isWhole }, context)),
  }),
  /** False where the caller's key has none with this id. */
  eth_uninstallFilter: chainMethod({
    ...ofFilter,
    summary: 'Removes a filter, and whether there was one',
    effect: true,
    price: 1,
    result: booleanSchema,
    run({ filters }, [id], context) {
      const wasThere = filters.uninstall(id, context)
      return wasThere instanceof Promise ? wasThere.then(String) : String(wasThere)
    },
  }),
  /**
   * `{logs, next}`. The same filter with `next` as its `cursor` gives the next page; on the last page `next` is null.
   * The range is fixed by the first page, and a page ends with a whole block.
   *
   * @example tidegate_getLogs({"address": "0x62…", "fromBlock": "0x0", "limit": 1000, "cursor": "0x…"})
   */
  tidegate_getLogs: chainMethod({
    summary: 'Logs page by page: `limit` and `cursor` stand beside the filter of `eth_getLogs`',
    params: [pageQuery.as('filter')],
    cost: 'job',
    price: ([{ criteria }]) => 20 + countCriteria(criteria),
    memo: 'head',
    result: objectSchema('LogPage', { logs: listSchema(logSchema), next: nullable(textSchema) }),
    run(network, [query], context, turnMsMax) {
      const { chain, limits } = network
      const page = toPage(chain, query, limits)
      const answer = (found: FoundLogs) => renderPage(chain, page, query, found)
      if (page.search === undefined) return answer({ json: nothing, count: 0, last: -1 })
      const found = findLogs(network, page.search, page.bounds, context, turnMsMax)
      return found instanceof Promise ? found.then(answer) : answer(found)
    },
  }),
}

function quoted(id: string | Promise<string>): string | Promise<string> {
  return id instanceof Promise ? id.then((settled) => `"${settled}"`) : `"${id}"`
}
