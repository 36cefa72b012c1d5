/**
 * Blocks and receipts of chains of other families, from their JSON. Each part is encoded as its family hashes it, and
 * compared with its root. A part of an unknown form is no lie but unproved. The JSON is stored, because no root covers
 * some of its members; members that a root covers, or that follow from others, are computed here.
 */

import { headerRlpFromJson, transactionFromJson, withdrawalItem } from '../../../data/chain/blockFromJson.js'
import type { ChainFamily, NetworkPart } from '../../../data/chain/families/family.js'
import { decodeHeader, fieldsMin, type Header, headerFields, headerHash } from '../../../data/chain/header.js'
import { indexedRoot } from '../../../data/state/trie.js'
import type { ReportedJson } from '../../../data/store/chainRows.js'
import type { BlockContent, FetchedReceipts } from '../../../data/store/gatewayWriter.js'
import { RecoveredKeys, transactionHash } from '../../../execution/evm/transactions/recoveredKeys.js'
import { readSignedTransaction } from '../../../execution/evm/transactions/signedTransaction.js'
import { creationAddress } from '../../../primitives/addresses.js'
import {
  bytesOfHex,
  bytesToHex,
  concatBytes,
  equalBytes,
  type Hash32,
  joinBytes,
  toHash32,
  toQuantity,
  writeUint64,
} from '../../../primitives/bytes.js'
import { textOf } from '../../../primitives/jsonType.js'
import { emptyUnclesHash, hashRlp, keccak256 } from '../../../primitives/keccak.js'
import { encodeRlp, type RlpItem } from '../../../primitives/rlp.js'
import { type TransactionType, transactionTypes } from '../../../primitives/transactionTypes.js'
import { LieError, MalformedError, NotProvedError } from '../nodes/lie.js'
import { bytesOf, quantityOf, receiptRlp } from '../nodes/receiptsFromJson.js'

type Json = Readonly<Record<string, unknown>>

export interface FamilyBlock {
  readonly hash: Hash32
  readonly header: Header
  /** RLP of a header with Ethereum's fields alone if the family has others. */
  readonly headerRlp: Uint8Array
  readonly bodyRlp: Uint8Array
  readonly senders: Uint8Array
  readonly reported: ReportedJson
}

interface ReadOptions {
  readonly family: ChainFamily
  readonly chainId: bigint
  /** The bytes of a transaction whose JSON does not show them; undefined if the node does not return them. */
  readonly rawOf: (hash: string, index: number) => Promise<Uint8Array | undefined>
}

/** The known parts of a transaction. */
interface Read {
  /** Undefined if its bytes are unknown. */
  readonly item: RlpItem | undefined
  readonly hash: Uint8Array
  readonly sender: Uint8Array
  /** Whether the bytes of the transaction prove hash and sender. */
  readonly isCovered: boolean
  /** Whether no root of its block covers it, by the rules of its family. */
  readonly isUnrooted?: boolean
}

/** Contains no senders, so it recovers each. */
const keys = new RecoveredKeys()
/** Header fields for absent members. */
const noHeader: Json = {
  sha3Uncles: bytesToHex(emptyUnclesHash),
  miner: `0x${'00'.repeat(20)}`,
  extraData: '0x',
  logsBloom: `0x${'ff'.repeat(256)}`,
  mixHash: `0x${'00'.repeat(32)}`,
  nonce: `0x${'00'.repeat(8)}`,
  difficulty: '0x0',
  gasLimit: '0x0',
  gasUsed: '0x0',
  ...Object.fromEntries(
    ['stateRoot', 'transactionsRoot', 'receiptsRoot'].map((name) => [name, `0x${'00'.repeat(32)}`]),
  ),
}
const baseFeeField = 'baseFeePerGas'

/** Whether a mismatch makes a part unproved instead of a lie. */
function mayBeReported({ parts, reportable }: ChainFamily, part: NetworkPart): boolean {
  return parts[part] === 'reported' || reportable.includes(part)
}

/** Throws {@link LieError} for a part that its family always proves. */
function requireReported(family: ChainFamily, part: NetworkPart, what: string): void {
  if (!mayBeReported(family, part)) throw new LieError(what)
}

