/** Searches of logs, whole or page by page, and polled filters. */
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

/** The price of a search is charged before it; CPU time beyond that price is charged after it. */
export const logMethods = {
  /** Logs (first those that a reorg removed, with `"removed": true`), hashes of new blocks, or waiting transactions. */
  eth_getFilterChanges: chainMethod({
    ...ofFilter,
    summary: 'Changes since the last poll of a filter: logs, hashes of blocks, or waiting transactions',
    price: 10,
    result: listSchema({ anyOf: [hashSchema, logSchema, sentTransactionSchema] }),
    run: ({ filters }, [id], context, turnMsMax) => filters.changes(id, context, turnMsMax),
  }),
  /** For a filter of eth_newFilter, in the form of eth_getLogs. */
  eth_getFilterLogs: chainMethod({
    ...ofFilter,
    summary: 'All logs that match a filter, polled or not',
    price: 20,
    result: listSchema(logSchema),
    run: ({ filters }, [id], context, turnMsMax) => filters.logs(id, context, turnMsMax),
  }),
  /**
   * Oldest first, by go-ethereum's rules and faults. If one answer cannot contain all logs, the call fails with
   * TooManyLogs, which names a range that fits.
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
  /** As in go-ethereum, numbers as bounds limit the new blocks that count. */
  eth_newFilter: chainMethod({
    ...newFilter,
    summary: 'Id of a new filter of logs, to be polled',
    params: [logQuery.as('filter')],
    price: ([{ criteria }]) => 10 + countCriteria(criteria),
    run: ({ filters }, [query], context) => quoted(filters.create({ kind: 'logs', query }, context)),
  }),
  /** Stays empty on a network without a node that announces transactions. */
  eth_newPendingTransactionFilter: chainMethod({
    ...newFilter,
    summary: 'Id of a new filter of transactions that wait for a block',
    params: [optional(boolean, false).as('fullTransactions')],
    price: 10,
    run: ({ filters }, [isWhole], context) =>
      quoted(filters.create({ kind: 'transactions', isWhole }, context)),
  }),
  /** False if the caller's key has no filter with this id. */
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
