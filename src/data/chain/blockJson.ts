/**
 * Blocks, headers and uncles as JSON, written directly from the RLP of their headers, because decoding a header takes
 * more time than writing it. Members and spelling follow go-ethereum, plus `totalDifficulty`.
 */
import { toMinimalBytes } from '../../primitives/bytes.js'
import {
  ascii,
  type Constant,
  closeBrace,
  closeBracket,
  comma,
  type JsonBytes,
  memberNames,
  openBracket,
} from '../../primitives/jsonBytes.js'
import {
  decodeRlpList,
  encodeRlp,
  findRlpItems,
  type RlpItem,
  rlpBytes,
  rlpLength,
  rlpList,
  rlpPayloadAt,
} from '../../primitives/rlp.js'
import type { BlockDiff } from '../store/blockDiff.js'
import { blockRlp } from './blockRows.js'
import { encodeHeader, type Header, type HeaderField, headerFields, headerIntegers } from './header.js'
import { senderBytes, writePendingTransaction } from './transactionJson.js'

/** Members of a block's object that its header lacks. */
interface BlockIdentity {
  /** Null for a pending block. */
  readonly hash: Uint8Array | null
  /** The total difficulty, big-endian; if undefined, it is unknown, and is written as null. */
  readonly totalDifficulty: Uint8Array | undefined
  readonly size: number
}

const fieldIndex = new Map(headerFields.map((name, index) => [name, index]))
/** Fields that are null for a pending block. */
const nullWhilePending: ReadonlySet<HeaderField> = new Set<HeaderField>(['logsBloom', 'nonce', 'number'])

interface Member {
  /** Index in a header's RLP; -1 for members that a header lacks. */
  readonly index: number
  /** `,"name":` */
  readonly name: Constant
  /** `"name":` */
  readonly firstName: Constant
  readonly kind: 'quantity' | 'hex' | 'bloom' | keyof BlockIdentity
  readonly isNullWhilePending: boolean
}

/**
 * Members in alphabetical order, as in go-ethereum. One loop writes them: loading the code of several loops into the
 * processor's cache takes longer than running it (scenario `block-random`).
 */
const beforeSize = membersOf(
  ...(['baseFeePerGas', 'blobGasUsed', 'blockAccessListHash', 'difficulty', 'excessBlobGas'] as const),
  ...(['extraData', 'gasLimit', 'gasUsed', 'hash', 'logsBloom', 'miner', 'mixHash', 'nonce'] as const),
  ...(['number', 'parentBeaconBlockRoot', 'parentHash', 'receiptsRoot', 'requestsHash'] as const),
  'sha3Uncles',
)
const afterSize = membersOf('slotNumber', 'stateRoot', 'timestamp')
const rootOfTransactions = membersOf('transactionsRoot')
const rootOfWithdrawals = membersOf('withdrawalsRoot')
const beforeTransactions = [
  ...beforeSize,
  ...membersOf('size'),
  ...afterSize,
  ...membersOf('totalDifficulty'),
]
const ofUncle = [...beforeTransactions, ...rootOfTransactions]
const ofHeader = [...beforeSize, ...afterSize, ...rootOfTransactions, ...rootOfWithdrawals]

const names = memberNames('withdrawals', ...(['validatorIndex', 'address', 'amount'] as const))
const nullText = ascii('null')
const unclesStart = ascii(',"uncles":[')
const transactionsStart = ascii(',"transactions":[')
const openBrace = ascii('{')
const withdrawalStart = ascii('{"index":')

function membersOf(...of: readonly (HeaderField | keyof BlockIdentity)[]): readonly Member[] {
  return of.map((field) => ({
    index: fieldIndex.get(field as HeaderField) ?? -1,
    name: ascii(`,"${field}":`),
    firstName: ascii(`"${field}":`),
    kind: kindOf(field),
    isNullWhilePending: nullWhilePending.has(field as HeaderField),
  }))
}

function kindOf(field: HeaderField | keyof BlockIdentity): Member['kind'] {
  if (field === 'hash' || field === 'size' || field === 'totalDifficulty') return field
  return field === 'logsBloom' ? 'bloom' : headerIntegers.has(field) ? 'quantity' : 'hex'
}

/** Offsets of the fields of the header being written, and the end of the last one. */
const starts = new Int32Array(headerFields.length + 1)
let fieldCount = 0

/** Writes the members that the block has; the first member of an object without its comma. */
function writeMembers(
  json: JsonBytes,
  rlp: Uint8Array,
  members: readonly Member[],
  block: BlockIdentity,
  isFirst = false,
): void {
  const isPending = block.hash === null
  let first = isFirst
  for (const { index, name, firstName, kind, isNullWhilePending } of members) {
    if (index >= fieldCount) continue
    json.constant(first ? firstName : name)
    first = false
    if (isPending && isNullWhilePending) json.constant(nullText)
    else if (index < 0) writeOwn(json, kind, block)
    else {
      const start = rlpPayloadAt(rlp, starts[index] as number)
      const end = starts[index + 1] as number
      if (kind === 'hex') json.hex(rlp, start, end)
      else if (kind === 'quantity') json.quantityOf(rlp, start, end)
      else json.sparseHex(rlp, start, end)
    }
  }
}

