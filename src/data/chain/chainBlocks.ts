/**
 * One network's blocks, in the chain that ends with one of them. Owns the resolution of block ids, and the rendered
 * JSON of blocks, transactions, uncles and receipts. Only reads the store. Does not own state.
 */

import { giveBack } from '../../primitives/bufferPool.js'
import { bytesToBigInt, equalBytes, type Hash32, latin1Key, toMinimalBytes } from '../../primitives/bytes.js'
import { FaultError } from '../../primitives/faults.js'
import { comma, JsonBytes } from '../../primitives/jsonBytes.js'
import { NotStoredError } from '../../primitives/notStored.js'
import { listBase, type RlpSpan } from '../../primitives/rlp.js'
import {
  type ChainIdentity,
  type ChainRows,
  firstNumberOf,
  type Marker,
  type ReportedPart,
  requireIdentity,
  type StoreKind,
  storeKindOf,
  type TransactionLocation,
} from '../store/chainRows.js'
import { byHandSentence } from '../store/changesByHand.js'
import type { OldestKept } from '../store/keptHistory.js'
import type { ReadyTexts } from '../store/readyRows.js'
import { AnswerCache } from './answerCache.js'
import { writeBlockAccessList } from './blockAccessList.js'
import { BlockAnswers } from './blockAnswers.js'
import { closeBlock, openBlock, writeHeader, writePendingBlock, writeUncle } from './blockJson.js'
import { type ExecutedBlock, receiptTexts, writeReceiptAt, writeReceipts } from './blockReceipts.js'
import { type BlockRows, BlockRowsReader, blockRlp, transactionPosition } from './blockRows.js'
import { findTransaction, requireHeader } from './findTransaction.js'
import { ForkSchedule } from './forks.js'
import { decodeHeader, type Header, headerHash, headJson, readBlockFacts } from './header.js'
import { type BlockLog, blockLogs, receiptTails } from './logJson.js'
import { type FoundLogs, type LogBounds, type LogSearch, searchLogs } from './logSearch.js'
import { readPendingHeader } from './pendingHeader.js'
import { ReportedJson } from './reportedJson.js'
import { senderBytes, type TransactionPosition, writeTransaction } from './transactionJson.js'

/** Tags that name a block by its role. Not every network answers `safe`; {@link Chain.resolve} decides. */
export const blockTags = ['latest', 'earliest', 'pending', 'safe', 'finalized'] as const
export type BlockTag = (typeof blockTags)[number]

/**
 * A block id from a caller, before it is looked up: by number, by tag, or by hash (EIP-1898).
 *
 * - `number` is a safe integer. Callers may also write 2^53 − 1 up to 2^63 − 1. Such a number becomes 2^53 − 1, which
 *   is beyond any head.
 * - `requireCanonical` requests a fault if the hash names a block outside the canonical chain.
 */
export type BlockId =
  | { readonly kind: 'number'; readonly number: number }
  | { readonly kind: 'tag'; readonly tag: BlockTag }
  | { readonly kind: 'hash'; readonly hash: Hash32; readonly requireCanonical: boolean }

/** A resolved block id, fixed for the rest of a call. */
export interface ResolvedBlock {
  readonly number: number
  readonly hash: Hash32
  /** Whether the pending block was requested; number and hash are then those of its parent, the head. */
  readonly isPending: boolean
}

/** The newest canonical block that this process has seen. */
export interface Head {
  readonly number: number
  readonly hash: Hash32
  readonly header: Header
  /** Grows with every change of the head; results that depend on the head are valid within one generation. */
  readonly generation: number
}

export interface ChainOptions {
  readonly supportsSafe: boolean
  /** Number of blocks that `safe` and `finalized` lag behind the head. */
  readonly safeLag: number
  readonly finalizedLag: number
  /** Whether `safe` and `finalized` are only what a source stored, without which they name no block. */
  readonly needsMarkers?: boolean
  /** Memory for cached JSON of blocks and receipts, in bytes. */
  readonly answerCacheBytes: number
}

const nothingRemoved: OldestKept = { state: 0, receipts: 0, bodies: 0, trie: 0 }

