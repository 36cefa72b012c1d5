import { rlpListSpans, rlpSpanAt } from '../../primitives/rlp.js'
import type { ExecutedBlock } from './blockReceipts.js'
import type { BlockRows } from './blockRows.js'
import { readReceipt } from './logJson.js'
import { integerOfItem } from './rlpJson.js'
import { effectiveGasPrice } from './transactionJson.js'

/** Tip of each transaction of a block, in wei per gas, in order. */
export function transactionTips(rows: BlockRows): bigint[] {
  const { baseFeePerGas } = rows.facts
  const baseFee = BigInt(baseFeePerGas ?? 0)
  return rows.transactions.map((span) => {
    const transaction = rows.read(span)
    // A transaction forced into a block pays nothing.
    if (transaction.layout.maxFee === undefined) return 0n
    return BigInt(effectiveGasPrice(transaction, baseFeePerGas)) - baseFee
  })
}

/** Gas used by each transaction of a block, in order. */
export function gasUsedByEach({ receipts }: Pick<ExecutedBlock, 'receipts'>): number[] {
  let before = 0
  return rlpListSpans(receipts, rlpSpanAt(receipts, 0)).map(({ start }) => {
    const cumulative = Number(integerOfItem(receipts, readReceipt(receipts, start).cumulativeGas))
    const used = cumulative - before
    before = cumulative
    return used
  })
}
