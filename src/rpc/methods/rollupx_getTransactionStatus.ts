import { FaultError } from '../../primitives/faults.js'
import { defineMethod } from '../method.js'
import type { RollupNetwork } from '../rollupNetwork.js'
import { transactionHash } from '../rollupParams.js'
import { objectSchema, textSchema } from '../schema.js'
import { renderStatus } from '../transactionStatus.js'

const statusSchema = objectSchema(
  'TransactionStatus',
  { finality_status: textSchema, queue_status: textSchema },
  { failure_reason: textSchema },
)

/**
 * `(transaction_hash)` → `{finality_status, failure_reason?, queue_status}` of a transaction that was submitted here.
 *
 * `finality_status` is a value that clients of the rollup know: `RECEIVED`, also after the sequencer accepted it (its
 * block is not known here), or `REJECTED` with the reason. `queue_status` is more precise: `RECEIVED`, `SENT`,
 * `ACCEPTED` or `REJECTED`.
 *
 * @example
 * rollupx_getTransactionStatus("0x76b52e17bc09064bd986ead34263e6305ef3cecfb3ae9e19b86bf4f1a1a20ea")
 */
export const rollupx_getTransactionStatus = defineMethod({
  name: 'rollupx_getTransactionStatus',
  summary: 'Status of a transaction that was submitted here',
  params: [transactionHash],
  paramNames: ['transaction_hash'],
  byName: true,
  cost: 'inline',
  price: 2,
  memo: 'never',
  result: statusSchema,
  run({ queue }: RollupNetwork, [hash]) {
    const row = queue.readRow(hash)
    if (row === undefined) throw new FaultError({ kind: 'TransactionHashNotFound' })
    return renderStatus(row.state, row.rejection)
  },
})