/** Initial memory of a block's JSON; a block with 200 full transactions has 174 KB, its receipts have 397 KB. */
const jsonBytesExpected = 64 * 1024

/** Enough for some hundred of them. */
const headAnswerBytes = 256 * 1024

/** Data shared by all views of one chain. */
export class ChainParts {
  readonly identity: ChainIdentity
  readonly kind: StoreKind
  readonly schedule: ForkSchedule
  /** Number of the oldest stored block. */
  readonly firstNumber: number
  /** Read with each head. Data removed between two heads is missing when it is read. */
  oldest: OldestKept = nothingRemoved
  /** Number of the oldest block with ready answers, read with each head; infinite if there is none. */
  readyFrom = Number.POSITIVE_INFINITY
  readonly answers: BlockAnswers
  /** Pending blocks, and heads as sent to subscribers: many clients request them at once, and never again. */
  readonly headAnswers = new AnswerCache(headAnswerBytes)
  readonly rows: BlockRowsReader
  readonly reported: ReportedJson
  /** Shared by all answers, which are written one after the other. */
  readonly json = new JsonBytes(jsonBytesExpected)

  /** Throws OperatorError if the store has no chain or one of another schema. */
  constructor(
    readonly store: ChainRows,
    readonly options: ChainOptions,
  ) {
    const identity = requireIdentity(store)
    this.identity = identity
    this.kind = storeKindOf(identity)
    this.firstNumber = firstNumberOf(identity)
    this.schedule = ForkSchedule.of(identity)
    this.answers = new BlockAnswers(options.answerCacheBytes)
    this.rows = new BlockRowsReader(store, this.schedule.family.transactionTypes)
    this.reported = new ReportedJson(store)
    this.readOldest()
    this.readReady()
  }

  forgetBlocks(): void {
    this.answers.clear()
    this.rows.forget()
  }

  readReady(): void {
    const { first = 0, last = -1 } = this.store.readReadyRange?.() ?? {}
    this.readyFrom = last < first ? Number.POSITIVE_INFINITY : first
  }

  readOldest(): void {
    const { state, receipts, bodies, trie } = this.store.readOldestKept?.() ?? nothingRemoved
    const first = this.firstNumber
    this.oldest = {
      state: Math.max(state, first),
      receipts: Math.max(receipts, first),
      bodies: Math.max(bodies, first),
      trie: Math.max(trie, first),
    }
  }
}

/** Blocks above {@link head} do not exist here. Reads by hash do not depend on the head. */
export abstract class ChainBlocks {
  abstract readonly head: Head
  readonly identity: ChainIdentity
  readonly kind: StoreKind
  readonly schedule: ForkSchedule
  readonly firstNumber: number
  /** Data from receipts about the transactions of the block for which it was read last. */
  #tails: { readonly hash: Hash32; readonly list: readonly TransactionPosition['reported'][] } | undefined

  constructor(readonly parts: ChainParts) {
    this.identity = parts.identity
    this.kind = parts.kind
    this.schedule = parts.schedule
    this.firstNumber = parts.firstNumber
  }

  /**
   * The oldest stored blocks with state, receipts, bodies and tries, as of the newest head, independent of this view's
   * head.
   */
  get oldest(): OldestKept {
    return this.parts.oldest
  }

  /** Like {@link oldest}, but for reports; undefined if the whole chain is stored. */
  get storedFrom(): OldestKept | undefined {
    return Object.values(this.oldest).some((number) => number > 0) ? this.oldest : undefined
  }

  /** The first block that can be executed again: the state before it is stored. The genesis executes nothing. */
  get firstExecutable(): number {
    const { state } = this.oldest
    return state === 0 ? 0 : state + 1
  }

  /** The first block above the base of a fork, which may have moved; otherwise the first block. */
  get firstMade(): number {
    if (this.identity.fork === undefined) return this.firstNumber
    const { fork } = requireIdentity(this.parts.store)
    return fork === undefined ? this.firstNumber : fork.number + 1
  }

