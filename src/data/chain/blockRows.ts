import { LRUCache } from 'lru-cache'
import { equalBytes, type Hash32, readUint32 } from '../../primitives/bytes.js'
import { FaultError } from '../../primitives/faults.js'
import { emptyTrieRoot, emptyUnclesHash, keccak256 } from '../../primitives/keccak.js'
import { NotStoredError } from '../../primitives/notStored.js'
import {
  decodeRlpList,
  encodeRlpListOfEncoded,
  type RlpItem,
  type RlpSpan,
  rlpEndAt,
  rlpLength,
  rlpListSpans,
  rlpPayloadAt,
  rlpPayloadLength,
  rlpSpanAt,
} from '../../primitives/rlp.js'
import { SeenOnceFilter } from '../../primitives/seenOnceFilter.js'
import { LentMemory } from '../../primitives/slab.js'
import { transactionTypes } from '../../primitives/transactionTypes.js'
import type { ChainRows } from '../store/chainRows.js'
import type { ReceiptList } from '../store/layouts/packedReceipts.js'
import { StoredBlock, senderBytes } from '../store/storedBlock.js'
import {
  type BlockFacts,
  decodeHeader,
  type Header,
  headerFieldAt,
  readBlockFacts,
  unclesHashIndex,
  withdrawalsRootIndex,
} from './header.js'
import { readTransaction, type Transaction, type TransactionPosition } from './transactionJson.js'

const noHashes: readonly Hash32[] = []

/**
 * A block from the store. Its parts are decoded at first use: most answers need only some, and each takes as long as a
 * read.
 */
export class BlockRows {
  readonly hash: Hash32
  readonly headerRlp: Uint8Array
  /** Sender (20 bytes) ‖ transaction hash (32 bytes), per transaction. */
  readonly senders: Uint8Array
  readonly transactionCount: number
  readonly #stored: StoredBlock
  readonly #readBody: (hash: Hash32) => Uint8Array
  #body: Uint8Array | undefined
  #header: Header | undefined
  #facts: BlockFacts | undefined
  #transactions: readonly RlpSpan[] | undefined
  /** Undefined before the first read of a single receipt. */
  receipts: ReceiptList | undefined

  constructor(
    hash: Hash32,
    stored: StoredBlock,
    readBody: (hash: Hash32) => Uint8Array,
    readonly types = transactionTypes,
  ) {
    this.hash = hash
    this.#stored = stored
    this.#readBody = readBody
    this.headerRlp = stored.header
    this.senders = stored.senders
    this.transactionCount = this.senders.length / senderBytes
  }

  /** RLP list of transactions, uncles and, since Shanghai, withdrawals. Throws NotStoredError if it is not stored. */
  get body(): Uint8Array {
    this.#body ??= this.#readBody(this.hash)
    return this.#body
  }

