/** Transactions as JSON, directly from their RLP. Members and spelling follow go-ethereum. */
import { concatBytes, type Hash32 } from '../../primitives/bytes.js'
import { ascii, type Constant, closeBrace, JsonBytes, memberNames } from '../../primitives/jsonBytes.js'
import { findRlpItems, type RlpSpan, rlpEndAt, rlpPayloadAt, rlpSpanAt } from '../../primitives/rlp.js'
import {
  type FieldForm,
  isListForm,
  isQuantityForm,
  type ListForm,
  listForms,
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
  /** The whole body that contains it. */
  readonly bytes: Uint8Array
  /** Offset of its encoding: a list (legacy), or the type. */
  readonly start: number
  /** Offset of its RLP fields, which are in the order of the type's definition, and their end. */
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
  /** Fields after the logs in the receipt of an unsigned transaction: its nonce, and a version. */
  readonly reported?: readonly (number | bigint)[]
}

/** A transaction outside any block. */
interface PendingPosition {
  readonly blockHash: undefined
  readonly reported?: undefined
  readonly index: number
  /** One row: sender ‖ transaction hash. */
  readonly senders: Uint8Array
}

/** JSON members of a type's transactions, and indices of the RLP fields that are read separately. */
interface Layout {
  /** Undefined if only its receipt has the nonce. */
  readonly nonce: number | undefined
  /** Gas price of legacy and type 1; highest gas price of later types. Undefined for none. */
  readonly maxFee: number | undefined
  /** Undefined before EIP-1559. */
  readonly maxPriorityFee: number | undefined
  readonly to: number
  /** Undefined if the type has no blobs. */
  readonly blobHashes: number | undefined
  /** Members of its JSON after those of its block. */
  readonly members: readonly Member[]
  readonly fieldCount: number
  /** Names of the integers after the logs of its receipt. */
  readonly receiptNames: readonly Constant[]
}

/** One walk over a table writes all members, as for blocks; see blockJson.ts. */
interface Member {
  /** `,"name":`, for a constant followed by its value. */
  readonly name: Constant
  readonly kind: 'quantity' | 'hex' | OwnKind
  /** Index of its field; 0 if it is no field, because reading a missing element -1 of an array is slow in V8. */
  readonly at: number
}

type OwnKind =
  | ListForm
  | 'recipient'
  | 'flag'
  | 'constant'
  | 'sender'
  | 'price'
  | 'transactionHash'
  | 'reported'
  | 'index'
  | 'legacyChainId'

/** Layouts by type, filled at first use. */
const layouts = new Map<TransactionType, Layout>()

/** Throws RangeError for an unknown type. */
function layoutOf(number: number, types: ReadonlyMap<number, TransactionType>): Layout {
  const type = types.get(number)
  if (type === undefined) throw new RangeError(`transaction type ${number} is not known`)
  let layout = layouts.get(type)
  if (layout === undefined) {
    layout = {
      nonce: type.placeOf('nonce'),
      maxFee: type.placeOf('gasPrice') ?? type.placeOf('maxFeePerGas'),
      maxPriorityFee: type.placeOf('maxPriorityFeePerGas'),
      to: type.placeOf('to') as number,
      blobHashes: type.placeOf('blobVersionedHashes'),
      members: membersOf(type),
      fieldCount: type.names.length + (type.isSigned ? 3 : 0),
      receiptNames: type.receiptFields.map((name) => ascii(`,"${name}":`)),
    }
    layouts.set(type, layout)
  }
  return layout
}

const feeNames = 'from gas gasPrice maxFeePerGas maxPriorityFeePerGas'.split(' ')
const messageNames = 'hash input nonce to transactionIndex value type accessList chainId'.split(' ')

