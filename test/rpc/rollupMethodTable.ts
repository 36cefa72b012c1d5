/** One entry for every method of a rollup. A method without an entry does not compile. */
import type { RollupMethodName } from '../../src/serving/rpc/rollup/rollupRegistry.js'
import { hashVectors, makeTransaction } from '../rollup/invokeTransactions.js'
import { type AnyEntry, idOfFirst } from './methodEntry.js'

const [vector] = hashVectors
if (vector === undefined) throw new RangeError('there are no recorded hashes')
const invoke = vector.tx
const invokeHash = vector.expected_hash
/** The chain on which the transaction has this hash. */
export const invokeChain = vector.chain_id
const felt = '0x1234'

export const rollupMethodTable: { readonly [M in RollupMethodName]: AnyEntry } = {
  rollupx_addInvokeTransaction: {
    examples: [{ invoke_transaction: invoke }, [{}]],
    full: [[makeTransaction(1, 2)]],
  },
  rollupx_blockNumber: { examples: [[]], full: [[]] },
  rollupx_getBlockWithTxs: { examples: [['latest']], full: [['latest']] },
  rollupx_estimateFee: {
    examples: [[[invoke], ['SKIP_VALIDATE'], 'latest']],
    full: [[[makeTransaction(1, 2)], [], 'latest']],
  },
  rollupx_getClassAt: { examples: [['latest', '0x71de']], full: [['latest', felt]] },
  rollupx_getNonce: { examples: [['latest', '0x71de']], full: [['latest', felt]] },
  rollupx_getTransactionReceipt: { examples: [['0x1']], full: [[felt]] },
  rollupx_chainId: { examples: [[]], full: [[]] },
  rollupx_getTransactionByHash: { examples: [[invokeHash], ['0x1']], full: [[felt]] },
  rollupx_getTransactionStatus: { examples: [[invokeHash], ['0x1']], full: [[felt]] },
  rollupx_specVersion: { examples: [[]], full: [[]] },
  rollupx_subscribeTransactionStatus: { examples: [[invokeHash]], givesId: true, full: [[felt]] },
  rollupx_unsubscribe: {
    sequences: [
      [
        ['rollupx_subscribeTransactionStatus', [invokeHash]],
        ['rollupx_unsubscribe', [idOfFirst]],
      ],
    ],
    full: [['0x1']],
  },
}
