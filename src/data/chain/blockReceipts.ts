import { closeBracket, comma, type JsonBytes, openBracket } from '../../primitives/jsonBytes.js'
import { type RlpSpan, rlpEndAt, rlpPayloadAt } from '../../primitives/rlp.js'
import { type BlockRows, rawTransaction, transactionPosition } from './blockRows.js'
import type { ForkSchedule } from './forks.js'
import { blockMembers } from './logJson.js'
import { type ReceiptCursor, skipReceipt, writeReceipt } from './receiptJson.js'

/** A block with the results of its execution. */
export interface ExecutedBlock {
  readonly rows: BlockRows
  /** RLP list of receipts in consensus encoding. */
  readonly receipts: Uint8Array
  readonly schedule: ForkSchedule
}

/** Writes an array of the receipts from index `first` up to `end`. */
export function writeReceipts(
  json: JsonBytes,
  executed: ExecutedBlock,
  first = 0,
  end = Number.POSITIVE_INFINITY,
): void {
  json.constant(openBracket)
  writeFrom(json, executed, first, end)
  json.constant(closeBracket)
}

export function writeReceiptAt(json: JsonBytes, executed: ExecutedBlock, index: number): void {
  writeFrom(json, executed, index, index + 1)
}

/** Writes receipts after skipping those before `first`. */
function writeFrom(json: JsonBytes, executed: ExecutedBlock, first: number, end: number): void {
  const { receipts } = executed
  const cursor = startCursor(executed)
  const listEnd = rlpEndAt(receipts, 0)
  let receipt = rlpPayloadAt(receipts, 0)
  for (let index = 0; index < end && receipt < listEnd; receipt = rlpEndAt(receipts, receipt), index++) {
    if (index < first) skipReceipt(receipts, receipt, cursor)
    else {
      if (index > first) json.constant(comma)
      writeOne(json, executed, receipt, index, cursor)
    }
  }
}

function startCursor({ rows, schedule }: ExecutedBlock): ReceiptCursor {
  const { header } = rows
  const { receiptMembers } = schedule.family.proofs
  return {
    block: blockMembers(rows),
    blobGasPrice: schedule.blobGasPrice(header),
    writeMembers: receiptMembers?.({ fork: schedule.forkOf(header), first: rawTransaction(rows, 0) }),
    cumulativeGasUsed: 0,
    logIndex: 0,
  }
}

function writeOne(
  json: JsonBytes,
  { rows, receipts }: ExecutedBlock,
  receipt: number,
  index: number,
  cursor: ReceiptCursor,
): void {
  const transaction = rows.read(rows.transactions[index] as RlpSpan)
  writeReceipt(json, receipts, receipt, transaction, transactionPosition(rows, index), cursor)
}
