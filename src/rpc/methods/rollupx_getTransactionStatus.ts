import { whenKnown } from '../../primitives/awaitable.js'
import { FaultError } from '../../primitives/faults.js'
import { defineMethod } from '../method.js'
import type { RollupNetwork } from '../rollupNetwork.js'
import { transactionHash } from '../rollupParams.js'
import { objectSchema, textSchema } from '../schema.js'
import { readAcceptedStatus, renderStatus } from '../transactionStatus.js'

const statusSchema = objectSchema(
  'TransactionStatus',
  { finality_status: textSchema, queue_status: textSchema },
  { execution_status: textSchema, failure_reason: textSchema },
)

/**
 * `(transaction_hash)` → `{finality_status, execution_status?, failure_reason?, queue_status}` of a transaction that
 * was submitted here.
 *
 * `finality_status` is a value that clients of the rollup know: `RECEIVED`, or `REJECTED` with the reason. Once the
 * sequencer has accepted the transaction it is the sequencer's own value, if that can be read. `queue_status` is more
 * precise about the delivery: `RECEIVED`, `SENT`, `ACCEPTED` or `REJECTED`.
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
  cost: 'job',
  price: 50,
  memo: 'never',
  result: statusSchema,
  run({ queue, reader }: RollupNetwork, [hash]) {
    return whenKnown(queue.readRow(hash), (row) => {
      if (row === undefined) throw new FaultError({ kind: 'TransactionHashNotFound' })
      if (row.state === 'ACCEPTED' && reader !== undefined) return readAcceptedStatus(reader, hash)
      return renderStatus(row.state, row.rejection)
    })
  },
})
