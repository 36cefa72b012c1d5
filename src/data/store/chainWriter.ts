/**
 * The only writer of a network's store: applies block diffs, unwinds them, and stores blocks of branches that are not
 * canonical. Every call is one transaction, or part of a batch of several calls. So a store always ends with a whole
 * block, even if the process dies. Rows wait in memory until the commit (writeBuffer.ts). A batch is written while the
 * caller continues, mostly by lmdb's own thread (commitRows.ts).
 */
import type { RootDatabase } from 'lmdb'
import { Packr } from 'msgpackr'
import {
  type Address,
  concatBytes,
  equalBytes,
  type Hash32,
  hashBytes,
  noBytes,
  toHash32,
} from '../../primitives/bytes.js'
import { largest } from '../../primitives/extremes.js'
import { OperatorError } from '../../primitives/faults.js'
import { decodeRlpList } from '../../primitives/rlp.js'
import type { BlockDiff, Change } from './blockDiff.js'
import { ChainReader, type ChainStoreOptions, checkSchema } from './chainReader.js'
import {
  type BlockName,
  type ByHand,
  type ChainIdentity,
  type ChangeByHand,
  type Marker,
  type NextBlock,
  requireIdentity,
  type SignedCheckpoint,
} from './chainRows.js'
import {
  countChangesByHand,
  putChangeByHand,
  readChangesByHand,
  replacedBy,
  rewriteHead,
} from './changesByHand.js'
import type { ContractIds } from './contractIds.js'
import { bufferByContract } from './contractRows.js'
import { cutRun, type EmptyRun, type FoundRun, hashRun, putRun, RunHeaders } from './emptyRuns.js'
import { cutHistory, dropSideBlock, type HistoryKind, type HistoryLimits, keepsAll } from './keptHistory.js'
import { putPlaces, removePlaces } from './layouts/locations.js'
import { packList } from './layouts/packedLists.js'
import { packReceipts } from './layouts/packedReceipts.js'
import { dropUndo, encodeUndo } from './layouts/undoRecord.js'
import { commitRows, commitRowsSync, waitingRows } from './lmdb/commitRows.js'
import { openEnvironment, openTable } from './lmdb/environment.js'
import { type BufferedTables, bufferTables, type WriteBuffer } from './lmdb/writeBuffer.js'
import { lockForWriting, type WriterLock } from './lmdb/writerLock.js'
import { addToLogIndex, cutFromLogIndex } from './logIndex.js'
import { keepReady, type ReadyLimits, type RenderReady, unwindReady } from './readyRows.js'
import { replaceState, restoreState } from './stateChanges.js'
import { StoredBlock, storedBlockRow } from './storedBlock.js'
import { makeChainTables, metaKeys, numberKey, schemaVersion, undoBlocks } from './tables.js'
import { cutSideTries, dropSideTries, replaceTries, restoreTries } from './trieRows.js'

/** A block that is known but not executed: part of a branch that is not canonical. */
export type SideBlock = Pick<
  BlockDiff,
  'number' | 'hash' | 'parentHash' | 'header' | 'body' | 'senders' | 'totalDifficulty'
>

/** All that a store keeps of a block except its state. */
export type HistoryRows = Omit<SideBlock, 'parentHash'> &
  Pick<BlockDiff, 'blockAccessList'> & {
    /** RLP list of byte strings, each a receipt in consensus encoding; undefined on a network without receipts. */
    readonly receipts: Uint8Array | undefined
  }

const packr = new Packr({ useRecords: false })

export interface ChainWriterOptions extends ChainStoreOptions {
  /** See {@link EnvironmentOptions}. */
  readonly isCopy?: boolean
  /** See {@link EnvironmentOptions}. */
  readonly isTemporary?: boolean
  /** Limit of the stored past; the default is all of it. */
  readonly history?: HistoryLimits
}

export class ChainWriter extends ChainReader {
  declare protected readonly tables: BufferedTables
  /** Called before canonical blocks are unwound, while they can still be read. */
  beforeUnwind: (() => void) | undefined
  #buffers: readonly WriteBuffer[] = []
  #contractIds: ContractIds | undefined
  #lock: WriterLock | undefined
  #isDelayed = false
  /** Why the open batch cannot be committed. */
  #delayedFailure: { readonly error: unknown } | undefined
  /** Number of transactions that are not on disk yet; `#inFlight` settles when the last of them is. */
  #flushesInFlight = 0
  #inFlight: Promise<void> = Promise.resolve()
  readonly #commits = { count: 0, seconds: 0 }
  #limits: HistoryLimits = keepsAll
  #ready: { readonly limits: ReadyLimits; readonly render: RenderReady } | undefined
  #hasMoreToCut = false
  /** No waiting change touches a row of this block or an earlier one. */
  #lastStored = Number.POSITIVE_INFINITY

