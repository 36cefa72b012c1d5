/**
 * Reads one network's store. Owns keys and the decoding of rows to bytes; `chain` and `state` decode the bytes. A
 * missing row is undefined; a store that cannot be read throws.
 */
import type { RootDatabase } from 'lmdb'
import { unpack } from 'msgpackr'
import {
  type Address,
  equalBytes,
  type Hash32,
  hashBytes,
  leadingHash,
  noBytes,
  readUint64,
  toHash32,
  writeUint64,
} from '../../primitives/bytes.js'
import { FaultError, OperatorError } from '../../primitives/faults.js'
import { briefSlab, LentMemory } from '../../primitives/slab.js'
import type { BlockDiff, Change, ReplacedState } from './blockDiff.js'
import {
  type BlockName,
  type ByHand,
  type ChainIdentity,
  type ChainRows,
  type ChangeByHand,
  type Epoch,
  type Marker,
  type PendingBlock,
  type ReadyAnswer,
  type ReportedJson,
  type ReportedPart,
  readReportedRow,
  reportedKey,
  type SignedCheckpoint,
  type TransactionLocation,
  type TrieForm,
} from './chainRows.js'
import { readChangesByHand } from './changesByHand.js'
import { ContractIds } from './contractIds.js'
import { readByContract } from './contractRows.js'
import { EmptyRuns, type FoundRun } from './emptyRuns.js'
import { decodeOldestKept, type HistoryKind, type OldestKept } from './keptHistory.js'
import { readPlace, readPlaceNumber } from './layouts/locations.js'
import { unpackList } from './layouts/packedLists.js'
import { packReceipts, ReceiptList, unpackReceipts } from './layouts/packedReceipts.js'
import type { TrieRow } from './layouts/trieRow.js'
import { decodeUndo, type UndoEntry, type UndoRecord } from './layouts/undoRecord.js'
import {
  closeEnvironment,
  countReaders,
  openEnvironment,
  openTable,
  snapshotsOf,
} from './lmdb/environment.js'
import { countLogIndex, readLogChunk } from './logIndex.js'
import { decodeLogRanges, type LogRange } from './logRanges.js'
import { PastChanges } from './pastChanges.js'
import { guardTables, onlyStored, type ReadGuard, type ReadTable } from './readTable.js'
import {
  decodeReadyRange,
  type ReadyPart,
  type ReadyRange,
  readyBlockAt,
  readyForm,
  readyJsonAt,
  readyKeyBytes,
  readyTransactionAt,
  writeReadyKey,
} from './readyRows.js'
import { StateDigests } from './stateChanges.js'
import {
  changeIn,
  changesOf,
  latestRows,
  latestValue,
  type StateKind,
  type StateRow,
  stateRows,
  valueAt,
  valuesAt,
} from './stateRows.js'
import { StoredBlock } from './storedBlock.js'
import { metaKeys, numberKey, openChainTables, type ReadTables, schemaVersion, slotKey } from './tables.js'
import { readSideRow, readTrieRow } from './trieRows.js'
import { AllTries } from './trieVersions.js'

export interface ChainStoreOptions {
  readonly path: string
  readonly mapBytes?: number
}

export interface ChainReaderOptions extends ChainStoreOptions {
  /** Wraps every read of a table, for a thread that may only be ended between two reads. */
  readonly guard?: ReadGuard
}

/** Limit for caching a block's row after a read of its hash: the block itself is often read next. */
const cachedRowMax = 8 * 1024

/** Rows between two calls of `look`; they take some 0.1 ms. */
const rowsPerLook = 64

/** Number (8 bytes, big-endian) ‖ hash. */
const blockNameBytes = 40

/** Reused keys of single reads, which a table copies: a new key for each read is 170 bytes of garbage. */
const askedSlot = new Uint8Array(52)
const askedNumber = new Uint8Array(8)
const askedReady = new Uint8Array(readyKeyBytes)