  /** RLP size of the whole block. */
  get size(): number {
    return rlpLength(this.headerRlp.length + rlpPayloadLength(this.#stored.bodyBytes))
  }

  /** Memory of the block, once all parts but its receipts are read. */
  get bytesCached(): number {
    const { bytes, bodyBytes } = this.#stored
    const receiptBytes = this.receipts?.bytesCached ?? 0
    return emptyBytes + bytes.length + bodyBytes + receiptBytes + this.transactionCount * spanBytes
  }

  /** Total difficulty up to and including this block, shortest big-endian bytes. */
  get totalDifficulty(): Uint8Array {
    return this.#stored.totalDifficulty
  }

  get header(): Header {
    this.#header ??= decodeHeader(this.headerRlp)
    return this.#header
  }

  get facts(): BlockFacts {
    this.#facts ??= readBlockFacts(this.headerRlp)
    return this.#facts
  }

  /** Positions of the transactions in the body: lists (legacy), or byte strings of type byte and list (EIP-2718). */
  get transactions(): readonly RlpSpan[] {
    this.#transactions ??= rlpListSpans(this.body, rlpSpanAt(this.body, rlpPayloadAt(this.body, 0)))
    return this.#transactions
  }

  /** Position of one of {@link transactions}; undefined beyond the last. */
  transactionAt(index: number): RlpSpan | undefined {
    if (index >= this.transactionCount) return undefined
    if (this.#transactions !== undefined) return this.#transactions[index]
    let at = rlpPayloadAt(this.body, rlpPayloadAt(this.body, 0))
    for (let before = 0; before < index; before++) at = rlpEndAt(this.body, at)
    return rlpSpanAt(this.body, at)
  }

  /** The fields of a transaction at one of {@link transactions}. */
  read(span: RlpSpan): Transaction {
    return readTransaction(this.body, span, this.types)
  }

  /** Positions of the uncles' headers in the body. The body is read only if there are any. */
  get uncles(): readonly RlpSpan[] {
    if (this.#headerHas(unclesHashIndex, emptyUnclesHash)) return []
    return rlpListSpans(this.body, rlpSpanAt(this.body, this.#unclesAt))
  }

  /** Computed from the uncles' headers. */
  get uncleHashes(): readonly Hash32[] {
    const { uncles } = this
    if (uncles.length === 0) return noHashes
    return uncles.map(({ start, end }) => keccak256(this.body.subarray(start, end)))
  }

  /** Withdrawals; undefined before Shanghai. The body is read only if there are any. */
  get withdrawals(): readonly RlpItem[] | undefined {
    if (this.#headerHas(withdrawalsRootIndex, emptyTrieRoot)) return []
    if (headerFieldAt(this.headerRlp, withdrawalsRootIndex) === undefined) return undefined
    const at = rlpEndAt(this.body, this.#unclesAt)
    return decodeRlpList(this.body.subarray(at, rlpEndAt(this.body, at)))
  }

  get #unclesAt(): number {
    return rlpEndAt(this.body, rlpPayloadAt(this.body, 0))
  }

  #headerHas(index: number, hash: Hash32): boolean {
    const { headerRlp } = this
    const field = headerFieldAt(headerRlp, index)
    if (field === undefined) return false
    const at = rlpPayloadAt(headerRlp, field)
    for (let i = 0; i < hash.length; i++) if (headerRlp[at + i] !== hash[i]) return false
    return true
  }
}

/**
 * Memory for recently read blocks: clients often request each transaction of a block, or a block with its receipts.
 * Room for the largest block that Osaka allows (10 MiB), or some hundred ordinary ones.
 */
const keptBytesMax = 16 * 2 ** 20

/** Memory of a transaction's span in V8, and of a block without transactions. */
const spanBytes = 64
const emptyBytes = 2_000

/**
 * Number of requested blocks that are remembered: only a block requested again is cached. Caching one takes five times
 * as long as reading it again, mostly in the garbage collector. That moves it twice and must mark the whole heap to
 * free it (scenario `cached-transactions` beside `transaction-random`). So a block must be requested several times
 * before others replace it; the cache has room for some thousand.
 */
const askedBlocks = 512

/**
 * Longest row and longest body of a view. Most blocks are shorter. A longer one would enlarge lmdb's own memory,
 * through which rows come.
 */
const lentBytesMax = 8 * 1024

/** Reads blocks from the store and caches them. Keys are hashes, so entries never become stale. */
export class BlockRowsReader {
  readonly #store: ChainRows
  /** Blocks by the first four bytes of the hash; of two blocks with equal keys, the later one is cached. */
  readonly #kept = new LRUCache<number, BlockRows>({
    maxSize: keptBytesMax,
    sizeCalculation: ({ bytesCached }) => bytesCached,
  })
  readonly #seenOnce = new SeenOnceFilter(askedBlocks)
  /** The last block read, for further parts of the same answer and the next transaction. */
  #last: BlockRows | undefined
  /** The last block read as a view, for the same purpose. The next view overwrites its row and body. */
  #view: BlockRows | undefined
  readonly #lentRow = new LentMemory(lentBytesMax)
  readonly #lentBody = new LentMemory(lentBytesMax)

  readonly #types: typeof transactionTypes

  constructor(store: ChainRows, types = transactionTypes) {
    this.#store = store
    this.#types = types
  }

  /** Drops the blocks in memory: the store may have removed some. */
  forget(): void {
    this.#kept.clear()
    this.#last = undefined
    this.#view = undefined
  }

  /** A block; undefined if it is unknown. Throws NotStoredError if only a part of it is stored. */
  read(hash: Hash32): BlockRows | undefined {
    const cached = this.#cached(hash, undefined)
    if (cached !== undefined) return cached
    const stored = this.#whole(this.#store.readBlock(hash))
    if (stored === undefined) return undefined
    this.#last = new BlockRows(hash, stored, this.#readBody, this.#types)
    return this.#last
  }

  /**
   * Like {@link read}, but valid only until the next call, which may overwrite the block; `number` is its number, if
   * known. It leaves no memory outside V8's heap to be freed. With 5 KB of such memory per block, random reads make V8
   * mark the whole heap every 2,600 answers. Each answer then costs 1.6 times as much.
   */
  viewUntilNextRead(hash: Hash32, number?: number): BlockRows | undefined {
    const lent = this.#view
    if (lent !== undefined && equalBytes(lent.hash, hash)) return lent
    this.#view = undefined
    const cached = this.#cached(hash, number)
    if (cached !== undefined) return cached
    const stored = this.#whole(this.#store.readBlock(hash, number, true))
    if (stored === undefined) return undefined
    const { bytes, bodyBytes } = stored
    if (bytes.length > lentBytesMax) {
      this.#last = new BlockRows(hash, copyOf(stored), this.#readBody, this.#types)
      return this.#last
    }
    const row = new StoredBlock(this.#lentRow.copy(bytes))
    this.#view = new BlockRows(
      hash,
      row,
      bodyBytes > lentBytesMax ? this.#readBody : this.#viewBody,
      this.#types,
    )
    return this.#view
  }

  /** The receipts of a block that was read here; the block caches them. Undefined if it was never executed. */
  readReceipts(rows: BlockRows): ReceiptList | undefined {
    if (rows.receipts !== undefined) return rows.receipts
    rows.receipts = this.#store.readReceiptList(rows.hash)
    const key = readUint32(rows.hash, 0)
    // The cache counts its memory again, because it grew.
    if (this.#kept.peek(key) === rows) this.#kept.set(key, rows)
    return rows.receipts
  }

  /** A block in memory of its own; undefined for one that is requested for the first time, or not known. */
  #cached(hash: Hash32, number: number | undefined): BlockRows | undefined {
    const last = this.#last
    if (last !== undefined && equalBytes(last.hash, hash)) return last
    if (!this.#seenOnce.admitsHash(hash, 0)) return undefined
    const kept = this.#kept.get(readUint32(hash, 0))
    if (kept === undefined || !equalBytes(kept.hash, hash))
      return this.#seenOnce.keeps() ? this.#keep(hash, number) : undefined
    this.#seenOnce.used()
    this.#last = kept
    return kept
  }

  #keep(hash: Hash32, number: number | undefined): BlockRows | undefined {
    const stored = this.#whole(this.#store.readBlock(hash, number, true))
    if (stored === undefined) return undefined
    const own = copyOf(stored)
    const rows = new BlockRows(own.hash, own, this.#readBody, this.#types)
    this.#kept.set(readUint32(hash, 0), rows)
    this.#last = rows
    return rows
  }

  /** Throws FaultError for a block whose body was removed, and with it the number of its transactions. */
  #whole(stored: StoredBlock | undefined): StoredBlock | undefined {
    const oldest = stored?.hasBody === false ? this.#store.readOldestKept?.().bodies : undefined
    if (oldest) throw new FaultError({ kind: 'HistoryPruned', oldest })
    return stored
  }

  readonly #readBody = (hash: Hash32): Uint8Array => bodyOf(hash, this.#store.readBody(hash))

  readonly #viewBody = (hash: Hash32): Uint8Array =>
    this.#lentBody.copy(bodyOf(hash, this.#store.readBody(hash, true)))
}

function copyOf({ bytes }: StoredBlock): StoredBlock {
  return new StoredBlock(bytes.slice())
}

function bodyOf(hash: Hash32, body: Uint8Array | undefined): Uint8Array {
  if (body === undefined) throw new NotStoredError({ kind: 'body', hash })
  return body
}

/**
 * A block's RLP: a list of its header and the items of its body. With `accessList`, the RLP of its block access list,
 * it has the form of Amsterdam's blocks in chain files.
 */
export function blockRlp(header: Uint8Array, body: Uint8Array, accessList?: Uint8Array): Uint8Array {
  const { payload, end } = rlpSpanAt(body, 0)
  const parts = [header, body.subarray(payload, end)]
  return encodeRlpListOfEncoded(accessList === undefined ? parts : [...parts, accessList])
}

/** The signed encoding of a transaction: an RLP list, or a type byte and an RLP list (EIP-2718). */
export function rawTransaction(rows: BlockRows, index: number): Uint8Array | undefined {
  const { body } = rows
  const span = rows.transactionAt(index)
  return span && body.subarray(span.isList ? span.start : span.payload, span.end)
}

/** Position of transaction `index` of a block. */
export function transactionPosition(rows: BlockRows, index: number): TransactionPosition {
  const { hash, facts, senders } = rows
  const { number, timestamp, baseFeePerGas } = facts
  return { blockHash: hash, blockNumber: number, timestamp, baseFeePerGas, index, senders }
}
