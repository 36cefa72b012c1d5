/** Receipts as JSON, from their consensus encoding. Members and spelling follow go-ethereum. */

import { noBytes } from '../../primitives/bytes.js'
import {
  ascii,
  closeBrace,
  comma,
  type JsonBytes,
  memberNames,
  type Written,
} from '../../primitives/jsonBytes.js'
import { hashRlp } from '../../primitives/keccak.js'
import { rlpEndAt, rlpPayloadAt } from '../../primitives/rlp.js'
import { senderAt } from '../store/storedBlock.js'
import { gasPerBlob } from './feeMarket.js'
import { type BlockMembers, readReceipt, writeLog } from './logJson.js'
import { integerOfItem, writeItems, writeQuantityItem } from './rlpJson.js'
import {
  blobCount,
  effectiveGasPrice,
  fieldAt,
  isCreation,
  type Transaction,
  type TransactionPosition,
  writeRecipient,
} from './transactionJson.js'

/** Values shared by a block's receipts, and counters that run through them. */
export interface ReceiptCursor {
  readonly block: BlockMembers
  /** Price of blob gas in the block, wei; undefined before Cancun. */
  readonly blobGasPrice: () => bigint | undefined
  /** Writes the additional members of receipts of the chain's family, from the bytes of a transaction. */
  readonly writeMembers: ((json: JsonBytes, transaction: Uint8Array) => void) | undefined
  cumulativeGasUsed: number | bigint
  logIndex: number
}

const name = memberNames(
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
  'transactionHash',
  'transactionIndex',
  'type',
)
const openBrace = ascii('{')
const firstBlobName = ascii('{"blobGasPrice":')
const noContractThenGasName = ascii(',"contractAddress":null,"cumulativeGasUsed":')

/** Writes a receipt object and moves `cursor` past it. `receipt` is the offset of an item of the store's row. */
export function writeReceipt(
  json: JsonBytes,
  receipts: Uint8Array,
  receipt: number,
  transaction: Transaction,
  position: TransactionPosition,
  cursor: ReceiptCursor,
): void {
  const { outcome, cumulativeGas, bloom, logs } = readReceipt(receipts, receipt)
  const tail = rlpEndAt(receipts, logs)
  const hasTail = tail < rlpEndAt(receipts, receipt)
  const cumulativeGasUsed = integerOfItem(receipts, cumulativeGas)
  const sender = position.index * 52
  const blobGasPrice = transaction.layout.blobHashes === undefined ? undefined : cursor.blobGasPrice()
  if (blobGasPrice !== undefined) {
    json.constant(firstBlobName)
    json.quantity(blobGasPrice)
    json.constant(name.blobGasUsed)
    json.quantity(BigInt(blobCount(transaction)) * gasPerBlob)
    json.constant(comma)
  } else json.constant(openBrace)
  json.constant(cursor.block.hashAndNumber)
  if (isCreation(transaction)) {
    json.constant(name.contractAddress)
    json.hex(createdAddress(transaction, position, hasTail ? payloadOf(receipts, tail) : noBytes))
    json.constant(name.cumulativeGasUsed)
  } else json.constant(noContractThenGasName)
  json.quantity(cumulativeGasUsed)
  if (hasTail) {
    let field = tail
    for (const constant of transaction.layout.receiptNames) {
      if (field >= rlpEndAt(receipts, receipt)) break
      json.constant(constant)
      writeQuantityItem(json, receipts, field)
      field = rlpEndAt(receipts, field)
    }
  }
  json.constant(name.effectiveGasPrice)
  json.quantity(effectiveGasPrice(transaction, position.baseFeePerGas))
  json.constant(name.from)
  json.hex(position.senders, sender, sender + 20)
  json.constant(name.gasUsed)
  json.quantity(difference(cumulativeGasUsed, cursor.cumulativeGasUsed))
  json.constant(name.logs)
  let written: Written | undefined
  writeItems(json, receipts, logs, (log) => {
    written = writeLog(json, receipts, log, written ?? position, cursor.block, cursor.logIndex++)
  })
  json.constant(name.logsBloom)
  json.sparseHex(receipts, rlpPayloadAt(receipts, bloom), logs)
  writeOutcome(json, receipts, outcome)
  json.constant(name.to)
  writeRecipient(json, transaction.bytes, fieldAt(transaction, transaction.layout.to))
  json.constant(name.transactionHash)
  json.hex(position.senders, sender + 20, sender + 52)
  json.constant(name.transactionIndex)
  json.quantity(position.index)
  json.constant(name.type)
  json.quantity(transaction.type)
  cursor.writeMembers?.(json, transaction.bytes.subarray(transaction.start, transaction.end))
  json.constant(closeBrace)
  cursor.cumulativeGasUsed = cumulativeGasUsed
}

/** Moves `cursor` past a receipt without writing it. */
export function skipReceipt(receipts: Uint8Array, receipt: number, cursor: ReceiptCursor): void {
  const { cumulativeGas, logs } = readReceipt(receipts, receipt)
  cursor.cumulativeGasUsed = integerOfItem(receipts, cumulativeGas)
  const end = rlpEndAt(receipts, logs)
  for (let log = rlpPayloadAt(receipts, logs); log < end; log = rlpEndAt(receipts, log)) cursor.logIndex++
}

function difference(a: number | bigint, b: number | bigint): number | bigint {
  return typeof a === 'number' && typeof b === 'number' ? a - b : BigInt(a) - BigInt(b)
}

/** A receipt has the state root after its transaction before Byzantium, and its status since (EIP-658). */
function writeOutcome(json: JsonBytes, receipts: Uint8Array, outcome: number): void {
  const payload = rlpPayloadAt(receipts, outcome)
  const end = rlpEndAt(receipts, outcome)
  if (end - payload === 32) {
    json.constant(name.root)
    json.hex(receipts, payload, end)
  } else {
    json.constant(name.status)
    json.quantityOf(receipts, payload, end)
  }
}

/** Address of a contract that a transaction creates (yellow paper 7); `reported` is the nonce from its receipt. */
function createdAddress(
  transaction: Transaction,
  { senders, index }: TransactionPosition,
  reported: Uint8Array,
): Uint8Array {
  const { nonce } = transaction.layout
  return hashRlp([
    senderAt(senders, index),
    nonce === undefined ? reported : payloadOf(transaction.bytes, fieldAt(transaction, nonce)),
  ]).subarray(12)
}

function payloadOf(bytes: Uint8Array, item: number): Uint8Array {
  return bytes.subarray(rlpPayloadAt(bytes, item), rlpEndAt(bytes, item))
}
