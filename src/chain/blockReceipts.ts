import type { JsonBytes } from '../primitives/jsonBytes.js'
import { type RlpSpan, rlpEndAt, rlpPayloadAt } from '../primitives/rlp.js'
import { type BlockRows, transactionPosition } from './blockRows.js'
import { blockMembers } from './logJson.js'
import { type ReceiptCursor, skipReceipt, writeReceipt } from './receiptJson.js'
import { writeItems } from './rlpJson.js'
import { readTransaction } from './transactionJson.js'

/** A block with the results of its execution. */
export interface ExecutedBlock {
  readonly rows: BlockRows
  /** RLP list of receipts in consensus encoding. */
  readonly receipts: Uint8Array
  /** Wei per gas; undefined before Cancun. */
  readonly blobGasPrice: bigint | undefined
}

export function writeReceipts(json: JsonBytes, executed: ExecutedBlock): void {
  const { receipts } = executed
  const cursor = startCursor(executed)
  writeItems(json, receipts, 0, (receipt, index) => writeOne(json, executed, receipt, index, cursor))
}

/** Writes one receipt object. Walks over the receipts before it. */
export function writeReceiptAt(json: JsonBytes, executed: ExecutedBlock, index: number): void {
  const { receipts } = executed
  const cursor = startCursor(executed)
  let receipt = rlpPayloadAt(receipts, 0)
  for (let before = 0; before < index; before++) {
    skipReceipt(receipts, receipt, cursor)
    receipt = rlpEndAt(receipts, receipt)
  }
  writeOne(json, executed, receipt, index, cursor)
}

function startCursor({ rows, blobGasPrice }: ExecutedBlock): ReceiptCursor {
  return { block: blockMembers(rows), blobGasPrice, cumulativeGasUsed: 0, logIndex: 0 }
}

function writeOne(
  json: JsonBytes,
  { rows, receipts }: ExecutedBlock,
  receipt: number,
  index: number,
  cursor: ReceiptCursor,
): void {
  const transaction = readTransaction(rows.body, rows.transactions[index] as RlpSpan)
  writeReceipt(json, receipts, receipt, transaction, transactionPosition(rows, index), cursor)
}
