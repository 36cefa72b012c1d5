import { closeBracket, comma, type JsonBytes, openBracket } from '../../primitives/jsonBytes.js'
import { type RlpSpan, rlpEndAt, rlpPayloadAt } from '../../primitives/rlp.js'
import type { ReceiptInBlock } from '../store/layouts/packedReceipts.js'
import { type BlockRows, rawTransaction, transactionPosition } from './blockRows.js'
import type { ForkSchedule } from './forks.js'
import { blockMembers } from './logJson.js'
import { type ReceiptCursor, skipReceipt, writeReceipt } from './receiptJson.js'
import { integerOfItem } from './rlpJson.js'

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

/** Each receipt object by itself, in order. Empties `json` for each. */
export function receiptTexts(json: JsonBytes, executed: ExecutedBlock): Uint8Array[] {
  const { receipts } = executed
  const cursor = startCursor(executed)
  const texts: Uint8Array[] = []
  const end = rlpEndAt(receipts, 0)
  for (let at = rlpPayloadAt(receipts, 0); at < end; at = rlpEndAt(receipts, at)) {
    json.clear()
    writeOne(json, executed, at, texts.length, cursor)
    texts.push(json.finish())
  }
  return texts
}

/** Writes one receipt object: that of transaction `index` of the block. */
export function writeReceiptAt(
  json: JsonBytes,
  block: Omit<ExecutedBlock, 'receipts'>,
  index: number,
  { rlp, gasBefore, logsBefore }: ReceiptInBlock,
): void {
  const cursor = startCursor(block)
  cursor.cumulativeGasUsed = integerOfItem(gasBefore, 0)
  cursor.logIndex = logsBefore
  const span = block.rows.transactionAt(index) as RlpSpan
  writeReceipt(json, rlp, 0, block.rows.read(span), transactionPosition(block.rows, index), cursor)
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

function startCursor({ rows, schedule }: Omit<ExecutedBlock, 'receipts'>): ReceiptCursor {
  const { receiptMembers } = schedule.family.proofs
  return {
    block: blockMembers({ hash: rows.hash, header: rows.facts }),
    blobGasPrice: () => schedule.blobGasPrice(rows.header),
    writeMembers: receiptMembers?.({ fork: schedule.forkOf(rows.header), first: rawTransaction(rows, 0) }),
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