/** A header with its own RLP; if nothing proves it, under its reported hash. Throws {@link LieError}. */
export function readFamilyHeader(
  json: unknown,
  family: ChainFamily,
): {
  readonly hash: Hash32
  readonly header: Header
  readonly headerRlp: Uint8Array
  readonly isProved: boolean
} {
  const block = recordOf(json, 'a block')
  const claimed = bytesOfHex(block.hash, 32)
  if (claimed === undefined) throw new MalformedError('a block without its hash')
  const hash = toHash32(claimed)
  const own = family.parts.headers === 'reported' ? undefined : ownHeaderRlp(block, family)
  const isProved = own !== undefined && equalBytes(headerHash(own), hash)
  if (own !== undefined && !isProved) {
    const what = `block ${textOf(block.hash)} with the hash ${bytesToHex(headerHash(own))}`
    requireReported(family, 'headers', what)
  }
  const isOwn = isProved && family.proofs.headerFields === undefined
  const headerRlp = isOwn ? (own as Uint8Array) : ethereumHeader(block, family, isProved)
  return { hash, header: decodeHeader(headerRlp), headerRlp, isProved }
}

/** Undefined if required members are absent and the family may leave headers unproved; otherwise throws. */
function ownHeaderRlp(block: Json, family: ChainFamily): Uint8Array | undefined {
  try {
    return headerRlpFromJson(block, family.proofs.headerFields)
  } catch (error) {
    if (mayBeReported(family, 'headers')) return undefined
    throw error
  }
}

/**
 * The fields that Ethereum's headers had before the Merge, which all of these chains have. Roots of other blocks are
 * left out. A bloom that may lack logs of the block has all bits set.
 */
function ethereumHeader(
  block: Json,
  { proofs: { settlingField } }: ChainFamily,
  isProved: boolean,
): Uint8Array {
  const isSettling = settlingField !== undefined && (block[settlingField] ?? undefined) !== undefined
  const left = new Set([
    ...(isSettling ? ['stateRoot', 'receiptsRoot'] : []),
    ...(isSettling || !isProved ? ['logsBloom'] : []),
  ])
  const names = [...headerFields.slice(0, fieldsMin), baseFeeField].filter((name) => !left.has(name))
  const given = names.filter((name) => block[name] !== undefined && block[name] !== null)
  return headerRlpFromJson({ ...noHeader, ...Object.fromEntries(given.map((name) => [name, block[name]])) })
}

/**
 * Reads a block with full transactions. Throws {@link LieError} for a contradiction, {@link MalformedError} or
 * BlockJsonError for another form, and {@link NotProvedError} for transactions of an unknown type.
 */
export async function readFamilyBlock(json: unknown, options: ReadOptions): Promise<FamilyBlock> {
  const { family } = options
  const block = recordOf(json, 'a block')
  const { hash, header, headerRlp, isProved } = readFamilyHeader(json, family)
  const name = `block ${header.number}`
  const list = listOf(block.transactions, 'transactions').map((each) => recordOf(each, 'a transaction'))
  const read = await Promise.all(
    list.map((each, index) => readTransaction(each, options, { hash, header, index, count: list.length })),
  )
  let isCovered = isProved && read.every((each) => each.isCovered && each.isUnrooted !== true)
  const rooted = read.filter(({ isUnrooted }) => isUnrooted !== true)
  const bytes = rooted.flatMap(({ item }) => (item === undefined ? [] : [bytesOfItem(item)]))
  const hasAll = bytes.length === rooted.length
  const isRight = hasAll && equalBytes(indexedRoot(bytes), header.transactionsRoot)
  if (!isRight && isProved) {
    // A changed type becomes an unknown one: if the chain has rules, the bytes must prove the type.
    if (!hasAll && family.parts.bodies === 'executed')
      throw new NotProvedError(`${name} has a transaction of an unknown type, whose bytes no node reports`)
    if (hasAll) requireReported(family, 'bodies', `${name}, whose body has another transactions root`)
  }
  const uncles = listOf(block.uncles ?? [], 'uncles')
  if (isProved && (uncles.length > 0 || !equalBytes(header.unclesHash, emptyUnclesHash)))
    requireReported(family, 'bodies', `${name}, which has uncles`)
  if (isProved) checkHashedMembers(block, family, name)
  const withdrawals = header.withdrawalsRoot && readWithdrawals(block, header, family)
  isCovered &&= isRight && uncles.length === 0
  const items = read.map(({ item }, index) => item ?? Uint8Array.of(typeOf(list[index] as Json)))
  const transactions = list.map((each, index) => {
    const { hash: own, sender } = read[index] as Read
    return { ...each, ...positionOf(hash, header, index), hash: bytesToHex(own), from: bytesToHex(sender) }
  })
  return {
    hash,
    header,
    headerRlp,
    bodyRlp: encodeRlp([items, [], ...(withdrawals === undefined ? [] : [withdrawals])]),
    senders: joinBytes(read.flatMap((each) => [each.sender, each.hash])),
    reported: reportedOf({ ...block, hash: bytesToHex(hash), transactions }, isCovered),
  }
}