  /**
   * Resolves a block id in this chain; tags are interpreted only here. Undefined if there is no such block. `argument`
   * is the argument's index, from 0; undefined if the method accepts `safe` on every network. Throws FaultError if
   * `safe` is not supported, a tag names no block yet, or a hash is not canonical as required.
   */
  resolve(id: BlockId, argument: number | undefined): ResolvedBlock | undefined {
    const { head } = this
    switch (id.kind) {
      case 'number':
        return this.#blockByNumber(id.number, head)
      case 'hash':
        return this.#blockByHash(id.hash, id.requireCanonical, head)
      case 'tag':
        switch (id.tag) {
          case 'latest':
            return { number: head.number, hash: head.hash, isPending: false }
          case 'pending':
            return { number: head.number, hash: head.hash, isPending: true }
          case 'earliest':
            return this.#blockByNumber(Math.max(this.firstNumber, this.oldest.bodies), head)
          case 'finalized':
            return this.#blockOfMarker('finalized', head) ?? this.#blockBehindHead('finalized', head)
          case 'safe': {
            const reported = this.#blockOfMarker('safe', head)
            if (reported === undefined && !this.parts.options.supportsSafe && argument !== undefined) {
              throw new FaultError({ kind: 'SafeTagNotSupported', index: argument })
            }
            return reported ?? this.#blockBehindHead('safe', head)
          }
        }
    }
  }

  /**
   * The block object of a known block, with full transactions or their hashes. Passing its `number`, if known, saves
   * a read; the same holds for the methods below.
   */
  blockJson(hash: Hash32, isFull: boolean, number?: number): Uint8Array | undefined {
    const reported = this.#hasReported(hash, 'block') ? this.parts.reported.block(hash, isFull) : undefined
    if (reported !== undefined) return reported
    const ready = isFull ? undefined : this.#readyBlock(hash, number)
    if (ready !== undefined) return ready
    const cached = this.parts.answers.find(hash, isFull ? 'full block' : 'block')
    const rows = cached ? undefined : this.parts.rows.viewUntilNextRead(hash, number)
    if (rows === undefined) return cached
    this.#writeBlock(this.#emptyJson(), rows, isFull)
    return this.parts.answers.finish(this.parts.json)
  }

  /**
   * The pending block on top of the head: empty, with the head's state, unless transactions wait for it. `hash`,
   * `logsBloom`, `nonce` and `number` are null.
   */
  pendingBlockJson(isFull: boolean): Uint8Array {
    const { revision = 0 } = this.parts.store.readByHand?.() ?? {}
    const form = isFull ? 'full' : 'p'
    return this.parts.headAnswers.getOrRender(`${form}${latin1Key(this.head.hash)}${revision}`, () => {
      const parentTotal = this.#totalDifficulty(this.head.hash) ?? 0n
      const header = this.pendingHeader()
      const block = this.parts.store.readPending?.()?.block
      return this.#render((json) => writePendingBlock(json, header, parentTotal, block, isFull))
    })
  }

  /** Number of transactions in the pending block. */
  get pendingTransactionCount(): number {
    return (this.parts.store.readPending?.()?.block.senders.length ?? 0) / senderBytes
  }

  /** One transaction object of a known block; undefined for an index beyond its last. */
  transactionJson(hash: Hash32, index: number, number?: number): Uint8Array | undefined {
    const rows = this.parts.rows.viewUntilNextRead(hash, number)
    const span = rows?.transactionAt(index)
    if (rows === undefined || span === undefined) return undefined
    const reported = this.parts.reported.transaction(hash, index)
    if (reported !== undefined) return reported
    const json = this.#emptyJson()
    this.#writeTransaction(json, rows, index, span)
    return json.finish(true)
  }

  /** The transaction of this chain with this hash. */
  transactionByHash(hash: Hash32): Uint8Array | undefined {
    const ready = this.#readyOf('transaction', hash)
    const at = ready ? undefined : this.findTransaction(hash)
    return at === undefined ? ready : this.transactionJson(at.blockHash, at.index, at.number)
  }