export class ChainReader implements ChainRows {
  readonly #pastChanges = new PastChanges((kind) => this.stateRows(kind))
  /** The head of the last read, and its snapshot. */
  readonly #head = new Uint8Array(blockNameBytes)
  #headIn = Number.NaN
  /** The array that last equalled its hash: requests for one head pass the same array. */
  #headHash: Uint8Array | undefined
  readonly #snapshots: { readonly begun: number } | undefined
  readonly #guard: ReadGuard = (read) => read()
  /** The block whose hash was read last, in {@link #lastMemory}; rows of one hash never change. */
  #last: StoredBlock | undefined
  readonly #lastMemory = new LentMemory(cachedRowMax)
  /** The hash last found canonical, and its snapshot. */
  readonly #canonical = new Uint8Array(hashBytes)
  #canonicalIn = Number.NaN
  readonly #emptyRuns: EmptyRuns
  #pending: PendingBlock | undefined
  #trieForm: TrieForm | null | undefined

  protected constructor(
    readonly path: string,
    protected readonly environment: RootDatabase,
    protected readonly tables: ReadTables,
    guard: ReadGuard = (read) => read(),
  ) {
    this.#snapshots = snapshotsOf(environment)
    this.#guard = guard
    this.#emptyRuns = new EmptyRuns(tables.meta)
  }

  /**
   * Opens a store for reading, also while another process writes it. Throws OperatorError for a missing store, a store
   * without a chain, a file of another kind, or another schema version. `classOf` chooses the class that reads its
   * rows.
   */
  static open(
    { guard, ...options }: ChainReaderOptions,
    classOf: (identity: ChainIdentity) => typeof ChainReader = () => ChainReader,
  ): ChainReader {
    const environment = openEnvironment({ ...options, readOnly: true })
    try {
      const tables = openChainTables(environment)
      if (tables === undefined) checkSchema(openTable(environment, 'meta'), options.path)
      const identity = tables && checkSchema(tables.meta, options.path)
      const history = identity?.history
      const named = tables && readByContract(tables)
      const stored = named && history ? onlyStored(named, history.hasReceipts) : named
      const guarded = stored && guard ? guardTables(stored, guard) : stored
      const Reader = identity ? classOf(identity) : ChainReader
      const reader = guarded && new Reader(options.path, environment, guarded, guard)
      // A store of archives has an identity before its first whole archive.
      if (reader?.readIdentity() !== undefined && reader.readHead() !== undefined) return reader
      throw new OperatorError(`the store ${options.path} holds no chain; run "tidegate import" into it first`)
    } catch (error) {
      void environment.close()
      throw error
    }
  }

  close(): Promise<void> {
    return closeEnvironment(this.environment)
  }

  get readers(): number {
    return countReaders(this.environment)
  }

  /** Ends the snapshot: later reads in this turn of the event loop see commits of other threads. */
  refresh(): void {
    this.#guard(() => this.environment.resetReadTxn())
  }

  /** Undefined in a new store. Throws OperatorError for a store of another kind or schema version. */
  readIdentity(): ChainIdentity | undefined {
    return checkSchema(this.tables.meta, this.path)
  }

  /** Cached at the first read, since it never changes. */
  get trieForm(): TrieForm | undefined {
    this.#trieForm ??= this.readIdentity()?.trieForm ?? null
    return this.#trieForm ?? undefined
  }

  readMarker(marker: Marker): BlockName | undefined {
    return readBlockName(this.tables.meta.getBinary(metaKeys[marker]))
  }

  readByHand(): ByHand | undefined {
    const row = this.tables.meta.viewUntilNextRead(metaKeys.byHand)
    return row && (unpack(row) as ByHand)
  }

  readPending(): PendingBlock | undefined {
    const { hasPending, revision = 0 } = this.readByHand() ?? {}
    const head = hasPending ? this.readHead() : undefined
    if (head === undefined) return undefined
    if (this.#pending?.revision !== revision) {
      const row = this.tables.meta.getBinary(metaKeys.pendingBlock)
      this.#pending = row && { revision, block: unpack(row) as BlockDiff }
    }
    const isNext = this.#pending !== undefined && equalBytes(this.#pending.block.parentHash, head.hash)
    return isNext ? this.#pending : undefined
  }

