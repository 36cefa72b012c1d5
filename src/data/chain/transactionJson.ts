/** Transactions as JSON, directly from their RLP. Members and spelling follow go-ethereum. */
import { concatBytes, type Hash32 } from '../../primitives/bytes.js'
import { ascii, type Constant, JsonBytes, memberNames } from '../../primitives/jsonBytes.js'
import { type RlpSpan, rlpEndAt, rlpPayloadAt, rlpSpanAt } from '../../primitives/rlp.js'
import {
  authorizationMembers,
  type FieldForm,
  type TransactionType,
  transactionTypes,
} from '../../primitives/transactionTypes.js'
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
  /** Where its encoding begins: a list (legacy), or the type. */
  readonly start: number
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
  /** What the receipt of a transaction without a signature has behind its logs: its nonce, and a version. */
  readonly told?: readonly (number | bigint)[]
}

/** In no block. */
interface PendingPosition {
  readonly blockHash: undefined
  readonly told?: undefined
  readonly index: 0
  /** One row: sender ‖ transaction hash. */
  readonly senders: Uint8Array
}

/** Indexes of a type's fields in its RLP. */
interface Layout {
  /** Undefined where its receipt tells it. */
  readonly nonce: number | undefined
  /** Gas price of legacy and type 1; highest gas price of later types. Undefined for none. */
  readonly maxFee: number | undefined
  /** Undefined before EIP-1559. */
  readonly maxPriorityFee: number | undefined
  readonly gas: number
  readonly to: number
  readonly value: number
  readonly input: number
  /** Undefined for legacy. */
  readonly accessList: number | undefined
  readonly chainId: number | undefined
  /** Undefined where the type has no blobs. */
  readonly blobHashes: number | undefined
  /** What hardly any type has: fees, and what stands behind them. */
  readonly ownFees: readonly OwnField[]
  readonly ownMembers: readonly OwnField[]
  /** v or yParity; r and s follow. Undefined for none. */
  readonly signature: number | undefined
}

interface OwnField {
  readonly member: Constant
  readonly at: number
  readonly form: FieldForm
}

/** As far as they were needed. */
const layouts = new Map<TransactionType, Layout>()

/** Throws RangeError for an unknown type. */
function layoutOf(number: number, types: ReadonlyMap<number, TransactionType>): Layout {
  const type = types.get(number)
  if (type === undefined) throw new RangeError(`transaction type ${number} is not known`)
  const known = layouts.get(type)
  if (known !== undefined) return known
  const { isSigned } = type
  const optional = (name: string) => type.placeOf(name)
  const place = (name: string, other = name): number => {
    const at = optional(name) ?? optional(other)
    if (at === undefined) throw new Error(`transactions of type ${number} have no ${name}`)
    return at
  }
  const own = type.names
    .filter((member) => !(member in name))
    .map((member) => ({
      member: memberNames(member)[member] as Constant,
      at: place(member),
      form: type.fields[member] as FieldForm,
    }))
  const isFee = ({ form }: OwnField) => form.toLowerCase().includes('integer')
  const layout = {
    nonce: isSigned ? place('nonce') : undefined,
    maxFee: isSigned ? place('gasPrice', 'maxFeePerGas') : undefined,
    maxPriorityFee: optional('maxPriorityFeePerGas'),
    gas: place('gas'),
    to: place('to'),
    value: place('value'),
    input: place('input'),
    accessList: optional('accessList'),
    chainId: optional('chainId'),
    blobHashes: optional('blobVersionedHashes'),
    ownFees: own.filter(isFee),
    ownMembers: own.filter((field) => !isFee(field)),
    signature: isSigned ? type.names.length : undefined,
  }
  layouts.set(type, layout)
  return layout
}

/** Bytes of a hash with its header. */
const hashItemBytes = 33

/** Decodes one item of a body's transactions: a list (legacy), or a byte string of type byte and list (EIP-2718). */
export function readTransaction(
  bytes: Uint8Array,
  { payload, start, isList }: RlpSpan,
  types = transactionTypes,
): Transaction {
  const type = isList ? 0 : (bytes[payload] as number)
  if (type === 0 && !isList) throw new RangeError('transaction type 0 is not known')
  const layout = layoutOf(type, types)
  const list = isList ? start : payload + 1
  const from = isList ? start : payload
  return { type, bytes, start: from, fieldsAt: rlpPayloadAt(bytes, list), end: rlpEndAt(bytes, list), layout }
}

