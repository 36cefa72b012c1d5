import { Packr } from 'msgpackr'
import {
  concatBytes,
  equalBytes,
  type Hash32,
  noBytes,
  readUint64,
  toHash32,
} from '../../primitives/bytes.js'
import { OperatorError } from '../../primitives/faults.js'
import type { Change } from './blockDiff.js'
import {
  ancestorsMax,
  type BlockName,
  type ChainIdentity,
  type ReportedJson,
  reportedKey,
  reportedRow,
  storeKindOf,
  type TransactionLocation,
} from './chainRows.js'
import { ChainWriter, type ChainWriterOptions } from './chainWriter.js'
import { packList } from './layouts/packedLists.js'
import { packReceipts } from './layouts/packedReceipts.js'
import { readStoredSlot, readStoredValue, storedValueKey } from './layouts/storedValueRows.js'
import { addToLogIndex, cutFromLogIndex } from './logIndex.js'
import { encodeLogRanges, type LogRange, logRangeAt, withNumber, withoutNumber } from './logRanges.js'
import { StoredBlock, storedBlockRow, transactionHashes, withTotalDifficulty } from './storedBlock.js'
import { type BlockChanges, type ProvedValues, StoredValues, undoBlocksMin } from './storedValues.js'
import { metaKeys, numberKey, schemaVersion } from './tables.js'

/** An account that has some code after a block. */
export interface CodeOwner {
  readonly block: Hash32
  readonly address: Uint8Array
}

/** An account and some of its slots, with the trie nodes that prove them. */
export interface ProvedState {
  readonly nodes: readonly Change[]
  /** Undefined if there is no account, or it has no code. */
  readonly codeHash: Hash32 | undefined
  readonly values: ProvedValues
}

/** Tables whose rows may be dropped. */
export type StateTable = 'values' | 'nodes' | 'code'

const noHash = new Uint8Array(0) as Hash32

/** A header of the canonical chain. */
export interface CanonicalHeader extends BlockName {
  /** RLP. */
  readonly header: Uint8Array
  /** Shortest big-endian bytes; undefined if it is not known. */
  readonly totalDifficulty: Uint8Array | undefined
}

/** Content of a block whose header is stored. */
export interface BlockContent {
  readonly body: Uint8Array
  /** Sender (20 bytes) ‖ transaction hash (32 bytes), per transaction. */
  readonly senders: Uint8Array
  /** Only for a chain of another family. */
  readonly reported?: ReportedJson | undefined
}

/** Parts of a block that were missing in the store. */
export interface FetchedParts {
  readonly hash: Hash32
  readonly content: BlockContent | undefined
  readonly receipts: FetchedReceipts
}

export interface FetchedReceipts {
  /** RLP list of byte strings, each a receipt in consensus encoding. */
  readonly row: Uint8Array
  /** Only for a chain of another family. */
  readonly reported?: ReportedJson | undefined
}

/** A block with everything that is stored for it. */
export interface FetchedBlock extends FetchedParts {
  readonly header: Uint8Array
  readonly content: BlockContent
  /** RLP. */
  readonly accessList: Uint8Array | undefined
  readonly nodes: readonly Change[]
  readonly codes: readonly Change[]
}

/** Data that comes with a new head besides its headers. */
export interface HeadNews {
  /** Changes of a block; undefined if they are unknown: then values proved before the block are not valid after it. */
  readonly changesOf: (header: CanonicalHeader) => BlockChanges | undefined
  /** State that was proved after the last of the headers. */
  readonly proved: readonly ProvedState[]
}

/**
 * Most ranges of blocks in the log index. A long outage of upstreams adds one, until the gap is filled. Each search
 * reads all of them.
 */
export const logRangesMax = 64

/** Blocks that leave the canonical chain in one transaction: 50 ms. */
const movedMax = 4_096

const noNews: HeadNews = { changesOf: () => undefined, proved: [] }

const packr = new Packr({ useRecords: false })

/**
 * The writer of a gateway's store: parts of a chain in any order, as they were requested and proved. A canonical block
 * has at least a header. Its body, receipts, and state nodes come later, or never.
 */
export class GatewayWriter extends ChainWriter {
  readonly #stored = new StoredValues(this.tables)
  /** Whether new heads are added to the log index. */
  keepsLogIndex = false
  /** Number of blocks whose known state is kept. */
  keptBlocks = undoBlocksMin

