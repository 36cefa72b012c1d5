import type { Hash32 } from '../primitives/bytes.js'
import type { ChainIdentity, TransactionLocation } from '../store/chainRows.js'
import type { BlockId } from './blockId.js'
import type { ExecutedBlock } from './blockReceipts.js'
import type { BlockRows } from './blockRows.js'
import type { Chain, Head, ResolvedBlock } from './chain.js'
import type { ForkSchedule } from './forks.js'
import type { Header } from './header.js'
import type { BlockLog } from './logJson.js'
import type { FoundLogs, LogBounds, LogSearch } from './logSearch.js'

/**
 * The chain that ends with one block, as one request sees it, unaffected by later writes. Blocks above it do not
 * exist in the view; reads by hash are the same in every view.
 */
export class ChainView {
  readonly #chain: Chain
  readonly #isPinned: boolean

  /** In a pinned view every tag means its head; in any other view tags have their usual meaning. */
  constructor(
    chain: Chain,
    readonly head: Head,
    isPinned: boolean,
  ) {
    this.#chain = chain
    this.#isPinned = isPinned
  }

  get identity(): ChainIdentity {
    return this.#chain.identity
  }

  /** See {@link Chain.firstNumber}. */
  get firstNumber(): number {
    return this.#chain.firstNumber
  }

  /** See {@link Chain.resolve}. */
  resolve(id: BlockId, argument: number): ResolvedBlock | undefined {
    const { head } = this
    if (this.#isPinned && id.kind === 'tag') return { number: head.number, hash: head.hash, isPending: false }
    return this.#chain.resolve(id, argument, head)
  }

  /** See {@link Chain.pendingBlockJson}. */
  pendingBlockJson(): Uint8Array {
    return this.#chain.pendingBlockJson(this.head)
  }

  /** See {@link Chain.blockJson}. */
  blockJson(hash: Hash32, isFull: boolean, number?: number): Uint8Array | undefined {
    return this.#chain.blockJson(hash, isFull, number)
  }

  /** See {@link Chain.transactionJson}. */
  transactionJson(hash: Hash32, index: number, number?: number): Uint8Array | undefined {
    return this.#chain.transactionJson(hash, index, number)
  }

  /** See {@link Chain.receiptsJson}. */
  receiptsJson(hash: Hash32): Uint8Array | undefined {
    return this.#chain.receiptsJson(hash)
  }

  /** See {@link Chain.readBlockAccessList}. */
  readBlockAccessList(hash: Hash32): Uint8Array | undefined {
    return this.#chain.readBlockAccessList(hash)
  }

  /** See {@link Chain.blockAccessListJson}. */
  blockAccessListJson(hash: Hash32): Uint8Array | undefined {
    return this.#chain.blockAccessListJson(hash)
  }

  /** See {@link Chain.readLogs}. */
  readLogs(hash: Hash32): BlockLog[] | undefined {
    return this.#chain.readLogs(hash)
  }

  /** See {@link Chain.searchLogs}. */
  searchLogs(search: LogSearch, bounds: LogBounds, shouldStop: () => boolean): FoundLogs | undefined {
    return this.#chain.searchLogs(search, bounds, shouldStop)
  }

  /** See {@link Chain.uncleJson}. */
  uncleJson(hash: Hash32, index: number): Uint8Array | undefined {
    return this.#chain.uncleJson(hash, index)
  }

  /** See {@link Chain.receiptJson}. */
  receiptJson(location: TransactionLocation): Uint8Array | undefined {
    return this.#chain.receiptJson(location)
  }

  /** Location of a transaction of this chain. */
  findTransaction(hash: Hash32): TransactionLocation | undefined {
    return this.#chain.findTransaction(hash, this.head)
  }

  /** See {@link Chain.headerJson}. */
  headerJson(hash: Hash32): Uint8Array | undefined {
    return this.#chain.headerJson(hash)
  }

  /** See {@link Chain.pendingHeaderJson}. */
  pendingHeaderJson(): Uint8Array {
    return this.#chain.pendingHeaderJson(this.head)
  }

  /** See {@link Chain.pendingHeader}. */
  pendingHeader(): Header {
    return this.#chain.pendingHeader(this.head)
  }

  /** See {@link Chain.readBlock}. */
  readBlock(hash: Hash32): BlockRows | undefined {
    return this.#chain.readBlock(hash)
  }

  /** See {@link Chain.readExecuted}. */
  readExecuted(hash: Hash32): ExecutedBlock | undefined {
    return this.#chain.readExecuted(hash)
  }

  /** See {@link Chain.readReceipts}. */
  readReceipts(hash: Hash32): Uint8Array | undefined {
    return this.#chain.readReceipts(hash)
  }

  /** See {@link Chain.readHeader}. */
  readHeader(hash: Hash32): Header | undefined {
    return this.#chain.readHeader(hash)
  }

  /** See {@link Chain.readRawHeader}. */
  readRawHeader(hash: Hash32): Uint8Array | undefined {
    return this.#chain.readRawHeader(hash)
  }

  /** See {@link Chain.readRawBlock}. */
  readRawBlock(hash: Hash32): Uint8Array | undefined {
    return this.#chain.readRawBlock(hash)
  }

  get schedule(): ForkSchedule {
    return this.#chain.schedule
  }
}