  readRootByHand(hash: Uint8Array): Hash32 | undefined {
    if (this.readByHand() === undefined) return undefined
    const root = this.tables.meta.getBinary(metaKeys.rootByHand(hash))
    return root && toHash32(root)
  }

  /** Changes that callers made by hand, in order. */
  changesByHand(): Generator<ChangeByHand> {
    return readChangesByHand(this.tables.meta)
  }

  readCheckpoint(): SignedCheckpoint | undefined {
    return readCheckpoint(this.tables.meta)
  }

  /** The import record of an epoch; undefined if it was not imported as a whole. */
  readEpoch(epoch: number): Epoch | undefined {
    const row = this.tables.meta.getBinary(metaKeys.epoch(epoch))
    return row && (unpack(row) as Epoch)
  }

  readCanonicalHash(number: number): Hash32 | undefined {
    const row = this.tables.blocks.viewUntilNextRead(blockKey(number))
    this.#last = undefined
    if (row === undefined) return this.runs?.hashAt(number)
    if (row.length <= cachedRowMax) this.#last = new StoredBlock(this.#lastMemory.copy(row))
    return leadingHash(row)
  }

  isCanonical(number: number, hash: Uint8Array, isAfterRead = false): boolean {
    const known = this.#canonical
    if (isAfterRead && this.#canonicalIn === this.snapshot && equalBytes(known, hash)) return true
    const row = this.tables.blocks.viewUntilNextRead(blockKey(number))
    const found = row === undefined ? this.runs?.hashAt(number) : leadingHash(row)
    if (found === undefined || !equalBytes(found, hash)) return false
    known.set(hash)
    this.#canonicalIn = this.snapshot
    return true
  }

  readBlock(hash: Hash32, number?: number, isView = false): StoredBlock | undefined {
    const last = this.#last
    this.#last = undefined
    if (!last?.is(hash)) return this.#readBlock(hash, number ?? this.#numberOf(hash), isView)
    return isView ? last : new StoredBlock(briefSlab.copy(last.bytes, last.bytes.length))
  }

  #readBlock(hash: Hash32, number: number | undefined, isView: boolean): StoredBlock | undefined {
    const { blocks, sideBlocks } = this.tables
    const read = (table: ReadTable, key: Uint8Array) =>
      isView ? table.viewUntilNextRead(key) : table.getBrief(key)
    const canonical = number === undefined ? undefined : read(blocks, blockKey(number))
    const block = canonical && new StoredBlock(canonical)
    if (block?.is(hash)) return block
    const side = read(sideBlocks, hash)
    if (side !== undefined) return new StoredBlock(side)
    const made = number === undefined || canonical !== undefined ? undefined : this.runs?.rowAt(number)
    const inRun = made && new StoredBlock(made)
    return inRun?.is(hash) ? inRun : undefined
  }

  /** Runs of empty blocks; undefined if nothing was set by hand. */
  protected get runs(): EmptyRuns | undefined {
    const byHand = this.readByHand()
    return byHand && this.#emptyRuns.of(byHand.revision)
  }