/** In go-ethereum's order: rare fees come after the usual ones, the type's other fields before v, r and s. */
function membersOf(type: TransactionType): readonly Member[] {
  const { names, fields, isSigned } = type
  const own = names.filter((name) => !feeNames.includes(name) && !messageNames.includes(name))
  const isFee = (name: string) => kindOf(fields[name] as FieldForm) === 'quantity'
  const others = own.filter((name) => !isFee(name))
  const order = [...feeNames, ...own.filter(isFee), ...messageNames, ...others, 'v', 'r', 's', 'yParity']
  const special: Readonly<Record<string, OwnKind | number | undefined>> = {
    from: 'sender',
    gasPrice: isSigned ? 'price' : 0,
    hash: 'transactionHash',
    nonce: 'reported',
    transactionIndex: 'index',
    type: type.number,
    chainId: isSigned ? 'legacyChainId' : undefined,
    ...(isSigned ? {} : { v: 0, r: 0, s: 0 }),
  }
  const rlpNames = isSigned ? [...names, 'v', 'r', 's'] : names
  return order.flatMap((name): Member | readonly [] => {
    const at = rlpNames.indexOf(name === 'yParity' && type.number > 0 ? 'v' : name)
    if (at >= 0) return { name: ascii(`,"${name}":`), kind: kindOf(fields[name] ?? 'integer'), at }
    const kind = special[name]
    if (kind === undefined) return []
    if (typeof kind === 'string') return { name: ascii(`,"${name}":`), kind, at: 0 }
    return { name: ascii(`,"${name}":"0x${kind.toString(16)}"`), kind: 'constant', at: 0 }
  })
}

