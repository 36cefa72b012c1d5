/** Requests for parts of blocks, in the methods that nodes support: raw bytes if possible, JSON otherwise. */
import {
  type BlockAccessList,
  BlockAccessListError,
  decodeBlockAccessList,
} from '../../../data/chain/blockAccessList.js'
import {
  absentField,
  absentMember,
  blockRlpFromJson,
  headerRlpFromJson,
  uncleHashesOf,
} from '../../../data/chain/blockFromJson.js'
import type { ForkSchedule } from '../../../data/chain/forks.js'
import { decodeHeader, type Header, headerHash } from '../../../data/chain/header.js'
import type { CanonicalHeader } from '../../../data/store/gatewayWriter.js'
import { bytesOfHex, bytesToHex, equalBytes, type Hash32, toQuantity } from '../../../primitives/bytes.js'
import { InvalidBlockError } from '../../../primitives/faults.js'
import { excerpt, textOf } from '../../../primitives/jsonType.js'
import { emptyTrieRoot, keccak256 } from '../../../primitives/keccak.js'
import { decodeRlpList, rlpList } from '../../../primitives/rlp.js'
import type { TransactionTypes } from '../../../primitives/transactionTypes.js'
import { type Block, parseBlock } from '../blocks/block.js'
import { accessListFromJson } from './accessListFromJson.js'
import { LieError, MalformedError } from './lie.js'
import type { Attempt, Question } from './proving.js'
import { bytesOf, receiptsFromJson, receiptsFromRaw } from './receiptsFromJson.js'

/** Methods for a block's access list, the one with the shorter answer first. */
export const accessListMethods: readonly string[] = ['debug_getRawBlockAccessList', 'eth_getBlockAccessList']

export const witnessMethods: readonly string[] = ['debug_executionWitness']

/** The request for a block by its hash or its number. */
export function blockQuestion(id: Hash32 | number, isFull: boolean): Question {
  return typeof id === 'number'
    ? { method: 'eth_getBlockByNumber', params: [toQuantity(id), isFull] }
    : { method: 'eth_getBlockByHash', params: [bytesToHex(id), isFull] }
}

/** RLP of a block by its hash or number, unchecked; undefined if the node does not have all of it. */
export async function askBlockRlp(
  id: Hash32 | number,
  attempt: Attempt,
  schedule: ForkSchedule,
): Promise<Uint8Array | undefined> {
  const json = blockQuestion(id, true)
  const raw: Question = { method: 'debug_getRawBlock', params: json.params.slice(0, 1) }
  const { method, result } = await attempt.askOneOf([raw, json])
  if (result === null) return undefined
  if (method === raw.method) return bytesOf(result)
  const hashes = uncleHashesOf(result)
  // With a false hash a node finds no uncles, as if it lacked the block.
  const { hash } = result as { readonly hash?: unknown }
  const reported = bytesOfHex(hash, 32)
  const isNamed = reported !== undefined && (typeof id === 'number' || equalBytes(reported, id))
  if (hashes.length > 0 && !isNamed) throw new MalformedError('a block without its hash')
  const uncles = await Promise.all(
    hashes.map((_, index) => attempt.ask('eth_getUncleByBlockHashAndIndex', [hash, toQuantity(index)])),
  )
  if (uncles.includes(null)) return undefined
  const headers = uncles.map((uncle) => headerRlpFromJson(uncle))
  const types = schedule.family.transactionTypes
  const rlp = blockRlpFromJson(result, headers, types)
  const absent = absentMember(result, schedule, types)
  if (absent !== undefined) attempt.noteAbsent(absent)
  return rlp
}

/** The bytes of a typed transaction, unchecked; undefined if the node does not provide them. */
export async function askRawTransaction(
  blockHash: Hash32,
  hash: string,
  index: number,
  attempt: Attempt,
): Promise<Uint8Array | undefined> {
  const { method, result } = await attempt.askOneOf([
    { method: 'eth_getRawTransactionByHash', params: [hash] },
    { method: 'debug_getRawBlock', params: [bytesToHex(blockHash)] },
    { method: 'eth_getTransactionByHash', params: [hash] },
  ])
  if (method === 'eth_getTransactionByHash') return undefined
  if (method === 'eth_getRawTransactionByHash') return bytesOf(result)
  const item = rlpList(decodeRlpList(bytesOf(result))[1])[index]
  return item instanceof Uint8Array ? item : undefined
}

/**
 * The receipts of a block as a row of the store. `header` resolves to the header of the block, undefined if no node has
 * it.
 */
