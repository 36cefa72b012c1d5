/**
 * Reads one network's store. Owns keys and the decoding of rows to bytes; `chain` and `state` decode the bytes. A
 * missing row is undefined; a store that cannot be read throws.
 */
import type { RootDatabase } from 'lmdb'
import { unpack } from 'msgpackr'
import { equalBytes, type Hash32, hashBytes, readUint64 } from '../../primitives/bytes.js'
import { OperatorError } from '../../primitives/faults.js'
import { briefSlab } from '../../primitives/slab.js'
import {
  type BlockName,
  type ChainIdentity,
  type ChainRows,
  type Epoch,
  type Marker,
  readToldRow,
  type SignedCheckpoint,
  type ToldJson,
  type ToldPart,
  type TransactionLocation,
  type TrieForm,
  toldKey,
} from './chainRows.js'
import { checkSchema } from './checkSchema.js'
import { ContractIds } from './contractIds.js'
import { readByContract } from './contractRows.js'
import {
  closeEnvironment,
  countReaders,
  LateTable,
  openEnvironment,
  openTable,
  snapshotsOf,
} from './environment.js'
import { readPlace } from './locations.js'
import { countLogIndex, readLogChunk } from './logIndex.js'
import { decodeLogRanges, type LogRange } from './logRanges.js'
import { unpackList } from './packedLists.js'
import { unpackReceipts } from './packedReceipts.js'
import { guardTables, type ReadGuard, type ReadTable, withoutUnheld } from './readTable.js'
import { readBlockName, readCheckpoint, StateRowsReader } from './stateRowsReader.js'
import { StoredBlock } from './storedBlock.js'
import { lateTables, metaKeys, numberKey, openChainTables, type ReadTables } from './tables.js'
import type { TrieRow } from './trieRow.js'
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

/** Rows of blocks up to this length are held where only their hash is asked for: the block is often next. */
const heldRowMax = 8 * 1024

export class ChainReader extends StateRowsReader implements ChainRows {
  readonly #guard: ReadGuard = (read) => read()
  /** The block whose hash was asked for last, in {@link #lastMemory}; rows of one hash are always the same. */
  #last: StoredBlock | undefined
  readonly #lastMemory = new Uint8Array(heldRowMax)
  /** The block that was found to be canonical last, and in which snapshot. */
  readonly #canonical = new Uint8Array(hashBytes)
  #canonicalIn = Number.NaN
  #trieForm: TrieForm | null | undefined
  /** Tables that no writer has made yet. */
  #late: readonly LateTable[] = []

  protected constructor(
    readonly path: string,
    protected readonly environment: RootDatabase,
    tables: ReadTables,
    guard: ReadGuard = (read) => read(),
  ) {
    super(tables, snapshotsOf(environment))
    this.#guard = guard
  }

  /**
   * Opens a store for reading, also while another process writes it. Throws OperatorError for a missing store, a
   * store without a chain, a file of another kind, or another schema version. `classOf` chooses how its rows are read.
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
      const held = named && history ? withoutUnheld(named, history.hasReceipts) : named
      const guarded = held && guard ? guardTables(held, guard) : held
      const Reader = identity ? classOf(identity) : ChainReader
      const reader = guarded && new Reader(options.path, environment, guarded, guard)
      const late: ReadTable[] = lateTables.flatMap((name) => tables?.[name] ?? [])
      if (reader) reader.#late = late.filter((table) => table instanceof LateTable)
      // A store of archives has an identity before it has the first of them whole.
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
    if (this.#late.length > 0) this.#late = this.#late.filter((table) => !table.open())
  }

  /** Undefined in a new store. Throws OperatorError for a store of another kind or schema version. */
  readIdentity(): ChainIdentity | undefined {
    return checkSchema(this.tables.meta, this.path)
  }

  /** Known from the first read on, since a chain keeps it. */
  get trieForm(): TrieForm | undefined {
    this.#trieForm ??= this.readIdentity()?.trieForm ?? null
    return this.#trieForm ?? undefined
  }

  readMarker(marker: Marker): BlockName | undefined {
    return readBlockName(this.tables.meta.getBinary(metaKeys[marker]))
  }

  readCheckpoint(): SignedCheckpoint | undefined {
    return readCheckpoint(this.tables.meta)
  }

  /** What was imported of an epoch; undefined where nothing was, or not as a whole. */
  readEpoch(epoch: number): Epoch | undefined {
    const row = this.tables.meta.getBinary(metaKeys.epoch(epoch))
    return row && (unpack(row) as Epoch)
  }

