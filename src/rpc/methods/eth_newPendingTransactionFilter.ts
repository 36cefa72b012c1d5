import { defineMethod } from '../method.js'
import type { Network } from '../network.js'
import { boolean, optional } from '../params.js'
import { textSchema } from '../schema.js'

/** Makes a filter of pending transactions or their hashes. There is no transaction pool, so it stays empty. */
export const eth_newPendingTransactionFilter = defineMethod({
  name: 'eth_newPendingTransactionFilter',
  summary: 'Id of a new filter of pending transactions, of which there are none',
  params: [optional(boolean, false)],
  paramNames: ['fullTransactions'],
  cost: 'job',
  price: 10,
  memo: 'never',
  result: textSchema,
  run({ filters }: Network, _args, caller) {
    const id = filters.create({ kind: 'transactions' }, caller)
    return id instanceof Promise ? id.then((settled) => `"${settled}"`) : `"${id}"`
  },
})