  static override open(options: ChainWriterOptions): GatewayWriter {
    return GatewayWriter.openForWriting({ ...options, isCopy: true }) as GatewayWriter
  }

  /** Binds the store to this chain. Throws OperatorError if it is of another chain, or of another kind. */
  begin(identity: ChainIdentity): void {
    const known = this.readIdentity()
    if (known !== undefined && storeKindOf(known).blocks === 'whole') {
      throw new OperatorError(
        `the store ${this.path} is no gateway's; give the gateway a data folder or a network name of its own`,
      )
    }
    if (known !== undefined && known.genesisHash !== identity.genesisHash) {
      throw new OperatorError(
        `the store ${this.path} is of the chain with genesis ${known.genesisHash}, and the upstream's is ${identity.genesisHash}; use another data folder or another upstream`,
      )
    }
    const row = packr.pack({ ...identity, gateway: true, schema: schemaVersion })
    const before = this.tables.meta.getBinary(metaKeys.identity)
    const head = this.readHead()
    const isCurrent = head === undefined || this.#stored.isAt(head.hash)
    // Writing to a full disk fails, but the stored data can still be served.
    if (isCurrent && before !== undefined && equalBytes(before, row)) return
    this.commit(() => {
      this.tables.meta.putSync(metaKeys.identity, row)
      if (!isCurrent) this.#stored.restart(head)
    })
  }

  /** The row of a canonical block; it may have only the header. */
  readCanonicalRow(number: number): StoredBlock | undefined {
    const row = this.tables.blocks.getBinary(numberKey(number))
    return row && new StoredBlock(row)
  }

  /** Stores a block that is not canonical yet, with everything that was fetched with it. */
  putBlock({ hash, header, content, receipts, accessList, nodes, codes }: FetchedBlock): void {
    this.commit(() => {
      if (!this.hasHeader(hash)) this.#putSideHeader(hash, header)
      this.#putContent(hash, content)
      const { tables } = this
      this.#putReceipts(hash, receipts)
      if (accessList !== undefined) tables.accessLists.putSync(hash, packList(accessList))
      for (const change of nodes) tables.nodes.putSync(...change)
      for (const change of codes) tables.code.putSync(...change)
    })
  }

  /**
   * Moves every block above `forkNumber` to the side blocks, then makes `headers` the newest canonical ones. They link
   * from `forkNumber` up; with `isUnlinked` nothing below the first of them links to it.
   */
  advance(
    forkNumber: number,
    headers: readonly CanonicalHeader[],
    isUnlinked: boolean,
    { changesOf, proved }: HeadNews = noNews,
  ): void {
    const { meta } = this.tables
    const last = headers.at(-1)
    this.commit(() => {
      for (let number = this.readHead()?.number ?? -1; number > forkNumber; number--) {
        this.#moveAside(number)
        this.#stored.unwind(number)
      }
      for (const header of headers) {
        this.#putHeader(header)
        const changes = isUnlinked ? undefined : changesOf(header)
        if (changes === undefined) this.#stored.miss(header)
        else this.#stored.apply(header, changes)
      }
      if (last !== undefined) {
        this.putHead(last)
        if (isUnlinked) this.#stored.restart(last)
        for (const each of proved) this.#putProved(each, last, last)
        this.#stored.prune(last.number - Math.max(this.keptBlocks, undoBlocksMin))
      }
      if (isUnlinked && headers[0]) meta.putSync(metaKeys.linkedFrom, numberKey(headers[0].number))
      if (this.keepsLogIndex && headers[0] && last) this.#indexLogs(headers[0].number, last.number)
    })
  }

  /**
   * Moves canonical blocks above genesis and below `number` to the side blocks, some thousand at a time, lowest first.
   * Their numbers are no longer certain. Returns whether there are more.
   */
  moveAsideBelow(number: number): boolean {
    const range = { start: numberKey(1), end: numberKey(number), limit: movedMax }
    const numbers = Array.from(this.tables.blocks.getRange(range), ({ key }) => readUint64(key, 0))
    const last = numbers.at(-1)
    if (last === undefined) return false
    const linkedFrom = Math.max(this.readLinkedFrom() ?? 0, last + 1)
    this.commit(() => {
      for (const each of numbers) this.#moveAside(each)
      this.tables.meta.putSync(metaKeys.linkedFrom, numberKey(linkedFrom))
    })
    return numbers.length === movedMax
  }