  /** The receipt of the transaction of this chain with this hash. */
  receiptByHash(hash: Hash32): Uint8Array | undefined {
    const ready = this.#readyOf('receipt', hash)
    const at = ready ? undefined : this.findTransaction(hash)
    return at === undefined ? ready : this.receiptJson(at)
  }

  /** The texts of an executed block, rendered from its rows; undefined if it was never executed. */
  renderBlock(hash: Hash32): ReadyTexts | undefined {
    const executed = this.readExecuted(hash)
    if (executed === undefined) return undefined
    const { rows } = executed
    return {
      block: this.#render((json) => this.#writeBlock(json, rows, false)),
      transactions: rows.transactions.map((span, index) =>
        this.#render((json) => this.#writeTransaction(json, rows, index, span)),
      ),
      receipts: receiptTexts(this.parts.json, executed),
    }
  }

  #readyBlock(hash: Hash32, known: number | undefined): Uint8Array | undefined {
    const { store, readyFrom } = this.parts
    if (readyFrom === Number.POSITIVE_INFINITY) return undefined
    const number = known ?? store.readNumber?.(hash)
    if (number === undefined || number < readyFrom) return undefined
    return this.#copied(store.readReadyBlock?.(number, hash))
  }

  /** The stored answer about the block of this number, with hashes; undefined for a block beside the canonical chain. */
  readyBlockAt(number: number): Uint8Array | undefined {
    const { store, readyFrom } = this.parts
    if (number < readyFrom || number > this.head.number) return undefined
    const json = this.#copied(store.readReadyBlock?.(number))
    return json !== undefined && this.#isCanonicalNow() ? json : undefined
  }

  /** Whether the head is canonical in the snapshot of the last read. */
  #isCanonicalNow(): boolean {
    const { number, hash } = this.head
    return this.parts.store.isCanonical(number, hash, true)
  }

  /** The stored answer about a transaction in the canonical chain up to the head. */
  #readyOf(part: 'transaction' | 'receipt', hash: Hash32): Uint8Array | undefined {
    const { store, readyFrom } = this.parts
    if (readyFrom === Number.POSITIVE_INFINITY) return undefined
    const found = store.readReadyOf?.(part, hash, readyFrom)
    // The next read may overwrite it.
    const json = this.#copied(found?.json)
    return found !== undefined && found.number <= this.head.number && this.#isCanonicalNow()
      ? json
      : undefined
  }

  #copied(ready: Uint8Array | undefined): Uint8Array | undefined {
    return ready && this.#render((json) => json.raw(ready), true)
  }

  /** Writes a block from the store, with full transactions or their hashes. */
  #writeBlock(json: JsonBytes, rows: BlockRows, isFull: boolean): void {
    const { hash, headerRlp, senders, size, totalDifficulty, withdrawals, uncleHashes, transactionCount } =
      rows
    const block = { hash, totalDifficulty, size }
    openBlock(json, headerRlp, block)
    for (let index = 0; index < transactionCount; index++) {
      if (index > 0) json.constant(comma)
      if (isFull) this.#writeTransaction(json, rows, index, rows.transactions[index] as RlpSpan)
      else json.hex(senders, index * 52 + 20, index * 52 + 52)
    }
    closeBlock(json, headerRlp, block, uncleHashes, withdrawals)
  }

  /** Writes a transaction of a block, with fields from its receipt if its type has such fields. */
  #writeTransaction(json: JsonBytes, rows: BlockRows, index: number, span: RlpSpan): void {
    const transaction = rows.read(span)
    const position = transactionPosition(rows, index)
    if (transaction.layout.nonce !== undefined) return writeTransaction(json, transaction, position)
    if (this.#tails?.hash !== rows.hash) {
      const receipts = this.readReceipts(rows.hash) ?? Uint8Array.of(listBase)
      this.#tails = { hash: rows.hash, list: [...receiptTails(receipts)] }
    }
    writeTransaction(json, transaction, { ...position, reported: this.#tails.list[index] ?? [] })
  }

  /** The receipts of a known, executed block. */
  receiptsJson(hash: Hash32): Uint8Array | undefined {
    const reported = this.#hasReported(hash, 'receipts') && this.parts.reported.receipts(hash)
    if (reported) return reported
    const cached = this.parts.answers.find(hash, 'receipts')
    const executed = cached ? undefined : this.#executed(hash, this.parts.rows.viewUntilNextRead(hash))
    if (executed === undefined) return cached
    writeReceipts(this.#emptyJson(), executed)
    giveBack(executed.receipts)
    return this.parts.answers.finish(this.parts.json)
  }

  /** The receipt of a transaction of a known, executed block; undefined for an index beyond its last. */
  receiptJson({ blockHash, index, number }: TransactionLocation): Uint8Array | undefined {
    const reported = this.#hasReported(blockHash, 'receipts') && this.parts.reported.receipt(blockHash, index)
    if (reported) return reported
    const rows = this.parts.rows.viewUntilNextRead(blockHash, number)
    if (rows === undefined || index >= rows.transactionCount) return undefined
    const receipt = this.parts.rows.readReceipts(rows)?.at(index) ?? this.#withoutReceipts(blockHash)
    return (
      receipt &&
      this.#render((json) => writeReceiptAt(json, { rows, schedule: this.schedule }, index, receipt), true)
    )
  }

  /** The receipts of the transactions from index `first` up to `end`; see {@link receiptsJson}. */
  someReceiptsJson(hash: Hash32, first: number, end: number): Uint8Array | undefined {
    const reported = this.#hasReported(hash, 'receipts') && this.parts.reported.receipts(hash, first, end)
    if (reported) return reported
    const executed = this.#executed(hash, this.parts.rows.viewUntilNextRead(hash))
    return executed && this.#render((json) => writeReceipts(json, executed, first, end), true)
  }

  /**
   * Whether a block is of another family, so that its JSON has members that its rows lack. Throws NotStoredError if that
   * part of it is not stored.
   */
  #hasReported(hash: Hash32, part: ReportedPart): boolean {
    const { store } = this.parts
    if (store.readReported === undefined) return false
    const row = part === 'block' ? this.parts.rows.read(hash) : store.readReceipts(hash)
    return row !== undefined && store.readReported(hash, part) !== undefined
  }

  /** Undefined if the header's RLP contains all of its JSON. Throws NotStoredError if the block is not stored. */
  #reportedHeader(hash: Hash32): Uint8Array | undefined {
    const reported = this.parts.reported.header(hash)
    if (reported === undefined && this.identity.family !== undefined)
      throw new NotStoredError({ kind: 'body', hash })
    return reported
  }

  /** A block with the receipts of its execution; undefined if it is unknown, or was never executed. */
  readExecuted(hash: Hash32): ExecutedBlock | undefined {
    return this.#executed(hash, this.parts.rows.read(hash))
  }

  #executed(hash: Hash32, rows: BlockRows | undefined): ExecutedBlock | undefined {
    const receipts = rows && this.readReceipts(hash)
    return rows && receipts && { rows, receipts, schedule: this.schedule }
  }

  /** The receipts of an executed block in the store's encoding; undefined if there is no such block. */
  readReceipts(hash: Hash32): Uint8Array | undefined {
    return this.parts.store.readReceipts(hash) ?? this.#withoutReceipts(hash)
  }

  /** Undefined for a block that was not executed. Throws NotStoredError if its receipts are not stored. */
  #withoutReceipts(hash: Hash32): undefined {
    const header = this.readHeader(hash)
    if (header === undefined || !this.parts.store.isCanonical(header.number, hash)) return undefined
    throw new NotStoredError({ kind: 'receipts', hash })
  }

  readBlockAccessList(hash: Hash32): Uint8Array | undefined {
    return readAccessList(this.parts.store, hash)
  }

  blockAccessListJson(hash: Hash32): Uint8Array | undefined {
    const cached = this.parts.answers.find(hash, 'access list')
    const list = cached ? undefined : this.readBlockAccessList(hash)
    if (list === undefined) return cached
    writeBlockAccessList(this.#emptyJson(), list)
    return this.parts.answers.finish(this.parts.json)
  }

  readBlock(hash: Hash32): BlockRows | undefined {
    return this.parts.rows.read(hash)
  }

  readRawHeader(hash: Hash32): Uint8Array | undefined {
    return this.parts.store.readHeader(hash)
  }

  readRawBlock(hash: Hash32): Uint8Array | undefined {
    const rows = this.parts.rows.read(hash)
    return rows && blockRlp(rows.headerRlp, rows.body)
  }

  /** Location of a transaction of this chain; see {@link findTransaction}. */
  findTransaction(hash: Hash32): TransactionLocation | undefined {
    return findTransaction(this.parts.store, hash, this.head)
  }

  headerJson(hash: Hash32): Uint8Array | undefined {
    const header = this.parts.store.readHeader(hash)
    const reported = header && this.#reportedHeader(hash)
    return reported ?? (header && this.#render((json) => writeHeader(json, header, hash)))
  }

  /**
   * Whether transactions wait for the next block, or a caller has set a value of it. Then the block does not follow
   * from the head alone.
   */
  get hasSetNext(): boolean {
    const { next, hasPending = false } = this.parts.store.readByHand?.() ?? {}
    return next !== undefined || hasPending
  }

  /** The first change by hand, as a sentence: no other client can verify the chain from it on. Undefined if there is none. */
  get changedByHand(): string | undefined {
    const { changes = 0 } = this.parts.store.readByHand?.() ?? {}
    const [first] = changes === 0 ? [] : (this.parts.store.changesByHand?.() ?? [])
    return first && byHandSentence(first, changes)
  }

  /** The header of the empty block on top of the head. Throws FaultError if its rules are unknown. */
  pendingHeader(): Header {
    if (this.identity.family !== undefined)
      throw new FaultError({
        kind: 'NotProved',
        why: 'the rules for the next block of this chain are unknown',
      })
    const { header, hash } = this.head
    const { store } = this.parts
    return readPendingHeader(store, header, hash, this.schedule, this.#totalDifficulty(hash) ?? 0n)
  }

  /** The header of a known block as sent to subscribers of `newHeads`. */
  headJson(hash: Hash32): Uint8Array | undefined {
    return this.parts.headAnswers.getOrRender(`n${latin1Key(hash)}`, () => {
      const header = this.readHeader(hash)
      return (header && this.#reportedHeader(hash)) ?? (header && headJson(header, hash))
    })
  }

  readHeader(hash: Hash32): Header | undefined {
    const rlp = this.parts.store.readHeader(hash)
    return rlp && decodeHeader(rlp)
  }

  /**
   * Logs of a known block, canonical or not, from index `first` on, generated one by one; undefined if never executed.
   */
  eachLog(hash: Hash32, first = 0): Iterable<BlockLog> | undefined {
    const receipts = this.parts.store.readReceipts(hash, true)
    // The body of a block without transactions may be missing.
    if (receipts?.length === 1) return []
    const rows = receipts && this.parts.rows.read(hash)
    return receipts && rows && blockLogs(rows, receipts, first)
  }

  /** Use the JSON before the next call. */
  searchLogs(search: LogSearch, bounds: LogBounds, shouldStop: () => boolean): FoundLogs | undefined {
    return searchLogs(this.parts.store, search, bounds, shouldStop, true)
  }

  /** Whether a block, canonical or not, was executed here. */
  hasReceipts(hash: Hash32): boolean {
    if (!this.kind.hasReceipts) return false
    return this.parts.store.readReceipts(hash, true) !== undefined
  }

  /** One uncle of a known block; undefined for an index beyond its last. */
  uncleJson(hash: Hash32, index: number): Uint8Array | undefined {
    const rows = this.parts.rows.viewUntilNextRead(hash)
    const span = rows?.uncles[index]
    if (rows === undefined || span === undefined) return undefined
    const headerRlp = rows.body.subarray(span.start, span.end)
    const header = decodeHeader(headerRlp)
    // An uncle's parent is an ancestor of the block that includes it, so its total difficulty is known.
    const parentTotal = this.#totalDifficulty(header.parentHash)
    const total = parentTotal === undefined ? undefined : toMinimalBytes(parentTotal + header.difficulty)
    return this.#render((json) => writeUncle(json, headerRlp, headerHash(headerRlp), total))
  }

  /** The block that the source reported for this tag; undefined if none in the chain that ends with `head` is. */
  #blockOfMarker(marker: Marker, head: Head): ResolvedBlock | undefined {
    const named = this.parts.store.readMarker(marker)
    const block = named && this.#blockByNumber(named.number, head)
    return named && block && equalBytes(block.hash, named.hash) ? block : undefined
  }

  /** The block of a tag that the source has not stored. Throws FaultError if only the source can name it. */
  #blockBehindHead(tag: Marker, head: Head): ResolvedBlock | undefined {
    const { needsMarkers, safeLag, finalizedLag } = this.parts.options
    if (needsMarkers === true) throw new FaultError({ kind: 'MarkerMissing', tag })
    return this.#behind(head, tag === 'safe' ? safeLag : finalizedLag)
  }

  #behind(head: Head, blocks: number): ResolvedBlock | undefined {
    return this.#blockByNumber(Math.max(this.firstNumber, head.number - blocks), head)
  }

  /**
   * The block of this number in the chain that ends with `head`. Takes one read or two if `head` is canonical;
   * otherwise one more for each block down to the fork.
   */
  #blockByNumber(number: number, head: Head): ResolvedBlock | undefined {
    // A block above the announced head does not exist for callers.
    if (number > head.number) return undefined
    if (number < this.firstNumber) throw new FaultError({ kind: 'HistoryPruned', oldest: this.firstNumber })
    let { hash, header } = head
    while (header.number > number) {
      const found = this.parts.store.readCanonicalHash(number)
      if (this.parts.store.isCanonical(header.number, hash, true)) {
        // Every block below the head exists, so a missing one is an error, not null.
        if (found === undefined) throw new NotStoredError({ kind: 'canonical', number })
        this.parts.store.noteNumber?.(number)
        return { number, hash: found, isPending: false }
      }
      hash = header.parentHash
      header = requireHeader(this.parts.store, hash)
    }
    return { number, hash, isPending: false }
  }

  #blockByHash(hash: Hash32, requireCanonical: boolean, head: Head): ResolvedBlock | undefined {
    const header = this.parts.store.readHeader(hash)
    if (header === undefined) return undefined
    const { number } = readBlockFacts(header)
    if (requireCanonical) {
      const canonical = this.#blockByNumber(number, head)
      if (canonical === undefined || !equalBytes(canonical.hash, hash)) {
        throw new FaultError({ kind: 'HashNotCanonical' })
      }
    }
    return { number, hash, isPending: false }
  }

  #totalDifficulty(hash: Hash32): bigint | undefined {
    const total = this.parts.store.readTotalDifficulty(hash)
    return total && bytesToBigInt(total)
  }

  #render(write: (json: JsonBytes) => void, isBrief = false): Uint8Array {
    write(this.#emptyJson())
    return this.parts.json.finish(isBrief)
  }

  #emptyJson(): JsonBytes {
    this.parts.json.clear()
    return this.parts.json
  }
}

/**
 * The access list of a block (EIP-7928) as RLP; undefined if there is no such block, or it is not canonical. Throws
 * FaultError for a block before Amsterdam, and if the list is not stored.
 */
function readAccessList(rows: ChainRows, hash: Hash32): Uint8Array | undefined {
  const rlp = rows.readHeader(hash)
  if (rlp === undefined) return undefined
  const { number, blockAccessListHash } = decodeHeader(rlp)
  if (blockAccessListHash === undefined) {
    const why = `block ${number} is from before Amsterdam and has no access list`
    throw new FaultError({ kind: 'ResourceNotFound', why })
  }
  const list = rows.readBlockAccessList(hash)
  if (list === undefined && rows.isCanonical(number, hash)) {
    // Archives have no lists, so if this block has none, no earlier block has one.
    const { bodies = number + 1 } = rows.readOldestKept?.() ?? {}
    throw new FaultError({ kind: 'HistoryPruned', oldest: Math.max(bodies, number + 1) })
  }
  return list
}