  /**
   * Opens a store for writing, and makes it if there is none. Throws OperatorError if another process writes it, or for
   * a file of another kind or another schema version.
   */
  static openForWriting({ history = keepsAll, ...options }: ChainWriterOptions): ChainWriter {
    const lock = lockForWriting(options.path)
    let environment: RootDatabase | undefined
    try {
      environment = openEnvironment({ ...options, readOnly: false })
      checkSchema(openTable(environment, 'meta'), options.path)
      const tables = makeChainTables(environment)
      const buffers = bufferTables(tables)
      const { named, ids } = bufferByContract(buffers)
      const writer = new this(options.path, environment, named)
      writer.#buffers = Object.values(buffers)
      writer.#contractIds = ids
      writer.#lock = lock
      writer.#limits = history
      return writer
    } catch (error) {
      void environment?.close()
      lock.release()
      throw error
    }
  }

  override async close(): Promise<void> {
    try {
      await this.commitBatch()
    } finally {
      await super.close()
      this.#lock?.release()
    }
  }

  /**
   * Initializes a new store for this chain, with `genesis` as block 0. Does nothing if the store has this genesis
   * already. Throws OperatorError if the store has another chain.
   */
  initialize(identity: ChainIdentity, genesis: BlockDiff): void {
    const known = this.readIdentity()
    if (known !== undefined) {
      if (known.genesisHash === identity.genesisHash) return
      throw new OperatorError(
        `the store ${this.path} is of the chain with genesis ${known.genesisHash}, not ${identity.genesisHash}; ` +
          'use another data folder or the genesis it was made with',
      )
    }
    this.commit(() => {
      this.putIdentity(identity)
      this.#writeCanonical(genesis)
    })
  }

  /** Replaces the `config` of the chain; the caller must have checked that its blocks follow it. */
  writeConfig(config: string): void {
    const identity = requireIdentity(this)
    this.commit(() => this.putIdentity({ ...identity, config }))
  }

  /**
   * Unwinds every canonical block above `forkNumber`, then appends `blockDiffs` in order; all in one transaction. The
   * first block diff's parent must be the canonical block `forkNumber`.
   */
  apply(forkNumber: number, blockDiffs: readonly BlockDiff[]): void {
    this.commit(() => {
      const head = this.readHead()
      if (head === undefined) throw new Error('a store without genesis takes no blocks')
      if (forkNumber < 0 || forkNumber > head.number) {
        throw new Error(`block ${forkNumber} is not canonical; the head is block ${head.number}`)
      }
      if (forkNumber < head.number) {
        this.#requireUnwindable(forkNumber)
        this.beforeUnwind?.()
      }
      this.#lastStored = Math.min(this.#lastStored, forkNumber)
      this.#unwindTo(head, forkNumber)
      for (const [index, blockDiff] of blockDiffs.entries()) {
        const parentHash = this.readCanonicalHash(forkNumber + index) as Hash32
        if (blockDiff.number !== forkNumber + index + 1 || !equalBytes(parentHash, blockDiff.parentHash)) {
          throw new Error(`block ${blockDiff.number} does not extend the canonical chain`)
        }
        this.#writeCanonical(blockDiff)
      }
    })
  }

  /** From now on commits store the answers about the newest blocks (readyRows.ts). The store has its genesis. */
  keepReady(limits: ReadyLimits, render: RenderReady): void {
    this.#ready = { limits, render }
  }

