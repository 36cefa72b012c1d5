/** Receipts as JSON-RPC shows them, from their consensus encoding. Field set and spelling follow go-ethereum. */
import { bytesToBigInt, bytesToHex, bytesToQuantity, toQuantity } from '../primitives/bytes.js'
import { keccak256 } from '../primitives/keccak.js'
import { decodeRlpList, encodeRlp, rlpBytes, rlpList } from '../primitives/rlp.js'
import { gasPerBlob } from './feeMarket.js'
import { logJson, placeMembers } from './logJson.js'
import { effectiveGasPrice, type Transaction, type TransactionPlace } from './transactionJson.js'

/** What a block's receipts have in common, and the counters that run through them. */
export interface ReceiptCursor {
  /** Price of blob gas in the block, wei; undefined before Cancun. */
  readonly blobGasPrice: bigint | undefined
  cumulativeGasUsed: bigint
  logIndex: number
}

/** The receipt object of the specification, as JSON text; moves `cursor` past it. */
export function receiptJson(
  receipt: Uint8Array,
  transaction: Transaction,
  place: TransactionPlace,
  cursor: ReceiptCursor,
): string {
  const { type, to, nonce } = transaction
  const [outcome, cumulative, bloom, logs] = decodeRlpList(type === 0 ? receipt : receipt.subarray(1))
  const cumulativeGasUsed = bytesToBigInt(rlpBytes(cumulative))
  const gasUsed = cumulativeGasUsed - cursor.cumulativeGasUsed
  cursor.cumulativeGasUsed = cumulativeGasUsed
  const members = placeMembers(place)
  const logParts = rlpList(logs).map((log) => logJson(log, members, place.timestamp, cursor.logIndex++))
  let json =
    `{${members},"contractAddress":${to.length === 0 ? `"${createdAddress(place.sender, nonce)}"` : 'null'}` +
    `,"cumulativeGasUsed":"${toQuantity(cumulativeGasUsed)}"` +
    `,"effectiveGasPrice":"${toQuantity(effectiveGasPrice(transaction, place.baseFeePerGas))}"` +
    `,"from":"${bytesToHex(place.sender)}","gasUsed":"${toQuantity(gasUsed)}","logs":[${logParts.join(',')}]` +
    `,"logsBloom":"${bytesToHex(rlpBytes(bloom))}",${outcomeMember(rlpBytes(outcome))}` +
    `,"to":${to.length === 0 ? 'null' : `"${bytesToHex(to)}"`},"type":"${toQuantity(type)}"`
  if (type === 3 && cursor.blobGasPrice !== undefined) {
    const blobGasUsed = BigInt(transaction.blobCount) * gasPerBlob
    json += `,"blobGasUsed":"${toQuantity(blobGasUsed)}","blobGasPrice":"${toQuantity(cursor.blobGasPrice)}"`
  }
  return `${json}}`
}

/** Before Byzantium a receipt holds the state root after its transaction, since then whether it succeeded (EIP-658). */
function outcomeMember(outcome: Uint8Array): string {
  return outcome.length === 32 ? `"root":"${bytesToHex(outcome)}"` : `"status":"${bytesToQuantity(outcome)}"`
}

/** Address of a contract that a transaction creates (yellow paper 7). */
function createdAddress(sender: Uint8Array, nonce: Uint8Array): string {
  return bytesToHex(keccak256(encodeRlp([sender, nonce])).subarray(12))
}