  #runOf(hash: Hash32): FoundRun | undefined {
    return this.runs?.runOf(hash)
  }

  belowRun(hash: Hash32): BlockName | undefined {
    return readBlockName(this.tables.meta.getBinary(metaKeys.belowRun(hash)))
  }

  /** Number of the last block of the run of empty blocks that has this one; undefined for any other block. */
  lastOfRun(number: number): number | undefined {
    return this.runs?.find(number)?.last
  }

  /**
   * At most `count` canonical blocks without their bodies, in order from number `first` on. A walk over neighbouring
   * rows, at a third of the cost of single reads.
   */
  *blocksFrom(first: number, count: number): Generator<StoredBlock> {
    const range = { start: numberKey(first), end: numberKey(first + count) }
    let next = first
    for (const { key, value } of this.tables.blocks.getRange(range)) {
      const number = readUint64(key, 0)
      if (next < number) yield* this.#runBlocks(next, number)
      next = number + 1
      yield new StoredBlock(value)
    }
    yield* this.#runBlocks(next, first + count)
  }

  /** Blocks of one run from `first` to before `end`; none if `first` is in no run. The block after a run has a row. */
  *#runBlocks(first: number, end: number): Generator<StoredBlock> {
    const last = this.lastOfRun(first) ?? -1
    for (let number = first; number < end && number <= last; number++)
      yield new StoredBlock(this.runs?.rowAt(number) as Uint8Array)
  }

  /** Each known block that is not canonical, without its body. */
  *sideBlocks(): Generator<StoredBlock> {
    for (const { value } of this.tables.sideBlocks.getRange()) yield new StoredBlock(value)
  }

  /** Number down to which a gateway has all headers below its head; undefined before there is a head. */
  readLinkedFrom(): number | undefined {
    const row = this.tables.meta.getBinary(metaKeys.linkedFrom)
    return row && readUint64(row, 0)
  }

  /** Ranges of a gateway's canonical blocks that are in the log index. */
  readLogRanges(): LogRange[] {
    const row = this.tables.meta.getBrief(metaKeys.logRanges)
    return row === undefined ? [] : decodeLogRanges(row)
  }

  readHeader(hash: Hash32): Uint8Array | undefined {
    return this.readBlock(hash)?.header
  }

  hasHeader(hash: Hash32): boolean {
    const { numbers, sideBlocks } = this.tables
    return numbers.doesExist(hash) || sideBlocks.doesExist(hash) || this.#runOf(hash) !== undefined
  }

  readBody(hash: Hash32, isView = false): Uint8Array | undefined {
    const { bodies } = this.tables
    const body = isView ? bodies.viewUntilNextRead(hash) : bodies.getBinary(hash)
    return body ?? this.#runOf(hash)?.body ?? this.requireKept('bodies', this.#numberOf(hash))
  }

  readReceipts(hash: Hash32, lacksBlooms?: boolean): Uint8Array | undefined {
    const row = this.#receiptsRow(hash)
    return row === undefined
      ? this.requireKept('receipts', this.#numberOf(hash))
      : unpackReceipts(row, lacksBlooms)
  }

  #receiptsRow(hash: Hash32): Uint8Array | undefined {
    const row = read(this.tables.receipts, hash)
    if (row !== undefined) return row
    const run = this.#runOf(hash)
    return run && packReceipts(run.receipts)
  }

  readReceiptList(hash: Hash32): ReceiptList | undefined {
    const row = this.#receiptsRow(hash)
    return row === undefined ? this.requireKept('receipts', this.#numberOf(hash)) : new ReceiptList(row)
  }

  readBlockAccessList(hash: Hash32): Uint8Array | undefined {
    const packed = read(this.tables.accessLists, hash)
    return packed === undefined ? this.requireKept('bodies', this.#numberOf(hash)) : unpackList(packed)
  }

  /** The row of {@link ChainRows.readReported}. */
  reportedRow(hash: Hash32, part: ReportedPart): ReportedJson | undefined {
    const row = this.tables.reported.getBinary(reportedKey(hash, part))
    return row && readReportedRow(row)
  }

  readTotalDifficulty(hash: Hash32): Uint8Array | undefined {
    return this.readBlock(hash)?.totalDifficulty
  }

  readLocation(transactionHash: Hash32): TransactionLocation | undefined {
    return readPlace(this.tables.locations, transactionHash, (number) => {
      const hash = this.readCanonicalHash(number)
      // The block stays the one that was read last: its transaction or receipt is often next.
      return this.#last ?? (hash && this.readBlock(hash, number, true))
    })
  }

  /** The blocks that have ready answers. */
  readReadyRange(): ReadyRange {
    return decodeReadyRange(this.tables.meta.getBrief(metaKeys.ready))
  }

  readNumber(hash: Hash32): number | undefined {
    return this.#numberOf(hash)
  }

  readReadyBlock(number: number, hash?: Hash32): Uint8Array | undefined {
    return this.#readReady(number, 'block', 0, hash, readyBlockAt)
  }

  readReadyOf(part: 'transaction' | 'receipt', hash: Hash32, from: number): ReadyAnswer | undefined {
    const place = readPlaceNumber(this.tables.locations, hash)
    if (place === undefined || place.number < from) return undefined
    const json = this.#readReady(place.number, part, place.index, hash, readyTransactionAt)
    return json && { number: place.number, json }
  }

  /** A row of a ready answer, by a key of readyRows.ts. */
  readReadyRow(key: Uint8Array): Uint8Array | undefined {
    return this.tables.ready.viewUntilNextRead(key)
  }

  /** JSON of a row whose bytes from `at` on are `hash`; the next read may overwrite it. */
  #readReady(
    number: number,
    part: ReadyPart,
    index: number,
    hash: Hash32 | undefined,
    at: typeof readyBlockAt | typeof readyTransactionAt,
  ): Uint8Array | undefined {
    writeReadyKey(askedReady, number, part, index)
    const row = this.tables.ready.viewUntilNextRead(askedReady)
    if (row === undefined || row[0] !== readyForm || row.length < readyJsonAt) return undefined
    if (hash !== undefined)
      for (let i = 0; i < hash.length; i++) if (row[at + i] !== hash[i]) return undefined
    return row.subarray(readyJsonAt)
  }

  /** Number of all rows of ready answers. */
  countReady(): number {
    return this.tables.ready.getCount()
  }

  /** Each trie node, or each code, preceded by its hash. */
  *hashed(table: 'nodes' | 'code'): Generator<readonly [Uint8Array, Uint8Array]> {
    for (const { key, value } of this.tables[table].getRange()) yield [key, value]
  }

  readNode(hash: Uint8Array): Uint8Array | undefined {
    return read(this.tables.nodes, hash)
  }

  readTrieRow(key: Uint8Array, number?: number): TrieRow | undefined {
    return readTrieRow(this.tables.trie, key, number)
  }

  readSideTrieRow(block: BlockName, key: Uint8Array): TrieRow | null | undefined {
    return readSideRow(this.tables.sideTries, block, key)
  }

  allTries(): AllTries {
    return new AllTries(this.tables, (number) => this.lastOfRun(number) !== undefined)
  }

  /** Inconsistencies in the numbers of contracts, a sentence each. */
  contractFaults(): Iterable<string> {
    return new ContractIds(this.tables.contracts).faults()
  }

  requireTries(number: number): void {
    this.requireKept('trie', number)
  }

  readCode(hash: Hash32): Uint8Array | undefined {
    return read(this.tables.code, hash)
  }

  readLogChunk(key: Uint8Array, from: number): readonly number[] {
    return readLogChunk(this.tables.logs, key, from)
  }

  /** Number of entries in the log index for blocks with stored receipts. Takes time linear in their number. */
  countLogIndex(): number {
    return countLogIndex(this.tables.logs, this.readOldestKept().receipts)
  }

  /** Number of the last snapshot that was read; NaN, equal to no number, if the data may have changed since. */
  protected get snapshot(): number {
    return this.#snapshots?.begun ?? Number.NaN
  }

  readHead(): BlockName | undefined {
    return readBlockName(this.tables.meta.getBrief(metaKeys.head))
  }

  isHead(hash: Uint8Array, isAfterRead = false): boolean {
    if (isAfterRead && this.#headIn === this.snapshot) return this.#isKept(hash)
    const row = this.tables.meta.viewUntilNextRead(metaKeys.head)
    if (row === undefined) return false
    for (let at = 0; at < blockNameBytes; at++) this.#head[at] = row[at] as number
    this.#headIn = this.snapshot
    this.#headHash = undefined
    return this.#isKept(hash)
  }

  mayBeHead(hash: Uint8Array): boolean {
    return this.#headIn > 0 && this.#isKept(hash)
  }

  #isKept(hash: Uint8Array): boolean {
    if (hash === this.#headHash) return true
    for (let at = 0; at < 32; at++) if (this.#head[8 + at] !== hash[at]) return false
    this.#headHash = hash
    return true
  }

  readOldestKept(): OldestKept {
    return decodeOldestKept(this.tables.meta.getBrief(metaKeys.oldestKept))
  }

  /** Call it if a read of block `number` found nothing. Throws FaultError if the data may have been removed. */
  protected requireKept(kind: HistoryKind, number: number | undefined): undefined {
    const oldest = this.readOldestKept()[kind]
    if (number !== undefined && number < oldest) throw new FaultError({ kind: 'HistoryPruned', oldest })
    return undefined
  }

  /** Account at the head, RLP. */
  readAccount(address: Address): Uint8Array | undefined {
    return latestValue('accounts', this.tables.accounts.getBrief(address))
  }

  /** Value at the head without leading zeros; undefined for zero. */
  readSlot(address: Address, slot: Hash32): Uint8Array | undefined {
    askedSlot.set(address)
    askedSlot.set(slot, 20)
    return latestValue('slots', this.tables.slots.getBrief(askedSlot))
  }

  /** Account after canonical block `number`; one reverse range read, however old the block. */
  readAccountAt(address: Address, number: number): Uint8Array | undefined {
    return this.readKeyAt(number, address)
  }

  readAccountChanges(address: Address, from: number, isBackward: boolean, limit: number): readonly number[] {
    const changes = this.readChangesOf(address, from, isBackward, limit)
    if (!isBackward || changes.length === 0) this.requireKept('state', isBackward ? 0 : from)
    return changes
  }

  /** Numbers of the stored blocks that changed a key, upwards or downwards from block `from`. */
  readChangesOf(key: Uint8Array, from: number, isBackward: boolean, limit: number): readonly number[] {
    return changesOf(this.tables, key, from, isBackward, limit)
  }

  /** Value after canonical block `number`; at most one reverse range read, however old the block. */
  readSlotAt(address: Address, slot: Hash32, number: number): Uint8Array | undefined {
    return this.readKeyAt(number, slotKey(address, slot))
  }

  /** Each account that exists at the head, in address order. */
  *accounts(): Generator<readonly [Address, Uint8Array]> {
    yield* latestRows(this.tables, 'accounts') as Generator<[Address, Uint8Array]>
  }

  /** Each non-zero slot of an account at the head, in slot order. */
  *slotsOf(address: Address): Generator<readonly [Hash32, Uint8Array]> {
    for (const [key, value] of latestRows(this.tables, 'slots', address))
      yield [key.slice(20) as Hash32, value]
  }

  /** Each non-zero slot at the head as `address ‖ slot`, in key order. */
  *slots(): Generator<readonly [Uint8Array, Uint8Array]> {
    yield* latestRows(this.tables, 'slots')
  }

  /**
   * Each non-zero slot after canonical block `number` as `address ‖ slot`. Takes time linear in all changes ever
   * made.
   */
  *slotsAt(number: number): Generator<readonly [Uint8Array, Uint8Array]> {
    yield* valuesAt(this.tables, 'slots', number)
  }

  /** All rows of accounts or slots, by key. Takes time linear in all stored changes. */
  stateRows(kind: StateKind): Iterable<StateRow> {
    return stateRows(this.tables, kind)
  }

  /** The writer's digests of all rows of accounts and slots. */
  readStateDigests(): StateDigests {
    return StateDigests.read(this.tables)
  }

  /** Keys that canonical block `number` changed; undefined if the record is not stored. */
  readUndo(number: number): UndoRecord | undefined {
    const row = this.tables.changes.getBinary(numberKey(number))
    if (row !== undefined) return decodeUndo(row)
    return this.lastOfRun(number) === undefined ? undefined : { accounts: [], slots: [] }
  }

  #readPastChanges(number: number): UndoRecord | undefined {
    const head = this.readHead()?.number ?? 0
    const isPast = number > this.readOldestKept().state && number <= head
    return isPast ? this.#pastChanges.read(number) : undefined
  }

  /**
   * Addresses of the accounts that blocks `first` to `last` changed, each at least once. Calls `look` regularly; it may
   * throw.
   */
  *accountsChangedIn(first: number, last: number, look: () => void): Generator<Uint8Array> {
    let next = first
    for (; next <= last; next++) {
      look()
      const undo = this.readUndo(next)
      if (undo === undefined) break
      for (const [address] of undo.accounts) yield address
    }
    if (next > last) return
    this.requireKept('state', next - 1)
    let rows = 0
    for (const { key, since } of this.stateRows('accounts')) {
      if (rows++ % rowsPerLook === 0) look()
      if (since >= next && since <= last) yield key
    }
  }

  /**
   * The state that canonical block `number` replaced; undefined if it is not stored. For a block without an undo record
   * this may take time linear in all rows of state, once for some hundred blocks.
   */
  readReplacedState(number: number): ReplacedState | undefined {
    const undo = this.readUndo(number) ?? this.#readPastChanges(number)
    if (undo === undefined) return undefined
    const before = ([key, since]: UndoEntry): Change => {
      const value = since === undefined ? noBytes : changeIn(this.tables, key, since)
      if (value === undefined) throw new Error(`a value that block ${number} replaced is missing`)
      return [key, value]
    }
    return { accounts: undo.accounts.map(before), slots: undo.slots.map(before) }
  }

  /**
   * Value after block `number` of an account (20 bytes) or slot (52 bytes), if that block changed it; empty if it was
   * removed.
   */
  readChangeIn(number: number, key: Uint8Array): Uint8Array | undefined {
    return changeIn(this.tables, key, number)
  }

  /** Value after canonical block `number` of an account (20 bytes) or slot (52 bytes). */
  readKeyAt(number: number, key: Uint8Array): Uint8Array | undefined {
    const value = valueAt(this.tables, key, number)
    // A value that is found is right: it is removed only if another one replaced it up to the oldest stored block.
    if (value === undefined) this.requireKept('state', number)
    return value === undefined || value.length === 0 ? undefined : value
  }

  /** Each account that exists after canonical block `number`. Takes time linear in all changes ever made. */
  *accountsAt(number: number): Generator<readonly [Address, Uint8Array]> {
    yield* valuesAt(this.tables, 'accounts', number) as Generator<[Address, Uint8Array]>
  }

  /** Each non-zero slot of an account after canonical block `number`. Takes time linear in all its changes. */
  *slotsOfAt(address: Address, number: number): Generator<readonly [Hash32, Uint8Array]> {
    this.requireKept('state', number)
    for (const [key, value] of valuesAt(this.tables, 'slots', number, address))
      yield [key.slice(20) as Hash32, value]
  }

  #numberOf(hash: Hash32): number | undefined {
    const row = this.tables.numbers.getBrief(hash)
    return row === undefined ? this.runs?.numberOf(hash) : readUint64(row, 0)
  }
}