function kindOf(form: FieldForm): Member['kind'] {
  if (isQuantityForm(form)) return 'quantity'
  return isListForm(form) || form === 'recipient' || form === 'flag' ? form : 'hex'
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

/** Offset of a field; the transaction's type must have it. */
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

/** Effective gas price in wei (EIP-1559); the transaction's gas price before London; 0 for one without fees. */
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

const names = memberNames('blockNumber', 'blockTimestamp', 'depositReceiptVersion')
const firstName = ascii('{"blockHash":')
const nullText = ascii('null')
const trueText = ascii('true')
const noBlock = ascii('null,"blockNumber":null,"blockTimestamp":null')

/** Offsets of the fields of the transaction being written, and the end of the last one; no type has half as many. */
const starts = new Int32Array(32)

/** Writes the transaction object of the specification. */
export function writeTransaction(
  json: JsonBytes,
  transaction: Transaction,
  position: TransactionPosition | PendingPosition,
): void {
  const { bytes, fieldsAt, end, layout } = transaction
  const count = findRlpItems(bytes, fieldsAt, end, starts)
  if (count < layout.fieldCount) throw new RangeError(`a transaction without field ${count}`)
  json.constant(firstName)
  if (position.blockHash === undefined) json.constant(noBlock)
  else {
    json.hex(position.blockHash)
    json.constant(names.blockNumber)
    json.quantity(position.blockNumber)
    json.constant(names.blockTimestamp)
    json.quantity(position.timestamp)
  }
  for (const { name, kind, at } of layout.members) {
    if (kind === 'quantity' || kind === 'hex') {
      json.constant(name)
      const payload = rlpPayloadAt(bytes, starts[at] as number)
      if (kind === 'hex') json.hex(bytes, payload, starts[at + 1])
      else json.quantityOf(bytes, payload, starts[at + 1] as number)
    } else writeOwn(json, name, kind, starts[at] as number, transaction, position)
  }
  json.constant(closeBrace)
}

/** Writes a member that is neither a number nor a field's bytes, or that may be absent. */
function writeOwn(
  json: JsonBytes,
  name: Constant,
  kind: OwnKind,
  field: number,
  transaction: Transaction,
  position: TransactionPosition | PendingPosition,
): void {
  const { bytes } = transaction
  if (kind === 'flag' && isEmptyItem(bytes, field)) return
  if (kind === 'legacyChainId') return writeLegacyChainId(json, name, transaction)
  json.constant(name)
  const sender = position.index * 52
  const isPending = position.blockHash === undefined
  if (kind === 'sender') json.hex(position.senders, sender, sender + 20)
  else if (kind === 'price')
    json.quantity(effectiveGasPrice(transaction, isPending ? undefined : position.baseFeePerGas))
  else if (kind === 'transactionHash') json.hex(position.senders, sender + 20, sender + 52)
  else if (kind === 'recipient') writeRecipient(json, bytes, field)
  else if (kind === 'index') isPending ? json.constant(nullText) : json.quantity(position.index)
  else if (kind === 'flag') json.constant(trueText)
  else if (kind === 'reported') writeReported(json, position.reported)
  else if (kind !== 'constant') writeList(json, bytes, field, kind)
}

function writeReported(json: JsonBytes, [nonce = 0, version]: readonly (number | bigint)[] = []): void {
  json.quantity(nonce)
  if (version === undefined) return
  json.constant(names.depositReceiptVersion)
  json.quantity(version)
}

/** Bytes of a sender and the hash of its transaction. */
export const senderBytes = 52

/**
 * The object of a signed transaction (`bytes` as in blocks) outside any block. As in go-ethereum, its gas price is the
 * highest that it would pay.
 */
export function pendingTransactionJson(bytes: Uint8Array, sender: Uint8Array, hash: Hash32): Uint8Array {
  const json = new JsonBytes(3 * bytes.length + 1_024)
  writePendingTransaction(json, bytes, concatBytes(sender, hash), 0)
  return json.finish()
}

/** Writes the object of one of several pending transactions; `senders` has sender and hash of each. */
export function writePendingTransaction(
  json: JsonBytes,
  bytes: Uint8Array,
  senders: Uint8Array,
  index: number,
): void {
  const isList = (bytes[0] as number) > 0x7f
  const span = isList ? rlpSpanAt(bytes, 0) : { start: 0, payload: 0, end: bytes.length, isList }
  writeTransaction(json, readTransaction(bytes, span), { blockHash: undefined, index, senders })
}

/** Writes the recipient of a transaction, a field; null for a creation. */
export function writeRecipient(json: JsonBytes, bytes: Uint8Array, to: number): void {
  if (isEmptyItem(bytes, to)) json.constant(nullText)
  else writeHexItem(json, bytes, to)
}

/** Writes the chain id, which EIP-155 adds to v; without EIP-155 there is none. */
function writeLegacyChainId(json: JsonBytes, name: Constant, { bytes, layout }: Transaction): void {
  const v = integerOfItem(bytes, starts[layout.fieldCount - 3] as number)
  if (v < 35) return
  json.constant(name)
  json.quantity(typeof v === 'number' ? Math.floor((v - 35) / 2) : (v - 35n) / 2n)
}

/** Members of the objects in a list: the text before each, and its form. */
type ObjectMembers = readonly (readonly [text: string, form: FieldForm])[]

/** Members for the lists of objects. */
const objectMembers: ReadonlyMap<ListForm, ObjectMembers> = new Map(
  Object.entries(listForms).flatMap(([form, each]): [ListForm, ObjectMembers][] => {
    if (typeof each === 'string') return []
    const members = Object.entries(each).map(
      ([name, member], at) => [`${at === 0 ? '{' : ','}"${name}":`, member] as const,
    )
    return [[form as ListForm, members]]
  }),
)

function writeList(json: JsonBytes, bytes: Uint8Array, list: number, form: ListForm): void {
  const members = objectMembers.get(form)
  if (members === undefined) return writeHexItems(json, bytes, list)
  writeItems(json, bytes, list, (entry) => {
    let part = rlpPayloadAt(bytes, entry)
    for (const [text, member] of members) {
      json.text(text)
      if (isListForm(member)) writeList(json, bytes, part, member)
      else if (isQuantityForm(member)) writeQuantityItem(json, bytes, part)
      else writeHexItem(json, bytes, part)
      part = rlpEndAt(bytes, part)
    }
    json.text('}')
  })
}
