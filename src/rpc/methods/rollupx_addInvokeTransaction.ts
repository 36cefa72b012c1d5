import { FaultError, type InvokeErrorCode } from '../../primitives/faults.js'
import type { Rejection } from '../../rollup/submissionQueue.js'
import { waitForVerdict } from '../../rollup/verdict.js'
import { defineMethod } from '../method.js'
import type { RollupNetwork } from '../rollupNetwork.js'
import { decodeTransaction, writtenTransaction } from '../rollupParams.js'
import { feltSchema, objectSchema } from '../schema.js'

/**
 * `(invoke_transaction)` → `{transaction_hash}`, of a transaction that is on disk and stays there until the sequencer
 * has accepted or rejected it (specification, sections 2 and 4). Where the network waits for the verdict, a rejection
 * in time is the answer instead.
 *
 * Hashing goes to the pool: it takes 0.14 ms for an ordinary transaction and 30 ms for the largest. A transaction that
 * was hashed lately is not hashed again.
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
