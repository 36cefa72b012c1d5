/** Receipts as JSON-RPC shows them, from their consensus encoding. Field set and spelling follow go-ethereum. */
import { integerAt } from '../primitives/bytes.js'
import { ascii, type JsonBytes, memberNames } from '../primitives/jsonBytes.js'
import { keccak256 } from '../primitives/keccak.js'
import { encodeRlp, type RlpSpan } from '../primitives/rlp.js'
import { gasPerBlob } from './feeMarket.js'
import { type BlockMembers, readReceipt, writeLog, writePositionMembers } from './logJson.js'
import {
  blobCount,
  effectiveGasPrice,
  fieldSpan,
  isCreation,
  type Transaction,
  type TransactionPosition,
  writeList,
  writeRecipient,
} from './transactionJson.js'

/** What a block's receipts have in common, and the counters that run through them. */
export interface ReceiptCursor {
  readonly block: BlockMembers
  /** Price of blob gas in the block, wei; undefined before Cancun. */
  readonly blobGasPrice: bigint | undefined
  cumulativeGasUsed: number | bigint
  logIndex: number
}

const name = memberNames(
  'blobGasPrice',
  'blobGasUsed',
  'contractAddress',
  'cumulativeGasUsed',
  'effectiveGasPrice',
  'from',
  'gasUsed',
  'logs',
  'logsBloom',
  'root',
  'status',
  'to',
  'type',
)
const openBrace = ascii('{')
const closeBrace = ascii('}')
const noContractThenGasName = ascii(',"contractAddress":null,"cumulativeGasUsed":')

/** Writes the receipt object of the specification; moves `cursor` past it. `receipt` is an item of the store's row. */
export function writeReceipt(
  json: JsonBytes,
  receipts: Uint8Array,
  receipt: RlpSpan,
  transaction: Transaction,
  position: TransactionPosition,
  cursor: ReceiptCursor,
): void {
  const [outcome, cumulative, bloom, logs] = readReceipt(receipts, receipt)
  const cumulativeGasUsed = integerAt(receipts, cumulative.payload, cumulative.end)
  const sender = position.index * 52
  json.raw(openBrace)
  const members = writePositionMembers(json, position, cursor.block)
  if (isCreation(transaction)) {
    json.raw(name.contractAddress)
    json.hex(createdAddress(transaction, position))
    json.raw(name.cumulativeGasUsed)
  } else json.raw(noContractThenGasName)
  json.quantity(cumulativeGasUsed)
  json.raw(name.effectiveGasPrice)
  json.quantity(effectiveGasPrice(transaction, position.baseFeePerGas))
  json.raw(name.from)
  json.hex(position.senders, sender, sender + 20)
  json.raw(name.gasUsed)
  json.quantity(difference(cumulativeGasUsed, cursor.cumulativeGasUsed))
  json.raw(name.logs)
  writeList(json, receipts, logs, (log) =>
    writeLog(json, receipts, log, members, cursor.block, cursor.logIndex++),
  )
  json.raw(name.logsBloom)
  json.sparseHex(receipts, bloom.payload, bloom.end)
  writeOutcome(json, receipts, outcome)
  json.raw(name.to)
  writeRecipient(json, transaction)
  json.raw(name.type)
  json.quantity(transaction.type)
  if (transaction.type === 3 && cursor.blobGasPrice !== undefined) {
    json.raw(name.blobGasUsed)
    json.quantity(BigInt(blobCount(transaction)) * gasPerBlob)
    json.raw(name.blobGasPrice)
    json.quantity(cursor.blobGasPrice)
  }
  json.raw(closeBrace)
  cursor.cumulativeGasUsed = cumulativeGasUsed
}

function difference(a: number | bigint, b: number | bigint): number | bigint {
  return typeof a === 'number' && typeof b === 'number' ? a - b : BigInt(a) - BigInt(b)
}

/** Before Byzantium a receipt holds the state root after its transaction, since then whether it succeeded (EIP-658). */
function writeOutcome(json: JsonBytes, receipts: Uint8Array, { payload, end }: RlpSpan): void {
  if (end - payload === 32) {
    json.raw(name.root)
    json.hex(receipts, payload, end)
  } else {
    json.raw(name.status)
    json.quantityOf(receipts, payload, end)
  }
}

/** Address of a contract that a transaction creates (yellow paper 7). */
function createdAddress(transaction: Transaction, { senders, index }: TransactionPosition): Uint8Array {
  const { payload, end } = fieldSpan(transaction, transaction.layout.nonce)
  const sender = senders.subarray(index * 52, index * 52 + 20)
  return keccak256(encodeRlp([sender, transaction.bytes.subarray(payload, end)])).subarray(12)
}
