/** Transactions as JSON, directly from their RLP. Members and spelling follow go-ethereum. */
import { concatBytes, type Hash32, integerAt } from '../primitives/bytes.js'
import { ascii, type Constant, JsonBytes, memberNames } from '../primitives/jsonBytes.js'
import { type RlpSpan, rlpListSpans, rlpSpanAt } from '../primitives/rlp.js'
import type { Timestamp } from './header.js'

/** A transaction within a block's body. */
export interface Transaction {
  /** EIP-2718 type; 0 for legacy. */
  readonly type: number
  /** The whole body, in which its spans are. */
  readonly bytes: Uint8Array
  /** Its RLP fields, in the order of the type's definition. */
  readonly fields: readonly RlpSpan[]
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
export interface PendingPosition {
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

/** Decodes one item of a body's transactions: a list (legacy), or a byte string of type byte and list (EIP-2718). */
export function readTransaction(bytes: Uint8Array, { payload, start, isList }: RlpSpan): Transaction {
  const type = isList ? 0 : (bytes[payload] as number)
  const layout = layouts[type]
  if (layout === undefined || (type === 0 && !isList))
    throw new RangeError(`transaction type ${type} is not known`)
  const fields = rlpListSpans(bytes, rlpSpanAt(bytes, isList ? start : payload + 1))
  return { type, bytes, fields, layout }
}

/** The span of a field that the transaction's type has. */
export function fieldSpan({ fields }: Transaction, position: number): RlpSpan {
  const span = fields[position]
  if (span === undefined) throw new RangeError(`a transaction without field ${position}`)
  return span
}

export function isCreation(transaction: Transaction): boolean {
  const { payload, end } = fieldSpan(transaction, transaction.layout.to)
  return payload === end
}

export function blobCount(transaction: Transaction): number {
  return transaction.type === 3
    ? rlpListSpans(transaction.bytes, fieldSpan(transaction, blobHashesAt)).length
    : 0
}

/** Effective gas price in wei (EIP-1559); the transaction's gas price before London. */
export function effectiveGasPrice(
  transaction: Transaction,
  baseFeePerGas: number | bigint | undefined,
): number | bigint {
  const { bytes, layout } = transaction
  const integer = (position: number): number | bigint => {
    const { payload, end } = fieldSpan(transaction, position)
    return integerAt(bytes, payload, end)
  }
  const maxFee = integer(layout.maxFee)
  if (layout.maxPriorityFee === undefined || baseFeePerGas === undefined) return maxFee
  const priorityFee = integer(layout.maxPriorityFee)
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
    const { payload, end } = fieldSpan(transaction, position)
    json.constant(member)
    json.quantityOf(bytes, payload, end)
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
  const input = fieldSpan(transaction, layout.input)
  json.constant(name.input)
  json.hex(bytes, input.payload, input.end)
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
    writeAccessList(json, bytes, fieldSpan(transaction, layout.input + 1))
    quantity(name.chainId, 0)
  } else writeLegacyChainId(json, transaction)
  if (type === 3) {
    json.constant(name.blobVersionedHashes)
    writeHashes(json, bytes, fieldSpan(transaction, blobHashesAt))
  }
  if (type === 4) {
    json.constant(name.authorizationList)
    writeAuthorizations(json, bytes, fieldSpan(transaction, authorizationsAt))
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
  const { payload, end } = fieldSpan(transaction, transaction.layout.to)
  if (payload === end) json.constant(nullText)
  else json.hex(transaction.bytes, payload, end)
}

/** Writes the chain id, which EIP-155 adds to v; without EIP-155 there is none. */
function writeLegacyChainId(json: JsonBytes, transaction: Transaction): void {
  const { payload, end } = fieldSpan(transaction, transaction.layout.signature)
  const v = integerAt(transaction.bytes, payload, end)
  if (v < 35) return
  json.constant(name.chainId)
  json.quantity(typeof v === 'number' ? Math.floor((v - 35) / 2) : (v - 35n) / 2n)
}

function writeAccessList(json: JsonBytes, bytes: Uint8Array, list: RlpSpan): void {
  writeList(json, bytes, list, (entry) => {
    const [address, keys] = rlpListSpans(bytes, entry) as [RlpSpan, RlpSpan]
    json.text('{"address":')
    json.hex(bytes, address.payload, address.end)
    json.text(',"storageKeys":')
    writeHashes(json, bytes, keys)
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

function writeAuthorizations(json: JsonBytes, bytes: Uint8Array, list: RlpSpan): void {
  writeList(json, bytes, list, (entry) => {
    const parts = rlpListSpans(bytes, entry)
    for (const [at, member] of authorizationNames.entries()) {
      const { payload, end } = parts[at] as RlpSpan
      json.text(member)
      if (at === 1) json.hex(bytes, payload, end)
      else json.quantityOf(bytes, payload, end)
    }
    json.text('}')
  })
}

function writeHashes(json: JsonBytes, bytes: Uint8Array, list: RlpSpan): void {
  writeList(json, bytes, list, ({ payload, end }) => json.hex(bytes, payload, end))
}

const openBracket = ascii('[')
const closeBracket = ascii(']')
const comma = ascii(',')

/** Writes an array; `write` writes each item of an RLP list and gets its index. */
export function writeList(
  json: JsonBytes,
  bytes: Uint8Array,
  list: RlpSpan,
  write: (item: RlpSpan, index: number) => void,
): void {
  json.constant(openBracket)
  let index = 0
  for (let offset = list.payload; offset < list.end; index++) {
    const item = rlpSpanAt(bytes, offset, list.end)
    if (index > 0) json.constant(comma)
    write(item, index)
    offset = item.end
  }
  json.constant(closeBracket)
}