  /**
   * Makes a block of the same chain the head, to which no other block is linked. Blocks above it, and those below that
   * BLOCKHASH can read, become side blocks.
   */
  restartAt(header: CanonicalHeader): void {
    const start = numberKey(Math.max(0, header.number - ancestorsMax))
    this.commit(() => {
      const numbers = Array.from(this.tables.blocks.getRange({ start }), ({ key }) => readUint64(key, 0))
      for (const number of numbers) this.#moveAside(number)
      this.#putHeader(header)
      this.putHead(header)
      this.tables.meta.putSync(metaKeys.linkedFrom, numberKey(header.number))
    })
  }

  extendDown(headers: readonly CanonicalHeader[]): void {
    const oldest = headers.at(-1)
    if (oldest === undefined) return
    this.commit(() => {
      for (const header of headers) this.#putHeader(header)
      this.tables.meta.putSync(metaKeys.linkedFrom, numberKey(oldest.number))
    })
  }

  /** Adds one canonical header that no chain of headers links to the head. */
  putUnlinkedHeader(header: CanonicalHeader): void {
    this.commit(() => this.#putHeader(header))
  }

  /** Sets the total difficulty of canonical blocks, by number. */
  putTotals(totals: Iterable<readonly [number, Uint8Array]>): void {
    this.commit(() => {
      for (const [number, totalDifficulty] of totals) {
        const row = this.readCanonicalRow(number)
        if (row === undefined || row.totalDifficulty.length > 0) continue
        this.tables.blocks.putSync(numberKey(number), withTotalDifficulty(row, totalDifficulty))
      }
    })
  }

  /** Stores a header that is not canonical, by its hash. */
  putSideHeader(hash: Hash32, header: Uint8Array): void {
    if (!this.hasHeader(hash)) this.commit(() => this.#putSideHeader(hash, header))
  }

  #putSideHeader(hash: Hash32, header: Uint8Array): void {
    const own = { header, body: undefined, senders: noBytes, totalDifficulty: noBytes }
    this.tables.sideBlocks.putSync(hash, storedBlockRow(hash, own))
  }

  /** Stores the content of a block whose header is stored. */
  putContent(hash: Hash32, content: BlockContent): void {
    this.commit(() => this.#putContent(hash, content))
  }

  #putContent(hash: Hash32, { body, senders, reported }: BlockContent): void {
    const row = this.readBlock(hash)
    if (row === undefined) throw new Error('a body without its header')
    const { header, totalDifficulty } = row
    const whole = storedBlockRow(hash, { header, body, senders, totalDifficulty })
    const { bodies, numbers, blocks, sideBlocks } = this.tables
    const number = numbers.getBinary(hash)
    bodies.putSync(hash, body)
    if (reported !== undefined)
      this.tables.reported.putSync(reportedKey(hash, 'block'), reportedRow(reported))
    if (number === undefined) return void sideBlocks.putSync(hash, whole)
    blocks.putSync(Uint8Array.from(number), whole)
    this.#putPlaces(hash, senders)
  }

  /** The JSON of a block of another family, with members that no row has; undefined for an Ethereum block. */
  readReported(hash: Hash32): ReportedJson | undefined {
    return this.reportedRow(hash, 'block')
  }

  putReceipts(hash: Hash32, receipts: FetchedReceipts): void {
    this.commit(() => this.#putReceipts(hash, receipts))
  }

  #putReceipts(hash: Hash32, { row, reported }: FetchedReceipts): void {
    this.tables.receipts.putSync(hash, packReceipts(row))
    if (reported !== undefined)
      this.tables.reported.putSync(reportedKey(hash, 'receipts'), reportedRow(reported))
  }

  /**
   * Stores parts of blocks in one transaction. Also adds the canonical blocks `first` to `last` to the log index, if
   * their logs are complete.
   */
  fillLogs(parts: readonly FetchedParts[], first: number, last: number): void {
    this.commit(() => {
      for (const { hash, content, receipts } of parts) {
        if (content !== undefined) this.#putContent(hash, content)
        this.#putReceipts(hash, receipts)
      }
      this.#indexLogs(first, last)
    })
  }

  /** Whether a canonical block can be added to the log index: its receipts are stored, and its transactions if any. */
  holdsLogs(row: StoredBlock): boolean {
    const receipts = this.readReceipts(toHash32(Uint8Array.from(row.hash)))
    return receipts !== undefined && (row.hasBody || isEmptyList(receipts))
  }

  putBlockAccessList(hash: Hash32, rlp: Uint8Array): void {
    this.commit(() => this.tables.accessLists.putSync(hash, packList(rlp)))
  }

  putLocation(transactionHash: Hash32, { blockHash, index }: TransactionLocation): void {
    this.commit(() => this.#putPlace(transactionHash, blockHash, index))
  }

  #putPlace(transactionHash: Hash32, blockHash: Hash32, index: number): void {
    this.tables.locations.putSync(transactionHash, concatBytes(blockHash, numberKey(index)))
  }

  #putPlaces(blockHash: Hash32, senders: Uint8Array): void {
    for (const [index, transactionHash] of transactionHashes(senders))
      this.#putPlace(transactionHash, blockHash, index)
  }

