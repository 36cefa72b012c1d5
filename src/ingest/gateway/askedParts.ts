/** Questions about parts of blocks, in the forms that nodes have them: raw bytes where they can, JSON otherwise. */
import {
  type BlockAccessList,
  BlockAccessListError,
  decodeBlockAccessList,
} from '../../chain/blockAccessList.js'
import { blockRlpFromJson, headerRlpFromJson, uncleHashesOf } from '../../chain/blockFromJson.js'
import { decodeHeader, type Header, headerHash } from '../../chain/header.js'
import { bytesToHex, equalBytes, type Hash32, toQuantity } from '../../primitives/bytes.js'
import { excerpt, textOf } from '../../primitives/excerpt.js'
import { emptyTrieRoot, keccak256 } from '../../primitives/keccak.js'
import type { CanonicalHeader } from '../../store/gatewayWriter.js'
import { type Block, parseBlock } from '../block.js'
import { accessListFromJson } from './accessListFromJson.js'
import { LieError } from './lie.js'
import type { Attempt } from './proving.js'
import { bytesOf, receiptsFromJson, receiptsFromRaw } from './receiptsFromJson.js'

/** Methods that tell a block's access list, the shorter answer first. */
export const accessListMethods: readonly string[] = ['debug_getRawBlockAccessList', 'eth_getBlockAccessList']

export const witnessMethods: readonly string[] = ['debug_executionWitness']

export async function askBlock(hash: Hash32, attempt: Attempt): Promise<Block | undefined> {
  const raw = await attempt.askRaw('debug_getRawBlock', hash)
  if (raw !== undefined) return parseBlock(bytesOf(raw))
  const text = bytesToHex(hash)
  const json = await attempt.ask('eth_getBlockByHash', [text, true])
  if (json === null) return undefined
  const uncles = await Promise.all(
    uncleHashesOf(json).map((_, index) =>
      attempt.ask('eth_getUncleByBlockHashAndIndex', [text, toQuantity(index)]),
    ),
  )
  if (uncles.includes(null)) return undefined
  return parseBlock(blockRlpFromJson(json, uncles.map(headerRlpFromJson)))
}

/** A row of the store. `header` resolves to that of the block, undefined where nobody has it. */
export async function askReceipts(
  hash: Hash32,
  attempt: Attempt,
  header: Header | Promise<Header | undefined>,
): Promise<Uint8Array | undefined> {
  const raw = await attempt.askRaw('debug_getRawReceipts', hash)
  // go-ethereum answers so of a block that it does not have, too: where there should be some, the JSON method tells.
  const isNone = Array.isArray(raw) && raw.length === 0
  const isUnclear = isNone && !equalBytes((await header)?.receiptsRoot ?? hash, emptyTrieRoot)
  if (raw !== undefined && !isUnclear) return receiptsFromRaw(raw)
  const json = await attempt.ask('eth_getBlockReceipts', [bytesToHex(hash)])
  return json === null ? undefined : receiptsFromJson(json)
}

export async function askHeaderAt(number: number, attempt: Attempt): Promise<CanonicalHeader | undefined> {
  const raw = await attempt.askRaw('debug_getRawHeader', number)
  if (raw !== undefined) return readCanonical(bytesOf(raw), number)
  const json = await attempt.ask('eth_getBlockByNumber', [toQuantity(number), false])
  if (json === null) return undefined
  const found = readCanonical(headerRlpFromJson(json), number)
  const hash = textOf((json as { readonly hash?: unknown }).hash)
  if (hash.toLowerCase() === bytesToHex(found.hash)) return found
  throw new LieError(`block ${number} with the hash ${bytesToHex(found.hash)}, called ${excerpt(hash, 80)}`)
}

/** RLP of a block's access list, unchecked. */
export async function askAccessList(hash: Hash32, attempt: Attempt): Promise<Uint8Array | undefined> {
  const { method, result } = await attempt.askOneOf(accessListMethods, [bytesToHex(hash)])
  if (result === null) return undefined
  return method === 'eth_getBlockAccessList' ? accessListFromJson(result) : bytesOf(result)
}

/** Checks a block access list by its hash in the header, and then its order and limits (EIP-7928). Throws {@link LieError}. */
export function checkAccessList(rlp: Uint8Array, header: Header, transactionCount: number): BlockAccessList {
  const what = `the access list of block ${header.number}`
  const hash = keccak256(rlp)
  const { blockAccessListHash: want, gasLimit } = header
  if (want === undefined || !equalBytes(hash, want)) {
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

/** A header that is to be canonical. Throws {@link LieError} where it has another number. */
function readCanonical(rlp: Uint8Array, number: number): CanonicalHeader {
  const header = decodeHeader(rlp)
  if (header.number !== number) throw new LieError(`block ${header.number} instead of ${number}`)
  return { number, hash: headerHash(rlp), header: rlp, totalDifficulty: undefined }
}