export async function askReceipts(
  hash: Hash32,
  attempt: Attempt,
  header: Header | Promise<Header | undefined>,
  types: TransactionTypes,
): Promise<Uint8Array | undefined> {
  const text = bytesToHex(hash)
  const params = [text]
  // go-ethereum also returns an empty list of raw receipts for a block that it lacks. If the header has receipts, JSON
  // decides.
  const isNone = async (result: unknown) =>
    result === null ||
    (Array.isArray(result) &&
      result.length === 0 &&
      !equalBytes((await header)?.receiptsRoot ?? hash, emptyTrieRoot))
  const { method, result } = await attempt.askOneOf([
    { method: 'debug_getRawReceipts', params, isNone },
    ...receiptQuestions(text),
  ])
  if (method === 'debug_getRawReceipts') return receiptsFromRaw(result)
  const receipts = await jsonReceipts(method, result, attempt)
  if (receipts === undefined || (await isNone(receipts))) return undefined
  const row = receiptsFromJson(receipts, types)
  // Old nodes omit the type of legacy transactions.
  if ((receipts as readonly { readonly type?: unknown }[]).some(({ type }) => (type ?? null) === null))
    attempt.noteAbsent('type')
  return row
}

/** The receipts of a block as JSON. */
export async function askReceiptsJson(hash: Hash32, attempt: Attempt): Promise<unknown> {
  const { method, result } = await attempt.askOneOf(receiptQuestions(bytesToHex(hash)))
  return jsonReceipts(method, result, attempt)
}

const receiptQuestions = (hash: string) => [
  { method: 'eth_getBlockReceipts', params: [hash], isPatient: true },
  // Hosted nodes often provide receipts only one by one.
  { method: 'eth_getBlockByHash', params: [hash, false] },
]

/** Undefined if the node has none. */
async function jsonReceipts(method: string, result: unknown, attempt: Attempt): Promise<unknown> {
  if (result === null) return undefined
  if (method === 'eth_getBlockReceipts') return result
  const { transactions } = result as { readonly transactions?: unknown }
  if (!Array.isArray(transactions)) throw new MalformedError('a block without its transactions')
  const receipts = await Promise.all(
    transactions.map((each) => attempt.ask('eth_getTransactionReceipt', [each])),
  )
  return receipts.includes(null) ? undefined : receipts
}

export async function askHeaderAt(
  number: number,
  attempt: Attempt,
  schedule: ForkSchedule,
): Promise<CanonicalHeader | undefined> {
  const quantity = toQuantity(number)
  const { method, result } = await attempt.askOneOf([
    { method: 'debug_getRawHeader', params: [quantity] },
    { method: 'eth_getBlockByNumber', params: [quantity, false] },
  ])
  if (result === null) return undefined
  if (method === 'debug_getRawHeader') return readCanonical(bytesOf(result), number)
  const found = readCanonical(readHeader(result, attempt, schedule), number)
  const { hash: reported } = result as { readonly hash?: unknown }
  if (bytesOfHex(reported, 32) === undefined) throw new MalformedError('a header without its hash')
  const hash = textOf(reported)
  if (hash.toLowerCase() === bytesToHex(found.hash)) return found
  throw new LieError(`block ${number} with the hash ${bytesToHex(found.hash)}, called ${excerpt(hash, 80)}`)
}

/** RLP of a header's JSON. */
export function readHeader(json: unknown, attempt: Attempt, schedule: ForkSchedule): Uint8Array {
  const rlp = headerRlpFromJson(json)
  const absent = absentField(json, schedule)
  if (absent !== undefined) attempt.noteAbsent(absent)
  return rlp
}

/** A block of a node. Throws {@link MalformedError} for another form. */
export function readBlock(rlp: Uint8Array): Block {
  try {
    return parseBlock(rlp)
  } catch (error) {
    if (error instanceof InvalidBlockError) throw new MalformedError(error.message)
    throw error
  }
}

/** RLP of a block's access list, unchecked. */
export async function askAccessList(hash: Hash32, attempt: Attempt): Promise<Uint8Array | undefined> {
  const params = [bytesToHex(hash)]
  const questions = accessListMethods.map((method) => ({ method, params }))
  const { method, result } = await attempt.askOneOf(questions)
  if (result === null) return undefined
  return method === 'eth_getBlockAccessList' ? accessListFromJson(result) : bytesOf(result)
}

/**
 * Checks a block access list: its hash in the header, then its order and limits (EIP-7928). Throws {@link LieError}, and
 * RlpError for another form.
 */
export function checkAccessList(rlp: Uint8Array, header: Header, transactionCount: number): BlockAccessList {
  const what = `the access list of block ${header.number}`
  const hash = keccak256(rlp)
  const { blockAccessListHash: want, gasLimit } = header
  if (want === undefined || !equalBytes(hash, want)) {
    // An answer that is cut short is no list: throws RlpError.
    decodeRlpList(rlp)
    const text = want === undefined ? 'none' : bytesToHex(want)
    throw new LieError(`${what}, which has the hash ${bytesToHex(hash)}, expected ${text}`)
  }
  try {
    return decodeBlockAccessList(rlp, { transactionCount, gasLimit })
  } catch (error) {
    if (error instanceof BlockAccessListError) throw new LieError(`${what}: ${error.message}`)
    throw error
  }
}

/** A header of the expected number. Throws {@link LieError} if it has another number. */
function readCanonical(rlp: Uint8Array, number: number): CanonicalHeader {
  const header = decodeHeader(rlp)
  if (header.number !== number) throw new LieError(`block ${header.number} instead of ${number}`)
  return { number, hash: headerHash(rlp), header: rlp, totalDifficulty: undefined }
}