  #putHeader({ number, hash, header, totalDifficulty = noBytes }: CanonicalHeader): void {
    const { blocks, numbers, sideBlocks } = this.tables
    const known = blocks.getBinary(numberKey(number))
    if (known !== undefined) {
      if (new StoredBlock(known).is(hash)) return
      this.#moveAside(number)
    }
    const side = sideBlocks.getBinary(hash)
    const row = side ?? storedBlockRow(hash, { header, body: undefined, senders: noBytes, totalDifficulty })
    const own = new StoredBlock(Uint8Array.from(row))
    blocks.putSync(numberKey(number), withTotalDifficulty(own, totalDifficulty))
    numbers.putSync(hash, numberKey(number))
    sideBlocks.removeSync(hash)
    this.#putPlaces(hash, own.senders)
  }

  #indexLogs(first: number, last: number): void {
    let ranges = this.readLogRanges()
    for (let number = last; number >= first; number--) {
      const row = logRangeAt(ranges, number) ? undefined : this.readCanonicalRow(number)
      if (row === undefined || !this.holdsLogs(row)) continue
      const more = withNumber(ranges, number)
      if (more.length > Math.max(logRangesMax, ranges.length)) continue
      const hash = toHash32(Uint8Array.from(row.hash))
      addToLogIndex(this.tables.logs, this.readReceipts(hash) as Uint8Array, number)
      ranges = more
    }
    this.#putLogRanges(ranges)
  }

  #putLogRanges(ranges: readonly LogRange[]): void {
    this.tables.meta.putSync(metaKeys.logRanges, encodeLogRanges(ranges))
  }

  #moveAside(number: number): void {
    const { blocks, numbers, sideBlocks, logs } = this.tables
    const row = blocks.getBinary(numberKey(number))
    if (row === undefined) return
    const own = Uint8Array.from(row)
    const { hash } = new StoredBlock(own)
    const ranges = this.readLogRanges()
    if (logRangeAt(ranges, number) !== undefined) {
      cutFromLogIndex(logs, this.readReceipts(hash) as Uint8Array, number)
      this.#putLogRanges(withoutNumber(ranges, number))
    }
    sideBlocks.putSync(hash, own)
    blocks.removeSync(numberKey(number))
    numbers.removeSync(hash)
  }

  /**
   * Stores trie nodes, the owner of code that is not stored, and values; with `areCurrent` these hold after the head.
   * Returns false if they contradict stored values.
   */
  putState(state: ProvedState, block: Hash32, areCurrent: boolean): boolean {
    let isRight = true
    this.commit(() => {
      const head = areCurrent ? this.readHead() : undefined
      isRight = this.#putProved(state, { hash: block }, head)
    })
    return isRight
  }

  /**
   * Stores that all slots of an account after the head are known: `values` has those that are not zero. Returns false
   * if they contradict stored values.
   */
  holdWhole(values: ProvedValues): boolean {
    const head = this.readHead()
    let isRight = false
    this.commit(() => {
      isRight = head !== undefined && this.#stored.proveWhole(head, values)
    })
    return isRight
  }

  /** Whether all slots of an account are known after the head. */
  holdsWhole(address: Uint8Array): boolean {
    const head = this.readHead()
    return head !== undefined && this.#stored.isWhole(address, head.number)
  }

  /** Drops values; each is proved again on its next read. */
  dropStoredValues(keys: readonly Uint8Array[]): void {
    this.commit(() => {
      for (const key of keys) this.#stored.drop(key)
    })
  }

  /** Bytes on disk of values, trie nodes and code. */
  get stateBytes(): number {
    const { values, nodes, code } = this.tables
    return values.bytes + nodes.bytes + code.bytes
  }

  /** Block from which on the changes of every block were applied; undefined if that is not known. */
  get currentFrom(): number | undefined {
    return this.#stored.isAt(this.readHead()?.hash ?? noHash) ? this.#stored.bounds.from : undefined
  }

  /** Up to `limit` keys of values, nodes or code, in order. */
  stateKeysFrom(table: StateTable, start: Uint8Array, limit: number): Uint8Array[] {
    if (table === 'values') return this.#stored.keysFrom(start, limit)
    return Array.from(this.tables[table].getRange({ start, limit }), ({ key }) => Uint8Array.from(key))
  }

  /** Drops values, nodes or code; they are fetched again when they are needed. */
  dropState(table: StateTable, keys: readonly Uint8Array[]): void {
    if (table === 'values') return this.dropStoredValues(keys)
    this.commit(() => {
      for (const key of keys) this.tables[table].removeSync(key)
    })
  }

  /**
   * Forgets values at the oldest `count` blocks, except the blocks that may be unwound. Returns whether there were any.
   */
  forgetPast(count: number): boolean {
    const { oldest } = this.#stored
    const last = Math.min((oldest ?? 0) + count, (this.readHead()?.number ?? 0) - undoBlocksMin)
    if (oldest === undefined || oldest > last) return false
    this.commit(() => this.#stored.prune(last))
    return true
  }

  /** A stored account after the head, RLP; empty for none, undefined if it is not known. */
  readStoredAccount(address: Uint8Array): Uint8Array | undefined {
    const head = this.readHead()
    return (
      head &&
      readStoredValue(
        this.tables.values,
        this.#stored.bounds,
        storedValueKey('account', address),
        head.number,
      )
    )
  }

  /** Whether an account and some of its slots are known after a canonical block. */
  holds(address: Uint8Array, slots: readonly Uint8Array[], number: number): boolean {
    const { values } = this.tables
    const { bounds } = this.#stored
    return (
      readStoredValue(values, bounds, storedValueKey('account', address), number) !== undefined &&
      slots.every((slot) => readStoredSlot(values, bounds, address, slot, number) !== undefined)
    )
  }

  /** Slots of an account that have stored values. */
  storedSlotsOf(address: Uint8Array): Iterable<Hash32> {
    return this.#stored.slotsOf(address)
  }

  #putProved(
    { nodes, codeHash, values }: ProvedState,
    { hash }: Pick<BlockName, 'hash'>,
    head: BlockName | undefined,
  ): boolean {
    const { meta, nodes: table } = this.tables
    for (const [hash, rlp] of nodes) table.putSync(hash, rlp)
    if (codeHash !== undefined && !this.tables.code.doesExist(codeHash)) {
      meta.putSync(metaKeys.codeOwner(codeHash), concatBytes(hash, values.address))
    }
    return head === undefined || this.#stored.prove(head, values)
  }

  putCode(hash: Hash32, code: Uint8Array): void {
    this.commit(() => this.tables.code.putSync(hash, code))
  }

  /** Stores the account from which code with this hash can be fetched. */
  putCodeOwner(codeHash: Hash32, { block, address }: CodeOwner): void {
    this.commit(() => this.tables.meta.putSync(metaKeys.codeOwner(codeHash), concatBytes(block, address)))
  }

  readCodeOwner(codeHash: Hash32): CodeOwner | undefined {
    const row = this.tables.meta.getBinary(metaKeys.codeOwner(codeHash))
    return row && { block: toHash32(row.slice(0, 32)), address: row.slice(32) }
  }
}

/** Whether an RLP list has nothing in it. */
function isEmptyList(rlp: Uint8Array): boolean {
  return rlp.length === 1
}