  #unwindTo(head: BlockName, forkNumber: number): void {
    let { number, hash } = head
    while (number > forkNumber) {
      this.#unwindBlock(number--)
      const run = this.runs?.find(number)
      if (run !== undefined) {
        number = Math.max(forkNumber, run.first - 1)
        this.#cutRun(run, number, hash)
      }
      hash = this.readCanonicalHash(number) as Hash32
    }
  }

  /** Ends a run of empty blocks with block `end`, which becomes the head; `above` is the block after the run. */
  #cutRun(run: FoundRun, end: number, above: Hash32): void {
    const { meta } = this.tables
    const hash = this.readCanonicalHash(end) as Hash32
    const row = end < run.first ? undefined : this.runs?.rowAt(end)
    this.putByHand({})
    meta.putSync(metaKeys.belowRun(above), concatBytes(numberKey(end), hash))
    cutRun(meta, run, end)
    if (row === undefined) this.putHead({ number: end, hash })
    else this.#writeEmpty(end, hash, new StoredBlock(row).header, run)
  }

  /** Stores an empty block like any other; it changes nothing. */
  #writeEmpty(number: number, hash: Hash32, header: Uint8Array, run: EmptyRun): void {
    const { body, receipts, totalDifficulty } = run
    const nothing = { senders: noBytes, accounts: [], slots: [], trie: [], code: [] }
    const parentHash = decodeRlpList(header)[0] as Hash32
    this.#writeCanonical({ number, hash, parentHash, header, body, receipts, totalDifficulty, ...nothing })
  }

  /**
   * Appends empty blocks with the header of `run`, which do not change the state: all but the last as one run. `run.last`
   * is the last block, `run.header` that of the block after the head.
   */
  appendRun(run: EmptyRun): void {
    const { head } = this
    const first = head.number + 1
    const hashes = hashRun(first, run)
    const at = hashes.length - 2 * hashBytes
    const parentHash = at < 0 ? head.hash : hashes.subarray(at, at + hashBytes)
    const timestamp = run.timestamp + (run.last - first) * run.step
    const header = new RunHeaders(run.header).at(run.last, timestamp, parentHash).slice()
    this.commit(() => {
      // Readers look for runs only if something was set by hand.
      this.putByHand({})
      if (run.last > first)
        putRun(this.tables.meta, first, { ...run, last: run.last - 1 }, hashes.subarray(0, -hashBytes))
      this.#writeEmpty(run.last, toHash32(hashes.slice(-hashBytes)), header, run)
    })
  }

  /** Whether a run of empty blocks can be stored: the removal of old state walks over the rows of each block. */
  get canHaveRuns(): boolean {
    return Object.values(this.#limits).every((blocks) => blocks === Number.POSITIVE_INFINITY)
  }

  /** Number of blocks above one that are no part of a run, which a revert takes back one by one. */
  countOwnAbove(number: number): number {
    return this.head.number - number - (this.runs?.countAbove(number) ?? 0)
  }

  /**
   * Removes some expired history, and stores some of the missing ready answers. Each commit does the same. Returns
   * whether there is more. Call it only while no batch is open and no commit runs.
   */
  cutHistory(): boolean {
    this.commit(() => undefined)
    return this.#hasMoreToCut
  }

  /** Reads of the writer are not bound by the kept history. But incomplete state or tries are never built on. */
  protected override requireKept(kind: HistoryKind, number: number | undefined): undefined {
    return kind === 'state' || kind === 'trie' ? super.requireKept(kind, number) : undefined
  }

  #requireUnwindable(forkNumber: number): void {
    const { state, trie, receipts, bodies } = this.readOldestKept()
    // Needed: the state of the block that stays, and receipts and bodies of the blocks that go.
    const oldest = largest([state, trie, receipts - 1, bodies - 1])
    if (forkNumber >= oldest) {
      const first = (this.lastOfRun(forkNumber + 1) ?? forkNumber) + 1
      if (this.tables.changes.doesExist(numberKey(first))) return
      throw new OperatorError(
        `the store ${this.path} cannot go back to block ${forkNumber}: it can take back ${undoBlocks} blocks; ` +
          'import the chain again into an empty folder',
      )
    }
    const { start } = this.readIdentity() ?? {}
    if (start !== undefined && forkNumber < start.number) {
      throw new OperatorError(
        `the store ${this.path} cannot go back to block ${forkNumber}: it begins at block ${start.number}; ` +
          'begin anew from a state before it, or from the genesis',
      )
    }
    throw new OperatorError(
      `the store ${this.path} cannot go back to block ${forkNumber}: it keeps history from block ${oldest} on; ` +
        'raise "history" of the network and import the chain again into an empty folder',
    )
  }

  /** Sets the safe or finalized block. */
  writeMarker(marker: Marker, { number, hash }: BlockName): void {
    this.commit(() => this.tables.meta.putSync(metaKeys[marker], concatBytes(numberKey(number), hash)))
  }

  writeCheckpoint({ slot, root, anchor }: SignedCheckpoint): void {
    this.commit(() =>
      this.tables.meta.putSync(metaKeys.checkpoint, concatBytes(numberKey(slot), root, anchor)),
    )
  }

  /** Sets the values that callers of a developer chain want in its next block. */
  writeNextBlock(next: NextBlock | undefined): void {
    this.commit(() => this.putByHand({ next }))
  }

  /** Stores the block that could be made now of the waiting transactions; undefined means that there is none. */
  writePending(block: BlockDiff | undefined): void {
    this.commit(() => {
      if (block === undefined) this.tables.meta.removeSync(metaKeys.pendingBlock)
      else this.tables.meta.putSync(metaKeys.pendingBlock, packr.pack(block))
      this.putByHand({ hasPending: block !== undefined })
    })
  }

  /**
   * Applies a caller's change to the state after the head; the head's header stays. `code` is new code by its hash.
   * `nodes` are new trie nodes, for a store whose tries are no rows. Throws OperatorError if the store cannot unwind
   * one block.
   */
  changeByHand(
    change: Omit<ChangeByHand, 'number'>,
    code: readonly Change[] = [],
    _nodes: readonly Change[] = [],
  ): void {
    this.commit(() => {
      const { head, tables } = this
      const replaced = replacedBy(tables, this.#headRows, change)
      this.#lastStored = Math.min(this.#lastStored, head.number - 1)
      for (const [key, value] of code) tables.code.putSync(key, value)
      rewriteHead(tables, this.#headRows, head, change)
      putChangeByHand(tables.meta, head, this.countByHand(head.number), { ...change, ...replaced })
      tables.meta.putSync(metaKeys.rootByHand(head.hash), change.stateRoot)
      this.putByHand({ added: 1 })
    })
  }

  /** Number of changes to the state after a block. */
  countByHand(number: number): number {
    return countChangesByHand(this.tables.meta, number)
  }

  /** Takes back the changes to the state after the head except the first `kept`, in one transaction. */
  undoByHand(kept: number): void {
    this.commit(() => {
      const { head, tables } = this
      const changes = [...readChangesByHand(tables.meta, head.number)]
      this.#lastStored = Math.min(this.#lastStored, head.number - 1)
      for (let index = changes.length - 1; index >= kept; index--) {
        rewriteHead(tables, this.#headRows, head, changes[index] as ChangeByHand)
        putChangeByHand(tables.meta, head, index, undefined)
      }
      const last = kept === 0 ? undefined : changes[kept - 1]
      if (last === undefined) tables.meta.removeSync(metaKeys.rootByHand(head.hash))
      else tables.meta.putSync(metaKeys.rootByHand(head.hash), last.stateRoot)
      this.putByHand({ added: Math.min(0, kept - changes.length) })
    })
  }

  readonly #headRows = {
    readAccount: (address: Uint8Array) => this.readAccount(address as Address),
    readSlot: (key: Uint8Array) => this.readSlot(key.subarray(0, 20) as Address, key.subarray(20) as Hash32),
    readUndo: (number: number) => this.readUndo(number),
  }

  /**
   * Writes the row of changes by callers. `next` is unchanged if it is not given; a stored pending block becomes
   * invalid.
   */
  protected putByHand({
    added = 0,
    hasPending = false,
    ...named
  }: {
    added?: number
    hasPending?: boolean
    next?: NextBlock | undefined
  }): void {
    const { revision = 0, changes = 0, ...before } = this.readByHand() ?? {}
    const { next } = { ...before, ...named }
    const row: ByHand = {
      revision: revision + 1,
      changes: changes + added,
      ...(next && { next }),
      ...(hasPending && { hasPending }),
    }
    this.tables.meta.putSync(metaKeys.byHand, packr.pack(row))
  }

  /**
   * Removes the changes to the state after a block that is unwound: its undo record has covered them. The root stays, for
   * reads of the state after that block, until it is canonical again.
   */
  protected dropByHand({ number, hash }: BlockName): void {
    if (!this.readByHand()?.changes) return
    const count = this.countByHand(number)
    if (count === 0) return
    for (let index = 0; index < count; index++)
      putChangeByHand(this.tables.meta, { number, hash }, index, undefined)
    this.putByHand({ added: -count })
  }

  /** Stores a block of a branch that is not canonical. */
  writeSideBlock(block: SideBlock): void {
    const { hash, body } = block
    if (this.tables.numbers.doesExist(hash)) return
    this.commit(() => {
      this.tables.bodies.putSync(hash, body)
      this.tables.sideBlocks.putSync(hash, storedBlockRow(hash, block))
    })
  }

  /**
   * Makes all writes until {@link commitBatch} one transaction with one flush. This writer sees them at once, others
   * only after the commit. If the process dies before, or a write throws, the store stays as it was. An open batch can
   * be read and extended while an earlier transaction is written.
   */
  beginBatch(): void {
    this.#isDelayed = true
  }

  /**
   * Makes all writes of `work` one transaction, which is on disk when this returns. If `work` throws, its earlier
   * writes are stored. If a write throws, the store stays as it was.
   */
  writeTogether(work: () => void): void {
    this.beginBatch()
    try {
      work()
    } finally {
      this.#isDelayed = false
      if (this.#delayedFailure === undefined) this.#commitAtOnce()
      else this.#forget()
    }
  }

  /** The head. Throws if the store has no genesis. */
  get head(): BlockName {
    const head = this.readHead()
    if (head === undefined) throw new Error('the store has no genesis')
    return head
  }

  /** Number of rows that wait for {@link commitBatch}. Each takes one or two pages of 4 KB while it is written. */
  get uncommittedRows(): number {
    return waitingRows(this.#buffers)
  }

  /** Number of transactions on disk, and the time to write their rows and pages and to flush them. */
  get commits(): { readonly count: number; readonly seconds: number } {
    return this.#commits
  }

  /**
   * Commits the open batch, if any. Settles when it and all earlier ones are on disk. If it rejects, none of them is
   * stored, nor any write since.
   */
  commitBatch(): Promise<void> {
    if (this.#isDelayed) {
      this.#isDelayed = false
      this.#inFlight = this.#flush(this.#inFlight)
      return this.#inFlight
    }
    return this.#flushesInFlight > 0 ? this.#inFlight : Promise.resolve()
  }

  /** Drops the open batch: the store stays as it was before {@link beginBatch}. */
  async abandonDelayed(): Promise<void> {
    const isDelayed = this.#isDelayed
    this.#isDelayed = false
    if (this.#flushesInFlight > 0) await this.#inFlight
    if (isDelayed) this.#forget()
  }

  protected commit(write: () => void): void {
    if (this.#delayedFailure !== undefined) throw this.#delayedFailure.error
    if (!this.#isDelayed && this.#flushesInFlight > 0) throw new Error('an earlier commit is under way')
    try {
      write()
    } catch (error) {
      if (this.#isDelayed) this.#delayedFailure = { error }
      else this.#forget()
      throw error
    }
    if (!this.#isDelayed) this.#commitAtOnce()
  }

  async #flush(earlier: Promise<void>): Promise<void> {
    const isFirst = this.#flushesInFlight++ === 0
    try {
      if (!isFirst) await earlier
      if (this.#delayedFailure !== undefined) throw this.#delayedFailure.error
      this.#cut()
      const begunMs = performance.now()
      const blocks = this.tables.blocks.waiting
      await commitRows(this.environment, this.path, this.#buffers, blocks)
      this.#flushed(begunMs)
    } catch (error) {
      this.#forget()
      if (this.#isDelayed) this.#delayedFailure = { error }
      throw error
    } finally {
      this.#flushesInFlight--
    }
  }

  #commitAtOnce(): void {
    const begunMs = performance.now()
    try {
      this.#cut()
      commitRowsSync(this.environment, this.path, this.#buffers)
    } catch (error) {
      this.#forget()
      throw error
    }
    this.#flushed(begunMs)
  }

  /** Adds the removal of some history to the waiting changes. All other changes must be on disk. */
  #cut(): void {
    const head = this.readHead()
    if (head === undefined) return
    this.#hasMoreToCut = false
    this.#cutPast(head.number)
    if (this.#ready === undefined) return
    const { receipts, bodies } = this.readOldestKept()
    const blocks = {
      head: head.number,
      oldest: Math.max(receipts, bodies),
      added: this.tables.blocks.waiting,
    }
    const { limits, render } = this.#ready
    if (keepReady(this.tables, limits, blocks, render)) this.#hasMoreToCut = true
  }

  #cutPast(head: number): void {
    const left = cutSideTries(this.tables, head)
    if (this.#limits === keepsAll) return
    for (const hash of Number.isFinite(this.#limits.bodies) ? left : []) dropSideBlock(this.tables, hash)
    const at = { head, last: Math.min(head, this.#lastStored), written: this.uncommittedRows }
    this.#lastStored = Number.POSITIVE_INFINITY
    this.#hasMoreToCut = cutHistory(this.tables, this.#limits, at, (number) => this.readUndo(number))
  }

  #flushed(begunMs: number): void {
    for (const table of this.#buffers) table.flushed()
    this.#commits.count++
    this.#commits.seconds += (performance.now() - begunMs) / 1_000
  }

  #forget(): void {
    for (const table of this.#buffers) table.forget()
    this.#contractIds?.forget()
    this.#delayedFailure = undefined
  }

  /** The receipts of a canonical block. */
  #receiptsOf(number: number, hash: Hash32 | undefined): Uint8Array {
    const receipts = hash && this.readReceipts(hash, true)
    if (receipts === undefined) throw new Error(`the receipts of block ${number} are missing`)
    return receipts
  }

  #writeCanonical(blockDiff: BlockDiff): void {
    const { number } = blockDiff
    const tables = this.tables
    if (tables.sideBlocks.doesExist(blockDiff.hash)) dropSideTries(tables, number, blockDiff.hash)
    if (this.readByHand() !== undefined) tables.meta.removeSync(metaKeys.rootByHand(blockDiff.hash))
    this.writeHistory(blockDiff)
    replaceTries(tables, blockDiff.trie, number)
    for (const [key, value] of blockDiff.code) tables.code.putSync(key, value)
    const undo = replaceState(tables, blockDiff, number)
    // Nothing unwinds the genesis.
    if (number > 0) tables.changes.putSync(numberKey(number), encodeUndo(undo))
    // With limited state history, cutHistory removes these records with the state.
    if (number > undoBlocks && this.#limits.state === Number.POSITIVE_INFINITY)
      dropUndo(tables.changes, number - undoBlocks)
    this.putHead(blockDiff)
  }

  protected putIdentity(identity: ChainIdentity): void {
    this.tables.meta.putSync(metaKeys.identity, packr.pack({ ...identity, schema: schemaVersion }))
  }

  protected putHead({ number, hash }: BlockName): void {
    this.tables.meta.putSync(metaKeys.head, concatBytes(numberKey(number), hash))
  }

  /**
   * Writes everything of a canonical block except its state. The block is the newest one, or above the head until that
   * moves.
   */
  protected writeHistory(block: HistoryRows): void {
    const { number, hash, receipts, blockAccessList } = block
    const tables = this.tables
    tables.bodies.putSync(hash, block.body)
    tables.blocks.putSync(numberKey(number), storedBlockRow(hash, block))
    tables.numbers.putSync(hash, numberKey(number))
    tables.sideBlocks.removeSync(hash)
    putPlaces(tables.locations, number, block.senders)
    if (blockAccessList !== undefined) tables.accessLists.putSync(hash, packList(blockAccessList))
    if (receipts === undefined) return
    tables.receipts.putSync(hash, packReceipts(receipts))
    addToLogIndex(tables.logs, receipts, number)
  }

  /** Undoes the changes of block `number` to the canonical tables; the block itself stays stored by its hash. */
  #unwindBlock(number: number): void {
    const tables = this.tables
    const row = tables.blocks.getBinary(numberKey(number))
    const undo = this.readUndo(number)
    const parentHash = this.readCanonicalHash(number - 1)
    if (row === undefined || undo === undefined || parentHash === undefined) {
      throw new Error(`block ${number} cannot be unwound: its rows are missing`)
    }
    const { hash, senders } = new StoredBlock(row)
    restoreState(tables, undo, number)
    restoreTries(tables, number, hash)
    this.dropByHand({ number, hash })
    cutFromLogIndex(tables.logs, this.#receiptsOf(number, hash), number)
    removePlaces(tables.locations, senders)
    unwindReady(tables, number)
    tables.accessLists.removeSync(hash)
    tables.changes.removeSync(numberKey(number))
    tables.blocks.removeSync(numberKey(number))
    tables.numbers.removeSync(hash)
    tables.sideBlocks.putSync(hash, row)
    this.putHead({ number: number - 1, hash: parentHash })
  }
}
