/**
 * Blocks from their JSON, as nodes answer `eth_getBlockByHash` with full transactions: the inverse of `blockJson.ts`
 * and `transactionJson.ts`. The input is not trusted: the hash of the RLP shows whether a member was missing or wrong.
 */
import {
  bytesToHex,
  concatBytes,
  digitsToBytes,
  noBytes,
  toMinimalBytes,
  trimLeft,
} from '../../primitives/bytes.js'
import { excerpt, textOf } from '../../primitives/jsonType.js'
import { encodeRlp, encodeRlpListOfEncoded, type RlpItem } from '../../primitives/rlp.js'
import { type Conversion, convertField } from '../../primitives/transactionCodec.js'
import {
  isQuantityForm,
  type LeafForm,
  type TransactionType,
  transactionTypes,
} from '../../primitives/transactionTypes.js'
import { includesFork } from './forkNames.js'
import type { ForkSchedule } from './forks.js'
import {
  appendedFields,
  decodeHeader,
  fieldForks,
  fieldsMin,
  type Header,
  headerFields,
  headerHash,
  headerIntegers,
  requireKnownFork,
} from './header.js'

/** The node's answer is not a block. */
export class BlockJsonError extends Error {
  override readonly name = 'BlockJsonError'
}

/** A transaction of an unknown type, which may be valid. */
export class UnknownTypeError extends BlockJsonError {
  constructor(readonly number: number) {
    super(`transaction type 0x${number.toString(16)} is not known`)
  }
}

type Json = Readonly<Record<string, unknown>>

/** RLP form of a member: an integer without leading zeros, or its bytes. */
type Form = 'quantity' | 'data'

/** Limit of block members that may be header fields of an unknown fork. */
const unknownMembersMax = 4
/** Members of blocks that are not header fields. */
const otherMembers: ReadonlySet<string> = new Set([
  ...[
    'hash',
    'size',
    'totalDifficulty',
    'transactions',
    'uncles',
    'withdrawals',
    'blockAccessList',
    'blockExtraData',
  ],
])

/** Header fields of another family after `nonce`, in order. */
export type OwnHeaderFields = Readonly<Record<string, 'integer' | 'bytes'>>

/**
 * RLP of a block's header; `own` are its fields after `nonce` if they differ from Ethereum's. Unknown members count as
 * fields of a later fork if the block's hash confirms it. Throws {@link BlockJsonError}.
 */
export function headerRlpFromJson(json: unknown, own?: OwnHeaderFields): Uint8Array {
  const block = toRecord(json, 'block')
  const items: Uint8Array[] = []
  const names: readonly string[] =
    own === undefined ? headerFields : [...headerFields.slice(0, fieldsMin), ...Object.keys(own)]
  for (const [index, name] of names.entries()) {
    const isMissing = block[name] === undefined || block[name] === null
    if (isMissing && index >= fieldsMin) break
    const isInteger = own?.[name] === undefined ? headerIntegers.has(name) : own[name] === 'integer'
    items.push(read(block, name, isInteger ? 'quantity' : 'data'))
  }
  const rlp = encodeRlp(items)
  const isHash = (bytes: Uint8Array) => bytesToHex(headerHash(bytes)) === textOf(block.hash).toLowerCase()
  if (items.length < names.length || isHash(rlp)) return rlp
  const isKnown = new Set<string>([...names, ...otherMembers])
  const unknown = Object.keys(block).filter(
    (name) => !isKnown.has(name) && /^0x[0-9a-f]*$/i.test(textOf(block[name])),
  )
  if (unknown.length > unknownMembersMax) return rlp
  for (const names of arrangements(unknown)) {
    // A header field is a hash or an integer.
    const more = names.map((name) =>
      read(block, name, textOf(block[name]).length === 66 ? 'data' : 'quantity'),
    )
    const longer = encodeRlp([...items, ...more])
    if (isHash(longer)) return longer
  }
  return rlp
}

/** Every choice of at least one of these, in every order: 64 of four. */
function arrangements(names: readonly string[]): string[][] {
  return names.flatMap((first) => {
    const rest = arrangements(names.filter((name) => name !== first))
    return [[first], ...rest.map((others) => [first, ...others])]
  })
}

/**
 * RLP of a block with full transactions. `uncleHeaders` are the RLP of its uncles, in order. Throws
 * {@link BlockJsonError}, and {@link UnknownForkError} if the block is of a fork that may have parts unknown here.
 */
export function blockRlpFromJson(
  json: unknown,
  uncleHeaders: readonly Uint8Array[],
  types = transactionTypes,
): Uint8Array {
  const block = toRecord(json, 'block')
  try {
    const transactions = toArray(block.transactions, 'transactions').map((each) =>
      encodeRlp(transactionFromJson(each, types)),
    )
    const parts = [
      headerRlpFromJson(json),
      encodeRlpListOfEncoded(transactions),
      encodeRlpListOfEncoded(uncleHeaders),
    ]
    if (block.withdrawals !== undefined && block.withdrawals !== null) {
      parts.push(encodeRlp(toArray(block.withdrawals, 'withdrawals').map(withdrawalItem)))
    }
    return encodeRlpListOfEncoded(parts)
  } catch (error) {
    const header = readIfHeader(json)
    // The content of the header may have an unknown form.
    if (header !== undefined) requireKnownFork(header)
    throw error
  }
}

function readIfHeader(json: unknown): Header | undefined {
  try {
    return decodeHeader(headerRlpFromJson(json))
  } catch {
    return undefined
  }
}

