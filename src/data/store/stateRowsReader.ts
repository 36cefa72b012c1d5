/**
 * The part of a store's reader that reads state: accounts, slots, their history and undo records. A missing row is
 * undefined; a store that cannot be read throws.
 */
import { type Address, type Hash32, noBytes, readUint64, toHash32 } from '../../primitives/bytes.js'
import { FaultError } from '../../primitives/faults.js'
import type { Change, ReplacedState } from './blockDiff.js'
import type { BlockName, SignedCheckpoint } from './chainRows.js'
import { decodeOldestKept, type HistoryKind, type OldestKept } from './keptHistory.js'
import { PastChanges } from './pastChanges.js'
import type { ReadTable } from './readTable.js'
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
import { metaKeys, numberKey, type ReadTables, slotKey } from './tables.js'
import { decodeUndo, type UndoEntry, type UndoRecord } from './undoRecord.js'

/** They take some 0.1 ms. */
const rowsPerLook = 64

/** Number (8 bytes, big-endian) ‖ hash. */
const blockNameBytes = 40

/** The key of the slot that is read at the head, which a table copies: a key for each read is 170 bytes of garbage. */
const askedSlot = new Uint8Array(52)

export class StateRowsReader {
  readonly #pastChanges = new PastChanges((kind) => this.stateRows(kind))
  /** The head as it was found last, and in which snapshot. */
  readonly #head = new Uint8Array(blockNameBytes)
  #headIn = Number.NaN
  /** The array that was found last to be its hash: requests of one head ask with the same. */
  #headHash: Uint8Array | undefined
  readonly #snapshots: { readonly begun: number } | undefined

  protected constructor(
    protected readonly tables: ReadTables,
    snapshots?: { readonly begun: number },
  ) {
    this.#snapshots = snapshots
  }

  /** Number of the snapshot that was read last; equal to no number where what was read may have changed since. */
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

  /** Nothing was found of block `number`. Throws FaultError where it may have been removed. */
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

  /** Numbers of the blocks, of those that are kept, which changed a key: from block `from` on up, or down. */
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

  /** All rows of accounts or slots, by key. Takes time linear in all changes that are kept. */
  stateRows(kind: StateKind): Iterable<StateRow> {
    return stateRows(this.tables, kind)
  }

  /** What the writer says of all rows of accounts and slots. */
  readStateDigests(): StateDigests {
    return StateDigests.read(this.tables)
  }

  /** Which keys canonical block `number` changed; undefined where the record is not kept. */
  readUndo(number: number): UndoRecord | undefined {
    const row = this.tables.changes.getBinary(numberKey(number))
    return row && decodeUndo(row)
  }

  #readPastChanges(number: number): UndoRecord | undefined {
    const head = this.readHead()?.number ?? 0
    const isPast = number > this.readOldestKept().state && number <= head
    return isPast ? this.#pastChanges.read(number) : undefined
  }

  /** Addresses of the accounts that blocks `first` to `last` changed, each once or more often; calls `look` now and then, which may throw. */
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
   * The state that canonical block `number` replaced; undefined where it is not kept. Of a block deeper than undo records
   * reach, which may take time linear in all rows of state for some hundred blocks at once.
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
   * Value after block `number` of an account (20 bytes) or slot (52 bytes), if that block changed it; empty where it
   * was removed.
   */
  readChangeIn(number: number, key: Uint8Array): Uint8Array | undefined {
    return changeIn(this.tables, key, number)
  }

  /** Value after canonical block `number` of an account (20 bytes) or slot (52 bytes). */
  readKeyAt(number: number, key: Uint8Array): Uint8Array | undefined {
    const value = valueAt(this.tables, key, number)
    // What is found is right: a value goes only where another one took its place up to the oldest block that is kept.
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
}

export function readBlockName(row: Uint8Array | undefined): BlockName | undefined {
  return row && { number: readUint64(row, 0), hash: toHash32(row.slice(8, 40)) }
}

export function readCheckpoint(meta: ReadTable): SignedCheckpoint | undefined {
  const row = meta.getBinary(metaKeys.checkpoint)
  return row && { slot: readUint64(row, 0), root: row.slice(8, 40), anchor: row.slice(40) }
}
