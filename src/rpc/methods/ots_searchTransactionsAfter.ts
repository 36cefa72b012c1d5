import { defineMethod } from '../method.js'
import type { Network } from '../network.js'
import { searchJson, searchPageMax, searchPrice, searchSchema } from '../otterscanSearch.js'
import { address, integer } from '../params.js'

/** Transactions of an address after a block, found in the blocks that changed its account; see otterscanSearch.ts. */
export const ots_searchTransactionsAfter = defineMethod({
  name: 'ots_searchTransactionsAfter',
  summary: 'Page of the transactions of an address after a block, the newest first; 0 for all',
  params: [address, integer('a block number'), integer('a page size', searchPageMax)],
  paramNames: ['address', 'blockNumber', 'pageSize'],
  cost: 'job',
  price: ([, , pageSize]) => searchPrice(pageSize),
  memo: 'never',
  result: searchSchema,
  run: (network: Network, [account, number, pageSize], caller) =>
    searchJson(network, { address: account, number, pageSize, isBackward: false }, caller),
})