function checkHashedMembers(block: Json, family: ChainFamily, name: string): void {
  for (const [member, field] of Object.entries(family.proofs.hashedMembers ?? {})) {
    const value = block[member] ?? undefined
    const wanted = bytesOf(block[field])
    if (value === undefined || wanted.every((byte) => byte === 0)) continue
    if (!equalBytes(hashRlp(bytesOf(value)), wanted))
      requireReported(family, 'bodies', `${name}, whose ${member} has another hash`)
  }
}

function readWithdrawals(block: Json, header: Header, family: ChainFamily): RlpItem[] {
  const items = listOf(block.withdrawals ?? [], 'withdrawals').map(withdrawalItem)
  if (family.parts.withdrawals === 'reported') return items
  const root = indexedRoot(items.map((item) => encodeRlp(item)))
  if (!equalBytes(root, header.withdrawalsRoot as Hash32))
    requireReported(family, 'withdrawals', `block ${header.number}, whose body has another withdrawals root`)
  return items
}

/** The position of a transaction. */
interface Place {
  readonly hash: Hash32
  readonly header: Header
  readonly index: number
  /** Number of transactions in its block. */
  readonly count: number
}

async function readTransaction(
  json: Json,
  { family, chainId, rawOf }: ReadOptions,
  { hash: blockHash, header, index, count }: Place,
): Promise<Read> {
  const number = typeOf(json)
  const claimed = bytesOfHex(json.hash, 32)
  const sender = bytesOfHex(json.from, 20)
  if (claimed === undefined || sender === undefined)
    throw new MalformedError('a transaction without hash or sender')
  const claims = { hash: claimed, sender, isCovered: false }
  if (index === count - 1 && isUnrooted(family, claimed, header.number, blockHash))
    return { ...claims, item: undefined, isUnrooted: true }
  const type = family.transactionTypes.get(number)
  if (type !== undefined) {
    const item = transactionFromJson(json, family.transactionTypes)
    return { ...claims, item, ...readSender(json, item, type, chainId) }
  }
  const raw = await rawOf(bytesToHex(claimed), index)
  if (raw === undefined || raw[0] !== number) return { ...claims, item: undefined }
  return { ...claims, item: raw, isCovered: equalBytes(keccak256(raw), claimed) }
}

/** Hash and sender, if the bytes of a transaction prove them. */
function readSender(json: Json, item: RlpItem, type: TransactionType, chainId: bigint): Partial<Read> {
  if (transactionTypes.get(type.number) === type) {
    try {
      const { hash, sender } = readSignedTransaction(item, 'osaka', chainId, keys)
      return { hash, sender, isCovered: true }
    } catch {
      // The root shows whether these are the transaction's bytes; the sender is unproved.
      return {}
    }
  }
  const hash = transactionHash(item)
  const sender = type.isSigned ? keys.senderOf(item, hash) : bytesOfHex(type.sender ?? json.from, 20)
  return sender === undefined ? { hash } : { hash, sender, isCovered: true }
}

/** Whether a transaction is the one that its family adds to blocks without a root. */
function isUnrooted(
  { proofs: { unrootedPrefix } }: ChainFamily,
  hash: Uint8Array,
  number: number,
  blockHash: Hash32,
): boolean {
  if (unrootedPrefix === undefined) return false
  const digits = new Uint8Array(8)
  writeUint64(digits, number, 0)
  return equalBytes(keccak256(concatBytes(Buffer.from(unrootedPrefix), digits, blockHash)), hash)
}

