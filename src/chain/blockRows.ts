import { LRUCache } from 'lru-cache'
import { type Hash32, mapKey } from '../primitives/bytes.js'
import { NotHeldError } from '../primitives/notHeld.js'
import {
  encodeRlpListOfEncoded,
  type RlpSpan,
  rlpEndAt,
  rlpLength,
  rlpListSpans,
  rlpPayloadAt,
  rlpSpanAt,
} from '../primitives/rlp.js'
import type { ChainRows } from '../store/chainRows.js'
import { type BlockFacts, decodeHeader, type Header, readBlockFacts } from './header.js'

import type { TransactionPosition } from './transactionJson.js'

/** Bytes of `senders` for each transaction: its sender (20) and its hash (32). */
const senderBytes = 52

/**
 * A block as the store holds it. Taken apart when it is first asked for: most answers need a part of it, and each
 * costs as much as a read.
 */
export class BlockRows {
  /** RLP size of the whole block. */
  readonly size: number
  readonly transactionCount: number
  #header: Header | undefined
  #facts: BlockFacts | undefined
  #transactions: readonly RlpSpan[] | undefined

  /**
   * `body` is the RLP list of transactions, uncles and, since Shanghai, withdrawals; `senders` holds sender (20 bytes)
   * ‖ hash (32 bytes) of each transaction.
   */
  constructor(
    readonly hash: Hash32,
    readonly headerRlp: Uint8Array,
    readonly body: Uint8Array,
    readonly senders: Uint8Array,
  ) {
    this.size = rlpLength(headerRlp.length + body.length - rlpPayloadAt(body, 0))
    this.transactionCount = senders.length / senderBytes
  }

  get header(): Header {
    this.#header ??= decodeHeader(this.headerRlp)
    return this.#header
  }

  get facts(): BlockFacts {
    this.#facts ??= readBlockFacts(this.headerRlp)
    return this.#facts
  }

  /** Where transactions stand in the body: lists (legacy), or byte strings of type byte and list (EIP-2718). */
  get transactions(): readonly RlpSpan[] {
    this.#transactions ??= rlpListSpans(this.body, rlpSpanAt(this.body, rlpPayloadAt(this.body, 0)))
    return this.#transactions
  }

  /** Where one of {@link transactions} stands; undefined beyond the last. */
  transactionAt(index: number): RlpSpan | undefined {
    if (index >= this.transactionCount) return undefined
    if (this.#transactions !== undefined) return this.#transactions[index]
    let at = rlpPayloadAt(this.body, rlpPayloadAt(this.body, 0))
    for (let before = 0; before < index; before++) at = rlpEndAt(this.body, at)
    return rlpSpanAt(this.body, at)
  }

  /** Where the headers of uncles stand in the body. */
  get uncles(): readonly RlpSpan[] {
    return rlpListSpans(this.body, rlpSpanAt(this.body, this.#unclesAt))
  }

  /** Where the list of withdrawals stands in the body; undefined before Shanghai. */
  get withdrawals(): RlpSpan | undefined {
    const at = rlpEndAt(this.body, this.#unclesAt)
    return at < this.body.length ? rlpSpanAt(this.body, at) : undefined
  }

  get #unclesAt(): number {
    return rlpEndAt(this.body, rlpPayloadAt(this.body, 0))
  }
}

/** Reads a block; undefined where it is not known. Throws NotHeldError where only a part of it is held. */
export function readBlockRows(store: ChainRows, hash: Hash32): BlockRows | undefined {
  const headerRlp = store.readHeader(hash)
  if (headerRlp === undefined) return undefined
  const body = store.readBody(hash)
  const senders = store.readSenders(hash)
  if (body === undefined || senders === undefined) throw new NotHeldError({ kind: 'body', hash })
  return new BlockRows(hash, headerRlp, body, senders)
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
  /** By hash. */
  readonly #kept = new LRUCache<string, BlockRows>({ maxSize: keptBytesMax, sizeCalculation: bytesOf })

  constructor(store: ChainRows) {
    this.#store = store
  }

  /** As {@link readBlockRows}. */
  read(hash: Hash32): BlockRows | undefined {
    const key = mapKey(hash)
    const known = this.#kept.get(key)
    if (known !== undefined) return known
    const rows = readBlockRows(this.#store, hash)
    if (rows !== undefined) this.#kept.set(key, rows)
    return rows
  }
}

function bytesOf({ body, senders, transactionCount }: BlockRows): number {
  return emptyBytes + body.length + senders.length + transactionCount * spanBytes
}

/** A block's RLP: the list of its header and of what its body lists. */
export function blockRlp(header: Uint8Array, body: Uint8Array): Uint8Array {
  const { payload, end } = rlpSpanAt(body, 0)
  return encodeRlpListOfEncoded([header, body.subarray(payload, end)])
}

/** A transaction as it is hashed: an RLP list, or a type byte and an RLP list (EIP-2718). */
export function rawTransaction(rows: BlockRows, index: number): Uint8Array | undefined {
  const { body } = rows
  const span = rows.transactionAt(index)
  return span && body.subarray(span.isList ? span.start : span.payload, span.end)
}

/** Where transaction `index` of a block stands. */
export function transactionPosition(rows: BlockRows, index: number): TransactionPosition {
  const { hash, facts, senders } = rows
  const { number, timestamp, baseFeePerGas } = facts
  return { blockHash: hash, blockNumber: number, timestamp, baseFeePerGas, index, senders }
}
