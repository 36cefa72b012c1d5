import type { Hash32 } from '../primitives/bytes.js'
import { keccak256 } from '../primitives/keccak.js'
import {
  decodeRlpList,
  encodeRlp,
  type RlpItem,
  type RlpSpan,
  rlpLength,
  rlpList,
  rlpListSpans,
  rlpSpanAt,
} from '../primitives/rlp.js'
import type { ChainReader } from '../store/chainReader.js'
import { decodeHeader, type Header } from './header.js'
import type { TransactionPlace } from './transactionJson.js'

/** A block as the store holds it, taken apart as far as its JSON needs. */
export interface BlockRows {
  readonly hash: Hash32
  readonly header: Header
  /** The header's; a number where it fits into one. */
  readonly baseFeePerGas: number | bigint | undefined
  /** RLP list of transactions, uncles and, since Shanghai, withdrawals. */
  readonly body: Uint8Array
  /** Where transactions stand in the body: lists (legacy), or byte strings of type byte and list (EIP-2718). */
  readonly transactions: readonly RlpSpan[]
  /** Sender (20 bytes) ‖ hash (32 bytes) of each transaction. */
  readonly senders: Uint8Array
  readonly uncleHashes: readonly Hash32[]
  /** Undefined before Shanghai. */
  readonly withdrawals: readonly RlpItem[] | undefined
  /** RLP size of the whole block. */
  readonly size: number
}

/** Reads a block; undefined where it is not known. Throws where the store holds only a part of it. */
export function readBlockRows(store: ChainReader, hash: Hash32): BlockRows | undefined {
  const headerRlp = store.readHeader(hash)
  if (headerRlp === undefined) return undefined
  const body = store.readBody(hash)
  const senders = store.readSenders(hash)
  if (body === undefined || senders === undefined) throw new Error('a block without body or senders')
  const bodySpan = rlpSpanAt(body, 0)
  const [transactions, uncles, withdrawals] = rlpListSpans(body, bodySpan) as [
    RlpSpan,
    RlpSpan,
    RlpSpan | undefined,
  ]
  const header = decodeHeader(headerRlp)
  const { baseFeePerGas } = header
  const isSmall = baseFeePerGas !== undefined && baseFeePerGas < 2 ** 48
  return {
    hash,
    header,
    baseFeePerGas: isSmall ? Number(baseFeePerGas) : baseFeePerGas,
    body,
    transactions: rlpListSpans(body, transactions),
    senders,
    uncleHashes: rlpListSpans(body, uncles).map(({ start, end }) => keccak256(body.subarray(start, end))),
    withdrawals: withdrawals && decodeRlpList(body.subarray(withdrawals.start, withdrawals.end)),
    size: rlpLength(headerRlp.length + bodySpan.end - bodySpan.payload),
  }
}

/** RLP of uncle `index` of a block; undefined for an unknown block or an index beyond its last. Throws as above. */
export function readUncleRlp(store: ChainReader, hash: Hash32, index: number): Uint8Array | undefined {
  const body = store.readBody(hash)
  if (body === undefined && store.hasHeader(hash)) throw new Error('a block without body')
  const uncle = body && rlpList(decodeRlpList(body)[1])[index]
  return uncle && encodeRlp(uncle)
}

/** Where transaction `index` of a block stands. */
export function transactionPlace(rows: BlockRows, index: number): TransactionPlace {
  const { hash, header, baseFeePerGas, senders } = rows
  return {
    blockHash: hash,
    blockNumber: header.number,
    timestamp: header.timestamp,
    baseFeePerGas,
    index,
    senders,
  }
}
