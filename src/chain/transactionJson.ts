/** Transactions as JSON, directly from their RLP. Members and spelling follow go-ethereum. */
import { concatBytes, type Hash32 } from '../primitives/bytes.js'
import { ascii, type Constant, JsonBytes, memberNames } from '../primitives/jsonBytes.js'
import { type RlpSpan, rlpEndAt, rlpPayloadAt, rlpSpanAt } from '../primitives/rlp.js'
import type { Timestamp } from './header.js'
import {
  integerOfItem,
  isEmptyItem,
  writeHexItem,
  writeHexItems,
  writeItems,
  writeQuantityItem,
} from './rlpJson.js'

/** A transaction within a block's body. */
export interface Transaction {
  /** EIP-2718 type; 0 for legacy. */
  readonly type: number
  /** The whole body, in which it is. */
  readonly bytes: Uint8Array
  /** Where its RLP fields begin, in the order of the type's definition, and where they end. */
  readonly fieldsAt: number
  readonly end: number
  /** Indexes of fields that several types have. */
  readonly layout: Layout
}

/** Position of a transaction; constant parts of its JSON. */
export interface TransactionPosition {
  readonly blockHash: Uint8Array
  readonly blockNumber: number
  readonly timestamp: Timestamp
  readonly baseFeePerGas: number | bigint | undefined
  readonly index: number
  /** Rows of the block's senders: sender (20 bytes) ‖ transaction hash (32 bytes). */
  readonly senders: Uint8Array
}

/** In no block. */
interface PendingPosition {
  readonly blockHash: undefined
  readonly index: 0
  /** One row: sender ‖ transaction hash. */
  readonly senders: Uint8Array
}

/** Indexes in a type's RLP. An access list follows the input in all types but legacy. */
interface Layout {
  readonly nonce: number
  /** Gas price of legacy and type 1; highest gas price of later types. */
  readonly maxFee: number
  /** Undefined before EIP-1559. */
  readonly maxPriorityFee: number | undefined
  readonly gas: number
  readonly to: number
  readonly value: number
  readonly input: number
  /** v or yParity; r and s follow. */
  readonly signature: number
}

const feeMarketLayout = { nonce: 1, maxPriorityFee: 2, maxFee: 3, gas: 4, to: 5, value: 6, input: 7 }

const layouts: readonly Layout[] = [
  { nonce: 0, maxFee: 1, maxPriorityFee: undefined, gas: 2, to: 3, value: 4, input: 5, signature: 6 },
  { nonce: 1, maxFee: 2, maxPriorityFee: undefined, gas: 3, to: 4, value: 5, input: 6, signature: 8 },
  { ...feeMarketLayout, signature: 9 },
  { ...feeMarketLayout, signature: 11 },
  { ...feeMarketLayout, signature: 10 },
]

/** Indexes of fields that only one type has. */
const maxFeePerBlobGasAt = 9
const blobHashesAt = 10
const authorizationsAt = 9

/** Bytes of a hash with its header. */
const hashItemBytes = 33

/** Decodes one item of a body's transactions: a list (legacy), or a byte string of type byte and list (EIP-2718). */
export function readTransaction(bytes: Uint8Array, { payload, start, isList }: RlpSpan): Transaction {
  const type = isList ? 0 : (bytes[payload] as number)
  const layout = layouts[type]
  if (layout === undefined || (type === 0 && !isList))
    throw new RangeError(`transaction type ${type} is not known`)
  const list = isList ? start : payload + 1
  return { type, bytes, fieldsAt: rlpPayloadAt(bytes, list), end: rlpEndAt(bytes, list), layout }
}

/** Offset of a field that the transaction's type has. */
function fieldAt({ bytes, fieldsAt, end }: Transaction, position: number): number {
  let at = fieldsAt
  for (let before = 0; before < position && at < end; before++) at = rlpEndAt(bytes, at)
  if (at >= end) throw new RangeError(`a transaction without field ${position}`)
  return at
}

/** The span of such a field. */
export function fieldSpan(transaction: Transaction, position: number): RlpSpan {
  return rlpSpanAt(transaction.bytes, fieldAt(transaction, position))
}

export function isCreation(transaction: Transaction): boolean {
  return isEmptyItem(transaction.bytes, fieldAt(transaction, transaction.layout.to))
}

export function blobCount(transaction: Transaction): number {
  if (transaction.type !== 3) return 0
  const hashes = fieldSpan(transaction, blobHashesAt)
  return (hashes.end - hashes.payload) / hashItemBytes
}

/** Effective gas price in wei (EIP-1559); the transaction's gas price before London. */
export function effectiveGasPrice(
  transaction: Transaction,
  baseFeePerGas: number | bigint | undefined,
): number | bigint {
  const { bytes, layout } = transaction
  const maxFee = integerOfItem(bytes, fieldAt(transaction, layout.maxFee))
  if (layout.maxPriorityFee === undefined || baseFeePerGas === undefined) return maxFee
  const priorityFee = integerOfItem(bytes, fieldAt(transaction, layout.maxPriorityFee))
  const price =
    typeof baseFeePerGas === 'number' && typeof priorityFee === 'number'
      ? baseFeePerGas + priorityFee
      : BigInt(baseFeePerGas) + BigInt(priorityFee)
  return price < maxFee ? price : maxFee
}