/** A field that a block's JSON lacks, and that headers of its fork have; undefined if there is none. */
export function absentField(json: unknown, schedule: ForkSchedule): string | undefined {
  const block = toRecord(json, 'block')
  const fork = schedule.forkOf(decodeHeader(headerRlpFromJson(json)))
  return appendedFields.find((name) => includesFork(fork, fieldForks[name]) && isAbsent(block[name]))
}

/**
 * A member that a block's JSON with full transactions lacks, and that blocks of its fork have. Only `to` may be null;
 * nodes leave out the uncles of merged chains.
 */
export function absentMember(
  json: unknown,
  schedule: ForkSchedule,
  types = transactionTypes,
): string | undefined {
  const block = toRecord(json, 'block')
  const field = absentField(json, schedule)
  if (field !== undefined) return field
  if (isAbsent(block.uncles)) return 'uncles'
  if (!isAbsent(block.withdrawalsRoot) && isAbsent(block.withdrawals)) return 'withdrawals'
  for (const each of toArray(block.transactions, 'transactions')) {
    const transaction = toRecord(each, 'transaction')
    if (isAbsent(transaction.type)) return 'type'
    const { fields = {} } = types.get(Number(textOf(transaction.type))) ?? {}
    const absent = Object.entries(fields).find(([name, form]) => {
      return form === 'recipient' ? transaction[name] === undefined : isAbsent(transaction[name])
    })
    if (absent !== undefined) return absent[0]
  }
  return undefined
}

function isAbsent(value: unknown): boolean {
  return value === undefined || value === null
}

/** Hashes of a block's uncles, as its JSON lists them. Throws {@link BlockJsonError}. */
export function uncleHashesOf(json: unknown): readonly unknown[] {
  return toArray(toRecord(json, 'block').uncles ?? [], 'uncles')
}

/** An item of a body's list: a list for legacy, otherwise bytes of type and list. Throws {@link BlockJsonError}. */
export function transactionFromJson(json: unknown, types = transactionTypes): RlpItem {
  const transaction = toRecord(json, 'transaction')
  // An empty text is no zero.
  const given = Number(textOf(transaction.type ?? 0) || Number.NaN)
  const type = types.get(given)
  if (type === undefined && Number.isInteger(given) && given > 0 && given < 128)
    throw new UnknownTypeError(given)
  if (type === undefined)
    throw new BlockJsonError(`transaction type ${excerpt(textOf(transaction.type), 20)}`)
  const { number, isSigned } = type
  // Some nodes write only v, which is the parity for typed transactions.
  const parity = number === 0 || isAbsent(transaction.yParity) ? 'v' : 'yParity'
  const fields = Object.entries(type.fields)
    .map(([name, form]) => ({ name, form, value: memberOf(transaction, name, type) }))
    .filter(({ form, value }) => form !== 'trailingInteger' || !isAbsent(value))
  const list = [
    ...fields.map(({ name, form, value }) => convertField(encoding, value, form, name)),
    ...(isSigned ? [parity, 'r', 's'] : []).map((name) => read(transaction, name, 'quantity')),
  ]
  return number === 0 ? list : concatBytes(Uint8Array.of(number), encodeRlp(list))
}

/** The RLP items of fields from their JSON. Throws {@link BlockJsonError}. */
const encoding: Conversion<unknown, RlpItem> = {
  leaf: leafItem,
  items: toArray,
  members: (value, names, name) => {
    const object = toRecord(value, name)
    return names.map((member) => object[member])
  },
  list: (items) => items,
  object: (members) => members,
}

function leafItem(value: unknown, form: LeafForm, name: string): Uint8Array {
  const mayBeAbsent = form === 'recipient' || form === 'optionalInteger'
  if (mayBeAbsent && isAbsent(value)) return noBytes
  if (form === 'flag') return toMinimalBytes(value === true ? 1 : 0)
  const bytes = toBytes(value, name)
  return isQuantityForm(form) ? trimLeft(bytes) : bytes
}

/** A member of a transaction: under the field's name, or under another one that its type allows. */
function memberOf(transaction: Json, name: string, { aliases }: TransactionType): unknown {
  const alias = aliases[name]
  return isAbsent(transaction[name]) && alias !== undefined ? transaction[alias] : transaction[name]
}

export function withdrawalItem(json: unknown): RlpItem {
  const withdrawal = toRecord(json, 'withdrawal')
  return [
    read(withdrawal, 'index', 'quantity'),
    read(withdrawal, 'validatorIndex', 'quantity'),
    read(withdrawal, 'address', 'data'),
    read(withdrawal, 'amount', 'quantity'),
  ]
}

function read(json: Json, name: string, form: Form): Uint8Array {
  const bytes = toBytes(json[name], name)
  return form === 'data' ? bytes : trimLeft(bytes)
}

function toBytes(value: unknown, name: string): Uint8Array {
  const digits = typeof value === 'string' && value.startsWith('0x') ? value.slice(2) : undefined
  const bytes =
    digits === undefined ? undefined : digitsToBytes(digits.length % 2 === 0 ? digits : `0${digits}`)
  if (bytes === undefined) throw new BlockJsonError(`${name} is ${excerpt(textOf(value), 40)}`)
  return bytes
}

function toRecord(value: unknown, what: string): Json {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new BlockJsonError(`${what} is no object`)
  }
  return value as Json
}

function toArray(value: unknown, name: string): readonly unknown[] {
  if (!Array.isArray(value)) throw new BlockJsonError(`${name} is no list`)
  return value
}
