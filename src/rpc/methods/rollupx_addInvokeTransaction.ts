import { FaultError, type InvokeErrorCode } from '../../primitives/faults.js'
import type { Rejection } from '../../rollup/submissionService.js'
import { waitForVerdict } from '../../rollup/verdict.js'
import { defineMethod } from '../method.js'
import type { RollupNetwork } from '../rollupNetwork.js'
import { decodeTransaction, writtenTransaction } from '../rollupParams.js'
import { feltSchema, objectSchema } from '../schema.js'

/**
 * `(invoke_transaction)` → `{transaction_hash}`. The transaction is on disk then and stays there until the sequencer
 * has accepted or rejected it. Where the network waits for the verdict, a rejection in time is the answer.
 *
 * The hash is computed by the pool: 0.14 ms for an ordinary transaction, 30 ms for the largest. A recently hashed
 * transaction is not hashed again.
 *
 * @example
 * rollupx_addInvokeTransaction({"invoke_transaction": {"type": "INVOKE", "version": "0x3", "nonce": "0x7", …}})
 */
export const rollupx_addInvokeTransaction = defineMethod({
  name: 'rollupx_addInvokeTransaction',
  summary: 'Hash of an invoke transaction, which is stored and sent to the sequencer',
  params: [writtenTransaction],
  paramNames: ['invoke_transaction'],
  byName: true,
  cost: 'job',
  price: 200,
  memo: 'never',
  result: objectSchema('Submitted', { transaction_hash: feltSchema }),
  async run({ queue, invokeLimits, verdictMsMax }: RollupNetwork, [written], caller) {
    const transaction = decodeTransaction(written, invokeLimits, 0)
    queue.assertAcceptable(transaction)
    const hash = await queue.submit(transaction, caller)
    if (verdictMsMax !== undefined) {
      const verdict = await waitForVerdict(queue, hash, verdictMsMax, caller)
      if (verdict?.rejection !== undefined) throw rejectionToFault(verdict.rejection)
    }
    return `{"transaction_hash":"${hash}"}`
  },
})

function rejectionToFault({ code, text }: Rejection): FaultError {
  return new FaultError({ kind: 'InvokeRefused', code: (code ?? 63) as InvokeErrorCode, text })
}