function read(table: ReadTable, key: Uint8Array): Uint8Array | undefined {
  return table.getBinary(key)
}

/** Like {@link numberKey}; valid until the next call. */
function blockKey(number: number): Uint8Array {
  writeUint64(askedNumber, number, 0)
  return askedNumber
}

export function readBlockName(row: Uint8Array | undefined): BlockName | undefined {
  return row && { number: readUint64(row, 0), hash: toHash32(row.slice(8, 40)) }
}

export function readCheckpoint(meta: ReadTable): SignedCheckpoint | undefined {
  const row = meta.getBinary(metaKeys.checkpoint)
  return row && { slot: readUint64(row, 0), root: row.slice(8, 40), anchor: row.slice(40) }
}

/** The identity of a store's chain; undefined if it has none yet. Throws OperatorError for another schema version. */
export function checkSchema(meta: ReadTable | undefined, path: string): ChainIdentity | undefined {
  const row = meta?.getBinary(metaKeys.identity)
  if (row === undefined) return undefined
  const identity = unpack(row) as ChainIdentity & { schema: number }
  if (identity.schema === schemaVersion) return identity
  throw new OperatorError(
    `the store ${path} has schema ${identity.schema}, this version of tidegate reads ${schemaVersion}; ` +
      'use the version that made it, or import the chain again into an empty folder, with "tidegate import"',
  )
}
