import { defineMethod } from '../method.js'
import type { RollupNetwork } from '../rollupNetwork.js'
import { transactionHash } from '../rollupParams.js'
import { readSequencer } from '../rollupReads.js'

/** `(transaction_hash)` → the receipt of a transaction, as the sequencer answers. */
export const rollupx_getTransactionReceipt = defineMethod({
  name: 'rollupx_getTransactionReceipt',
  summary: 'Receipt of a transaction, as the sequencer answers it',
  params: [transactionHash],
  paramNames: ['transaction_hash'],
  byName: true,
  cost: 'job',
  price: 50,
  memo: 'never',
  result: { type: 'object', title: 'rollup receipt' },
  run: (network: RollupNetwork, [transaction_hash]) =>
    readSequencer(network, 'getTransactionReceipt', { transaction_hash }),
})
