import { type Hash32, mapKey } from '../primitives/bytes.js'
import { NotHeldError } from '../primitives/notHeld.js'
import {
  encodeRlpListOfEncoded,
  type RlpSpan,
  rlpLength,
  rlpListSpans,
  rlpSpanAt,
} from '../primitives/rlp.js'
import type { ChainRows } from '../store/chainRows.js'
import { decodeHeader, type Header } from './header.js'

import type { TransactionPosition } from './transactionJson.js'

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
  /** Where the headers of uncles stand in the body. */
  readonly uncles: readonly RlpSpan[]
  /** Where the list of withdrawals stands in the body; undefined before Shanghai. */
  readonly withdrawals: RlpSpan | undefined
  /** RLP size of the whole block. */
  readonly size: number
}

/** Reads a block; undefined where it is not known. Throws NotHeldError where only a part of it is held. */
export function readBlockRows(store: ChainRows, hash: Hash32): BlockRows | undefined {
  const headerRlp = store.readHeader(hash)
  if (headerRlp === undefined) return undefined
  const body = store.readBody(hash)
  const senders = store.readSenders(hash)
  if (body === undefined || senders === undefined) throw new NotHeldError({ kind: 'body', hash })
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
    uncles: rlpListSpans(body, uncles),
    withdrawals,
    size: rlpLength(headerRlp.length + bodySpan.end - bodySpan.payload),
  }
}

/**
 * What is kept of the blocks read last: whoever walks over the transactions of a block asks for each of them, and a
 * page shows a block with its receipts. As much as the largest block that Osaka allows (10 MiB) takes, and some
 * hundred ordinary ones.
 */
const keptBytesMax = 16 * 2 ** 20

/** The span of a transaction as V8 keeps it, and all that a block without any has. */
const spanBytes = 64
const emptyBytes = 2_000

/** The rows of blocks, read from the store and kept for a while. Keys name content, so nothing here becomes wrong. */
export class BlockRowsReader {
  readonly #store: ChainRows
  /** By hash; least recently used first. */
  readonly #kept = new Map<string, BlockRows>()
  #keptBytes = 0

  constructor(store: ChainRows) {
    this.#store = store
  }

  /** As {@link readBlockRows}. */
  read(hash: Hash32): BlockRows | undefined {
    const key = mapKey(hash)
    const known = this.#kept.get(key)
    const rows = known ?? readBlockRows(this.#store, hash)
    if (rows === undefined) return undefined
    this.#kept.delete(key)
    this.#kept.set(key, rows)
    if (known === undefined) this.#makeRoom(bytesOf(rows))
    return rows
  }

  #makeRoom(bytes: number): void {
    this.#keptBytes += bytes
    for (const [key, rows] of this.#kept) {
      if (this.#keptBytes <= keptBytesMax) return
      this.#kept.delete(key)
      this.#keptBytes -= bytesOf(rows)
    }
  }
}

function bytesOf({ body, senders, transactions }: BlockRows): number {
  return emptyBytes + body.length + senders.length + transactions.length * spanBytes
}

/** A block's RLP: the list of its header and of what its body lists. */
export function blockRlp(header: Uint8Array, body: Uint8Array): Uint8Array {
  const { payload, end } = rlpSpanAt(body, 0)
  return encodeRlpListOfEncoded([header, body.subarray(payload, end)])
}

/** A transaction as it is hashed: an RLP list, or a type byte and an RLP list (EIP-2718). */
export function rawTransaction({ body, transactions }: BlockRows, index: number): Uint8Array | undefined {
  const span = transactions[index]
  return span && body.subarray(span.isList ? span.start : span.payload, span.end)
}

/** Where transaction `index` of a block stands. */
export function transactionPosition(rows: BlockRows, index: number): TransactionPosition {
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