/** The context of receipts: their block, and its transactions as computed here. */
export type ReceiptsOf = Pick<FamilyBlock, 'hash' | 'header' | 'reported'>

/** Reads the receipts of a block. Throws {@link LieError} for invalid data. */
export function readFamilyReceipts(
  answer: unknown,
  { hash, header, reported }: ReceiptsOf,
  family: ChainFamily,
): FetchedReceipts {
  const { transactions } = JSON.parse(Buffer.from(reported.json).toString()) as {
    readonly transactions: readonly Json[]
  }
  const list = listOf(answer, 'receipts').map((each) => recordOf(each, 'a receipt'))
  if (list.length !== transactions.length)
    throw new MalformedError(
      `${list.length} receipts of ${transactions.length} transactions of block ${header.number}`,
    )
  const last = transactions.at(-1)
  const lastHash = last && bytesOfHex(last.hash, 32)
  const hasUnrooted = lastHash !== undefined && isUnrooted(family, lastHash, header.number, hash)
  const encoded = list.map((receipt) => {
    return receiptRlp(receipt, family.transactionTypes)
  })
  const rooted = hasUnrooted ? encoded.slice(0, -1) : encoded
  const isRight = equalBytes(indexedRoot(rooted), header.receiptsRoot)
  if (!isRight)
    requireReported(
      family,
      'receipts',
      `receipts of block ${header.number} that have another root than its header`,
    )
  const isCovered = reported.evidence === 'proved' && isRight && !hasUnrooted
  return {
    row: encodeRlp(encoded),
    reported: reportedOf(receiptsAnew(list, transactions, hash, header), isCovered),
  }
}

/** Receipts with the members that follow from their block and from each other. */
function receiptsAnew(
  list: readonly Json[],
  transactions: readonly Json[],
  hash: Hash32,
  header: Header,
): readonly Json[] {
  let before = 0n
  let logIndex = 0
  return list.map((receipt, index) => {
    const transaction = transactions[index] as Json
    const position = positionOf(hash, header, index)
    const transactionHash = transaction.hash
    const total = quantityOf(receipt.cumulativeGasUsed)
    const gasUsed = toQuantity(total > before ? total - before : 0n)
    if (total > before) before = total
    const logs = listOf(receipt.logs, 'logs').map((log) => {
      const members = { ...position, transactionHash, logIndex: toQuantity(logIndex++), removed: false }
      return { ...recordOf(log, 'a log'), ...members }
    })
    const { from, to = null } = transaction
    const created =
      to === null && typeof from === 'string' && transactionTypes.has(typeOf(transaction))
        ? {
            contractAddress: bytesToHex(creationAddress(bytesOf(from), quantityOf(transaction.nonce))),
          }
        : {}
    return { ...receipt, ...position, transactionHash, from, to, gasUsed, logs, ...created }
  })
}

function positionOf(hash: Hash32, { number }: Header, index: number) {
  const transactionIndex = toQuantity(index)
  return { blockHash: bytesToHex(hash), blockNumber: toQuantity(number), transactionIndex }
}

function reportedOf(json: unknown, isCovered: boolean): ReportedJson {
  return { evidence: isCovered ? 'proved' : 'none', json: Buffer.from(JSON.stringify(json)) }
}

/** The parts of a block that are stored beside its header. */
export function contentOf({
  bodyRlp,
  senders,
  reported,
}: Pick<FamilyBlock, 'bodyRlp' | 'senders'> & {
  readonly reported?: ReportedJson | undefined
}): BlockContent {
  return { body: bodyRlp, senders, reported }
}

function bytesOfItem(item: RlpItem): Uint8Array {
  return item instanceof Uint8Array ? item : encodeRlp(item)
}

function typeOf({ type }: Json): number {
  return type === undefined || type === null ? 0 : Number(quantityOf(type))
}

function recordOf(value: unknown, what: string): Json {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Json
  throw new MalformedError(`${what} that is no object`)
}

function listOf(value: unknown, what: string): readonly unknown[] {
  if (Array.isArray(value)) return value
  throw new MalformedError(`${what} that are no list`)
}