  readCanonicalHash(number: number): Hash32 | undefined {
    const row = this.tables.blocks.viewUntilNextRead(numberKey(number))
    this.#last = undefined
    if (row === undefined) return undefined
    if (row.length <= heldRowMax) {
      this.#lastMemory.set(row)
      this.#last = new StoredBlock(this.#lastMemory.subarray(0, row.length))
    }
    return row.slice(0, 32) as Hash32
  }

  isCanonical(number: number, hash: Uint8Array, isAfterRead = false): boolean {
    const known = this.#canonical
    if (isAfterRead && this.#canonicalIn === this.snapshot && equalBytes(known, hash)) return true
    const row = this.tables.blocks.viewUntilNextRead(numberKey(number))
    if (row === undefined || !new StoredBlock(row).is(hash)) return false
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
    const canonical = number === undefined ? undefined : read(blocks, numberKey(number))
    const block = canonical && new StoredBlock(canonical)
    if (block?.is(hash)) return block
    const side = read(sideBlocks, hash)
    return side && new StoredBlock(side)
  }

  /**
   * `count` canonical blocks without their bodies from number `first` on, in order; fewer where there are no more. A walk
   * over rows that stand together, at a third of what the same reads cost one by one.
   */
  *blocksFrom(first: number, count: number): Generator<StoredBlock> {
    const range = { start: numberKey(first), end: numberKey(first + count) }
    for (const { value } of this.tables.blocks.getRange(range)) yield new StoredBlock(value)
  }

  /** Each known block that is not canonical, without its body. */
  *sideBlocks(): Generator<StoredBlock> {
    for (const { value } of this.tables.sideBlocks.getRange()) yield new StoredBlock(value)
  }

  /** Number down to which a gateway holds all headers below its head; undefined before there is a head. */
  readLinkedFrom(): number | undefined {
    const row = this.tables.meta.getBinary(metaKeys.linkedFrom)
    return row && readUint64(row, 0)
  }

  /** Which canonical blocks of a gateway are in the log index. */
  readLogRanges(): LogRange[] {
    const row = this.tables.meta.getBrief(metaKeys.logRanges)
    return row === undefined ? [] : decodeLogRanges(row)
  }

  readHeader(hash: Hash32): Uint8Array | undefined {
    return this.readBlock(hash)?.header
  }

  hasHeader(hash: Hash32): boolean {
    return this.tables.numbers.doesExist(hash) || this.tables.sideBlocks.doesExist(hash)
  }

  readBody(hash: Hash32, isView = false): Uint8Array | undefined {
    const { bodies } = this.tables
    const body = isView ? bodies.viewUntilNextRead(hash) : bodies.getBinary(hash)
    return body ?? this.requireKept('bodies', this.#numberOf(hash))
  }

  readReceipts(hash: Hash32, lacksBlooms?: boolean): Uint8Array | undefined {
    const row = read(this.tables.receipts, hash)
    return row === undefined
      ? this.requireKept('receipts', this.#numberOf(hash))
      : unpackReceipts(row, lacksBlooms)
  }

  readBlockAccessList(hash: Hash32): Uint8Array | undefined {
    const packed = read(this.tables.accessLists, hash)
    return packed === undefined ? this.requireKept('bodies', this.#numberOf(hash)) : unpackList(packed)
  }

  /** The row of {@link ChainRows.readTold}. */
  toldRow(hash: Hash32, part: ToldPart): ToldJson | undefined {
    const row = this.tables.told.getBinary(toldKey(hash, part))
    return row && readToldRow(row)
  }

  readTotalDifficulty(hash: Hash32): Uint8Array | undefined {
    return this.readBlock(hash)?.totalDifficulty
  }

  readLocation(transactionHash: Hash32): TransactionLocation | undefined {
    return readPlace(this.tables.locations, transactionHash, (number) => {
      const hash = this.readCanonicalHash(number)
      return hash && this.readBlock(hash, number, true)
    })
  }

  /** Each trie node, or each code, with its hash before it. */
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
    return new AllTries(this.tables)
  }

  /** What does not fit in the numbers of contracts, a sentence each. */
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

  /** Number of entries in the log index of blocks whose receipts are kept. Takes time linear in their number. */
  countLogIndex(): number {
    return countLogIndex(this.tables.logs, this.readOldestKept().receipts)
  }

  #numberOf(hash: Hash32): number | undefined {
    const row = this.tables.numbers.getBrief(hash)
    return row && readUint64(row, 0)
  }
}

function read(table: ReadTable, key: Uint8Array): Uint8Array | undefined {
  return table.getBinary(key)
}