/** Offset of a field that the transaction's type has. */
export function fieldAt({ bytes, fieldsAt, end }: Transaction, position: number): number {
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
  const { blobHashes } = transaction.layout
  if (blobHashes === undefined) return 0
  const hashes = fieldSpan(transaction, blobHashes)
  return (hashes.end - hashes.payload) / hashItemBytes
}

/** Effective gas price in wei (EIP-1559); the transaction's gas price before London; 0 for one that pays nothing. */
export function effectiveGasPrice(
  transaction: Transaction,
  baseFeePerGas: number | bigint | undefined,
): number | bigint {
  const { bytes, layout } = transaction
  if (layout.maxFee === undefined) return 0
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
  'blockNumber',
  'blockTimestamp',
  'depositReceiptVersion',
  'chainId',
  'from',
  'gas',
  'gasPrice',
  'hash',
  'input',
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
const noSignature = ascii(',"v":"0x0","r":"0x0","s":"0x0"')
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
  if (layout.maxFee !== undefined && layout.maxPriorityFee !== undefined) {
    quantity(name.maxFeePerGas, layout.maxFee)
    quantity(name.maxPriorityFeePerGas, layout.maxPriorityFee)
  }
  for (const { member, at } of layout.ownFees) quantity(member, at)
  json.constant(name.hash)
  json.hex(position.senders, sender + 20, sender + 52)
  json.constant(name.input)
  writeHexItem(json, bytes, fieldAt(transaction, layout.input))
  if (layout.nonce !== undefined) quantity(name.nonce, layout.nonce)
  else writeTold(json, position.told)
  json.constant(name.to)
  writeRecipient(json, transaction)
  json.constant(name.transactionIndex)
  if (isPending) json.constant(nullText)
  else json.quantity(position.index)
  quantity(name.value, layout.value)
  json.constant(name.type)
  json.quantity(type)
  if (layout.accessList !== undefined) {
    json.constant(name.accessList)
    writeAccessList(json, bytes, fieldAt(transaction, layout.accessList))
  }
  if (layout.chainId !== undefined) quantity(name.chainId, layout.chainId)
  else if (layout.signature !== undefined) writeLegacyChainId(json, transaction, layout.signature)
  for (const { member, at, form } of layout.ownMembers) {
    const field = fieldAt(transaction, at)
    if (form === 'flag' && isEmptyItem(bytes, field)) continue
    json.constant(member)
    writeOwn(json, bytes, field, form)
  }
  if (layout.signature === undefined) json.constant(noSignature)
  else {
    quantity(name.v, layout.signature)
    quantity(name.r, layout.signature + 1)
    quantity(name.s, layout.signature + 2)
    if (type > 0) quantity(name.yParity, layout.signature)
  }
  json.constant(closeBrace)
}

function writeTold(json: JsonBytes, [nonce = 0, version]: readonly (number | bigint)[] = []): void {
  json.constant(name.nonce)
  json.quantity(nonce)
  if (version === undefined) return
  json.constant(name.depositReceiptVersion)
  json.quantity(version)
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
function writeLegacyChainId(json: JsonBytes, transaction: Transaction, signature: number): void {
  const v = integerOfItem(transaction.bytes, fieldAt(transaction, signature))
  if (v < 35) return
  json.constant(name.chainId)
  json.quantity(typeof v === 'number' ? Math.floor((v - 35) / 2) : (v - 35n) / 2n)
}

/** Writes a field that hardly any type has. */
function writeOwn(json: JsonBytes, bytes: Uint8Array, at: number, form: FieldForm): void {
  if (form === 'flag') json.text('true')
  else if (form === 'hashes') writeHexItems(json, bytes, at)
  else if (form === 'authorizations') writeAuthorizations(json, bytes, at)
  else writeHexItem(json, bytes, at)
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

const authorizationNames = authorizationMembers.map((member, at) => `${at === 0 ? '{' : ','}"${member}":`)
const addressAt = authorizationMembers.indexOf('address')

function writeAuthorizations(json: JsonBytes, bytes: Uint8Array, list: number): void {
  writeItems(json, bytes, list, (entry) => {
    let part = rlpPayloadAt(bytes, entry)
    for (const [index, member] of authorizationNames.entries()) {
      json.text(member)
      if (index === addressAt) writeHexItem(json, bytes, part)
      else writeQuantityItem(json, bytes, part)
      part = rlpEndAt(bytes, part)
    }
    json.text('}')
  })
}