function writeOwn(
  json: JsonBytes,
  kind: Member['kind'],
  { hash, size, totalDifficulty }: BlockIdentity,
): void {
  if (kind === 'size') json.quantity(size)
  else if (kind === 'hash' && hash !== null) json.hex(hash)
  else if (kind === 'totalDifficulty' && totalDifficulty !== undefined) {
    json.quantityOf(totalDifficulty, 0, totalDifficulty.length)
  } else json.constant(nullText)
}

/** Begins an object with these members of a well-formed header. */
function openObject(
  json: JsonBytes,
  rlp: Uint8Array,
  members: readonly Member[],
  block: BlockIdentity,
): void {
  fieldCount = findRlpItems(rlp, rlpPayloadAt(rlp, 0), rlp.length, starts)
  json.constant(openBrace)
  writeMembers(json, rlp, members, block, true)
}

/** Writes a header object; `hash` is null for the pending block. */
export function writeHeader(json: JsonBytes, rlp: Uint8Array, hash: Uint8Array | null): void {
  openObject(json, rlp, ofHeader, { hash, totalDifficulty: undefined, size: 0 })
  json.constant(closeBrace)
}

/** Writes a block object from its header's RLP up to the items of its transactions: objects, or hashes. */
export function openBlock(json: JsonBytes, rlp: Uint8Array, block: BlockIdentity): void {
  openObject(json, rlp, beforeTransactions, block)
  json.constant(transactionsStart)
}

/** Writes the rest of the block that {@link openBlock} began with the same header and identity. */
export function closeBlock(
  json: JsonBytes,
  rlp: Uint8Array,
  block: BlockIdentity,
  uncleHashes: readonly Uint8Array[],
  withdrawals: readonly RlpItem[] | undefined,
): void {
  json.constant(closeBracket)
  writeMembers(json, rlp, rootOfTransactions, block)
  json.constant(unclesStart)
  for (let at = 0; at < uncleHashes.length; at++) {
    if (at > 0) json.constant(comma)
    json.hex(uncleHashes[at] as Uint8Array)
  }
  json.constant(closeBracket)
  if (withdrawals !== undefined) {
    json.constant(names.withdrawals)
    json.constant(openBracket)
    for (let at = 0; at < withdrawals.length; at++) {
      if (at > 0) json.constant(comma)
      writeWithdrawal(json, withdrawals[at] as RlpItem)
    }
    json.constant(closeBracket)
  }
  writeMembers(json, rlp, rootOfWithdrawals, block)
  json.constant(closeBrace)
}

/**
 * Writes the pending block from its header and its parent's total difficulty: empty, or with the transactions of
 * `waiting`, as objects or hashes.
 */
export function writePendingBlock(
  json: JsonBytes,
  header: Header,
  parentTotal: bigint,
  waiting?: Pick<BlockDiff, 'body' | 'senders'>,
  isFull = false,
): void {
  const rlp = encodeHeader(header)
  const totalDifficulty = toMinimalBytes(parentTotal + header.difficulty)
  const withdrawals = header.withdrawalsRoot === undefined ? undefined : []
  const bare = bareBlockSize(rlp, withdrawals !== undefined)
  const size = waiting === undefined ? bare : blockRlp(rlp, waiting.body).length
  const block = { hash: null, totalDifficulty, size }
  openBlock(json, rlp, block)
  if (waiting !== undefined) writePendingTransactions(json, waiting, isFull)
  closeBlock(json, rlp, block, [], withdrawals)
}

function writePendingTransactions(
  json: JsonBytes,
  { body, senders }: Pick<BlockDiff, 'body' | 'senders'>,
  isFull: boolean,
): void {
  for (const [index, item] of rlpList(decodeRlpList(body)[0]).entries()) {
    if (index > 0) json.constant(comma)
    if (isFull)
      writePendingTransaction(json, item instanceof Uint8Array ? item : encodeRlp(item), senders, index)
    else json.hex(senders, index * senderBytes + 20, (index + 1) * senderBytes)
  }
}

/** Writes an uncle object: a block without transactions and uncles. */
export function writeUncle(
  json: JsonBytes,
  rlp: Uint8Array,
  hash: Uint8Array,
  totalDifficulty: Uint8Array | undefined,
): void {
  const block = { hash, totalDifficulty, size: bareBlockSize(rlp) }
  openObject(json, rlp, ofUncle, block)
  json.constant(unclesStart)
  json.constant(closeBracket)
  writeMembers(json, rlp, rootOfWithdrawals, block)
  json.constant(closeBrace)
}

/** RLP size of a block with this header and an empty body, with or without a list of withdrawals. */
function bareBlockSize(headerRlp: Uint8Array, hasWithdrawals = false): number {
  return rlpLength(headerRlp.length + (hasWithdrawals ? 3 : 2))
}

function writeWithdrawal(json: JsonBytes, item: RlpItem): void {
  const [index, validatorIndex, address, amount] = rlpList(item).map(rlpBytes) as [
    Uint8Array,
    Uint8Array,
    Uint8Array,
    Uint8Array,
  ]
  json.constant(withdrawalStart)
  json.quantityOf(index, 0, index.length)
  json.constant(names.validatorIndex)
  json.quantityOf(validatorIndex, 0, validatorIndex.length)
  json.constant(names.address)
  json.hex(address)
  json.constant(names.amount)
  json.quantityOf(amount, 0, amount.length)
  json.constant(closeBrace)
}