const name = memberNames(
  'accessList',
  'authorizationList',
  'blobVersionedHashes',
  'blockNumber',
  'blockTimestamp',
  'chainId',
  'from',
  'gas',
  'gasPrice',
  'hash',
  'input',
  'maxFeePerBlobGas',
  'maxFeePerGas',
  'maxPriorityFeePerGas',
  'nonce',
  'r',
  's',
  'to',
  'transactionIndex',
  'type',
  'v',
  'value',
  'yParity',
)
const firstName = ascii('{"blockHash":')
const closeBrace = ascii('}')
const nullText = ascii('null')
const noBlock = ascii('null,"blockNumber":null,"blockTimestamp":null')

/** Writes the transaction object of the specification. */
export function writeTransaction(
  json: JsonBytes,
  transaction: Transaction,
  position: TransactionPosition | PendingPosition,
): void {
  const { type, bytes, layout } = transaction
  const isPending = position.blockHash === undefined
  const quantity = (member: Constant, position: number): void => {
    json.constant(member)
    writeQuantityItem(json, bytes, fieldAt(transaction, position))
  }
  const sender = position.index * 52
  json.constant(firstName)
  if (isPending) json.constant(noBlock)
  else {
    json.hex(position.blockHash)
    json.constant(name.blockNumber)
    json.quantity(position.blockNumber)
    json.constant(name.blockTimestamp)
    json.quantity(position.timestamp)
  }
  json.constant(name.from)
  json.hex(position.senders, sender, sender + 20)
  quantity(name.gas, layout.gas)
  json.constant(name.gasPrice)
  json.quantity(effectiveGasPrice(transaction, isPending ? undefined : position.baseFeePerGas))
  if (layout.maxPriorityFee !== undefined) {
    quantity(name.maxFeePerGas, layout.maxFee)
    quantity(name.maxPriorityFeePerGas, layout.maxPriorityFee)
  }
  if (type === 3) quantity(name.maxFeePerBlobGas, maxFeePerBlobGasAt)
  json.constant(name.hash)
  json.hex(position.senders, sender + 20, sender + 52)
  json.constant(name.input)
  writeHexItem(json, bytes, fieldAt(transaction, layout.input))
  quantity(name.nonce, layout.nonce)
  json.constant(name.to)
  writeRecipient(json, transaction)
  json.constant(name.transactionIndex)
  if (isPending) json.constant(nullText)
  else json.quantity(position.index)
  quantity(name.value, layout.value)
  json.constant(name.type)
  json.quantity(type)
  if (type > 0) {
    json.constant(name.accessList)
    writeAccessList(json, bytes, fieldAt(transaction, layout.input + 1))
    quantity(name.chainId, 0)
  } else writeLegacyChainId(json, transaction)
  if (type === 3) {
    json.constant(name.blobVersionedHashes)
    writeHexItems(json, bytes, fieldAt(transaction, blobHashesAt))
  }
  if (type === 4) {
    json.constant(name.authorizationList)
    writeAuthorizations(json, bytes, fieldAt(transaction, authorizationsAt))
  }
  quantity(name.v, layout.signature)
  quantity(name.r, layout.signature + 1)
  quantity(name.s, layout.signature + 2)
  if (type > 0) quantity(name.yParity, layout.signature)
  json.constant(closeBrace)
}

/**
 * The object of a signed transaction (`bytes` as blocks have it) that is in no block. As go-ethereum answers it, its gas
 * price is the highest that it would pay.
 */
export function pendingTransactionJson(bytes: Uint8Array, sender: Uint8Array, hash: Hash32): Uint8Array {
  const isList = (bytes[0] as number) > 0x7f
  const span = isList ? rlpSpanAt(bytes, 0) : { start: 0, payload: 0, end: bytes.length, isList }
  const json = new JsonBytes(3 * bytes.length + 1_024)
  const senders = concatBytes(sender, hash)
  writeTransaction(json, readTransaction(bytes, span), { blockHash: undefined, index: 0, senders })
  return json.finish()
}

/** Writes the recipient of a transaction; null for a creation. */
export function writeRecipient(json: JsonBytes, transaction: Transaction): void {
  const to = fieldAt(transaction, transaction.layout.to)
  if (isEmptyItem(transaction.bytes, to)) json.constant(nullText)
  else writeHexItem(json, transaction.bytes, to)
}

/** Writes the chain id, which EIP-155 adds to v; without EIP-155 there is none. */
function writeLegacyChainId(json: JsonBytes, transaction: Transaction): void {
  const v = integerOfItem(transaction.bytes, fieldAt(transaction, transaction.layout.signature))
  if (v < 35) return
  json.constant(name.chainId)
  json.quantity(typeof v === 'number' ? Math.floor((v - 35) / 2) : (v - 35n) / 2n)
}

function writeAccessList(json: JsonBytes, bytes: Uint8Array, list: number): void {
  writeItems(json, bytes, list, (entry) => {
    const address = rlpPayloadAt(bytes, entry)
    json.text('{"address":')
    writeHexItem(json, bytes, address)
    json.text(',"storageKeys":')
    writeHexItems(json, bytes, rlpEndAt(bytes, address))
    json.text('}')
  })
}

const authorizationNames = [
  '{"chainId":',
  ',"address":',
  ',"nonce":',
  ',"yParity":',
  ',"r":',
  ',"s":',
] as const

function writeAuthorizations(json: JsonBytes, bytes: Uint8Array, list: number): void {
  writeItems(json, bytes, list, (entry) => {
    let part = rlpPayloadAt(bytes, entry)
    for (const [index, member] of authorizationNames.entries()) {
      json.text(member)
      if (index === 1) writeHexItem(json, bytes, part)
      else writeQuantityItem(json, bytes, part)
      part = rlpEndAt(bytes, part)
    }
    json.text('}')
  })
}
