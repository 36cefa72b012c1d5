import { whenKnown } from '../../primitives/awaitable.js'
import { FaultError } from '../../primitives/faults.js'
import { defineMethod } from '../method.js'
import type { RollupNetwork } from '../rollupNetwork.js'
import { transactionHash } from '../rollupParams.js'

/** `(transaction_hash)` → a transaction that was submitted here, in the official shape, with its hash. */
export const rollupx_getTransactionByHash = defineMethod({
  name: 'rollupx_getTransactionByHash',
  summary: 'Transaction that was submitted here',
  params: [transactionHash],
  paramNames: ['transaction_hash'],
  byName: true,
  cost: 'inline',
  price: 5,
  memo: 'never',
  result: { type: 'object', title: 'InvokeTransaction', required: ['transaction_hash'] },
  run({ queue }: RollupNetwork, [hash]) {
    return whenKnown(queue.readTransaction(hash), (transaction) => {
      if (transaction === undefined) throw new FaultError({ kind: 'TransactionHashNotFound' })
      return JSON.stringify({ transaction_hash: hash, ...transaction })
    })
  },
})
