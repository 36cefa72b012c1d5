/**
 * How much of a chain's past a store keeps, and the removal of older data. Removed data of a block cannot be
 * recomputed, so the store records the oldest block for which it has all of a kind.
 *
 * State is cut by undo records: only earlier blocks need the values that a block replaced. All removed rows must be of
 * blocks on disk; the caller guarantees it.
 */
import { concatBytes, type Hash32, readUint64, writeUint64 } from '../../primitives/bytes.js'
import { cutPlaces } from './layouts/locations.js'
import { unpackReceipts } from './layouts/packedReceipts.js'
import { decodeState, encodeState, withoutBefore } from './layouts/stateValues.js'
import type { UndoRecord } from './layouts/undoRecord.js'
import type { BufferedTables } from './lmdb/writeBuffer.js'
import { dropFromLogIndex } from './logIndex.js'
import type { RowBuffer } from './readTable.js'
import { cutStateRows, StateDigests, toggleAll } from './stateChanges.js'
import { rowsOf, type StateKind, stateKinds } from './stateRows.js'
import { StoredBlock, senderBytes, storedBlockRow } from './storedBlock.js'
import { metaKeys, numberKey } from './tables.js'
import { cutTries } from './trieRows.js'

/*
 * Removal of old state without undo records: a walk over history in steps, one per commit. A row is removed if it was
 * replaced in the new oldest block or before.
 */

/** Progress of the walk: done are all rows of kinds before `kind`, and of that kind those before `next`. */
interface Walk {
  readonly oldest: number
  readonly kind: StateKind
  readonly next: Uint8Array
}

const blockBytes = 8
const start = new Uint8Array(0)
const keyBytes = { accounts: 20, slots: 52 } as const

function isWalking(tables: BufferedTables): boolean {
  return tables.meta.getBinary(metaKeys.stateWalk) !== undefined
}

/**
 * Begins a walk that keeps the state from block `oldest` on. From now on the store reports `oldest` as its oldest
 * state.
 */
function beginWalk(tables: BufferedTables, oldest: number): void {
  // Undo records of blocks that are no longer kept.
  for (const { key } of tables.changes.storedRange({ end: numberKey(oldest + 1) }))
    tables.changes.removeSync(Uint8Array.from(key))
  putWalk(tables, { oldest, kind: 'accounts', next: start })
}

/** Continues the walk over at most `rowsMax` rows; returns how many it visited. All of them are on disk. */
function walkOn(tables: BufferedTables, rowsMax: number): number {
  const { oldest, kind, next } = readWalk(tables)
  const { latest, history } = rowsOf<RowBuffer>(tables, kind)
  const digests = StateDigests.read(tables)
  const range = history.storedRange({ start: next, limit: rowsMax + 1 })
  const rows = Array.from(range, ({ key, value }) => [Uint8Array.from(key), Uint8Array.from(value)] as const)
  for (const [own] of rows.slice(0, rowsMax)) {
    const key = own.subarray(0, keyBytes[kind])
    const isLatest = own.length === key.length
    const until = isLatest ? undefined : readUint64(own, key.length)
    if (until !== undefined && until <= oldest) {
      const waiting = history.getBinary(own)
      if (waiting !== undefined) toggleAll(digests[kind], key, decodeState(waiting), until)
      history.removeSync(own)
      continue
    }
    // The row in memory may be newer than the one on disk.
    cutRow(isLatest ? latest : history, own, key)
    const moved = isLatest ? history.movedFrom(key) : undefined
    if (moved !== undefined) cutRow(history, moved, key)
  }
  digests.write(tables)
  function cutRow(table: RowBuffer, own: Uint8Array, key: Uint8Array): void {
    const row = table.getBinary(own)
    const toggle = (since: number, value: Uint8Array) => digests[kind].toggle(key, since, value)
    const rest = row && withoutBefore(decodeState(row), oldest, toggle)
    if (rest !== undefined) table.putSync(own, encodeState(rest))
  }
  const [rest] = rows[rowsMax] ?? []
  const nextKind = stateKinds[stateKinds.indexOf(kind) + 1]
  if (rest !== undefined) putWalk(tables, { oldest, kind, next: rest })
  else if (nextKind !== undefined) putWalk(tables, { oldest, kind: nextKind, next: start })
  else tables.meta.removeSync(metaKeys.stateWalk)
  return 1 + Math.min(rows.length, rowsMax)
}

function readWalk(tables: BufferedTables): Walk {
  const row = tables.meta.getBinary(metaKeys.stateWalk) as Uint8Array
  const kind = stateKinds[row[blockBytes] as number] as StateKind
  return { oldest: readUint64(row, 0), kind, next: Uint8Array.from(row.subarray(blockBytes + 1)) }
}

function putWalk(tables: BufferedTables, { oldest, kind, next }: Walk): void {
  const row = concatBytes(numberKey(oldest), Uint8Array.of(stateKinds.indexOf(kind)), next)
  tables.meta.putSync(metaKeys.stateWalk, row)
}

/** Kinds of history that can be cut. Receipts are served with their blocks, so bodies are kept at least as long. */
export const historyKinds = ['state', 'receipts', 'bodies', 'trie'] as const
export type HistoryKind = (typeof historyKinds)[number]

/** For each kind, how many blocks below the head are kept; infinite for all. */
export type HistoryLimits = { readonly [kind in HistoryKind]: number }

/** For each kind, the number of the oldest block for which it is kept: state after it, receipts, body, tries. */
export type OldestKept = { readonly [kind in HistoryKind]: number }

export const keepsAll: HistoryLimits = {
  state: Infinity,
  receipts: Infinity,
  bodies: Infinity,
  trie: Infinity,
}

/** The oldest blocks of a store that never removed anything. */
const fromGenesis: OldestKept = { state: 0, receipts: 0, bodies: 0, trie: 0 }

/** Rows that one transaction removes, besides twice as many as it writes. Removing them takes some 20 ms. */
const rowsPerCut = 4_096

export function decodeOldestKept(row: Uint8Array | undefined): OldestKept {
  if (row === undefined) return fromGenesis
  // Stores of the previous version kept all trie nodes, and had no number for them.
  const trie = row.length > 24 ? readUint64(row, 24) : 0
  return { state: readUint64(row, 0), receipts: readUint64(row, 8), bodies: readUint64(row, 16), trie }
}

export function encodeOldestKept(oldest: OldestKept): Uint8Array {
  const row = new Uint8Array(8 * historyKinds.length)
  for (const [index, kind] of historyKinds.entries()) writeUint64(row, oldest[kind], 8 * index)
  return row
}

/**
 * Removes data that is older than `limits` allow for a chain with `head`, but nothing above block `last`. Removes whole
 * blocks until the budget of rows, which grows with `written`, is spent. Returns whether there is more.
 */
export function cutHistory(
  tables: BufferedTables,
  limits: HistoryLimits,
  { head, last, written }: { readonly head: number; readonly last: number; readonly written: number },
  readUndo: (number: number) => UndoRecord | undefined,
): boolean {
  const before = decodeOldestKept(tables.meta.getBinary(metaKeys.oldestKept))
  const oldest = { ...before }
  let left = rowsPerCut + 2 * written
  for (const kind of historyKinds) {
    const target = Math.min(head - limits[kind], last)
    if (kind === 'state' && (isWalking(tables) || lacksRecord(oldest.state, target))) {
      if (!isWalking(tables) && isWorthAWalk(oldest.state, target)) {
        beginWalk(tables, target)
        oldest.state = target
      }
      if (isWalking(tables)) left -= walkOn(tables, Math.max(1, left))
      continue
    }
    if (kind === 'trie') {
      const { blocks, rows } = cutTries(tables, oldest.trie + 1, target, left)
      oldest.trie += blocks
      left -= 2 * blocks + rows
      continue
    }
    for (; oldest[kind] < target && left > 0; oldest[kind]++) {
      // The next transaction begins a walk.
      if (kind === 'state' && lacksRecord(oldest.state, target)) break
      left -= 1 + cut(kind, oldest[kind])
    }
  }
  if (historyKinds.some((kind) => oldest[kind] !== before[kind]))
    tables.meta.putSync(metaKeys.oldestKept, encodeOldestKept(oldest))
  return left <= 0 || isWalking(tables)

  /** Whether an undo record that the cut needs is missing: old ones are dropped while all state is kept. */
  function lacksRecord(from: number, target: number): boolean {
    return from < target && !tables.changes.doesExist(numberKey(from + 1))
  }

  /** A walk reads all rows. So it begins only if it removes the state of a sixteenth of the blocks that are kept. */
  function isWorthAWalk(from: number, target: number): boolean {
    return target - from >= limits.state / 16 || tables.changes.doesExist(numberKey(target + 1))
  }

  /** Removes data that only block `number` needs; returns about how many rows that were. */
  function cut(kind: Exclude<HistoryKind, 'trie'>, number: number): number {
    if (kind === 'state') return cutState(tables, number, readUndo(number + 1))
    const row = tables.blocks.getBinary(numberKey(number))
    if (row === undefined) throw new Error(`block ${number} cannot be removed: it is missing`)
    const block = new StoredBlock(Uint8Array.from(row))
    return kind === 'receipts' ? cutReceipts(tables, number, block) : cutBody(tables, number, block)
  }
}

/** Removes the state after block `number` that the next block replaced. */
function cutState(tables: BufferedTables, number: number, undo: UndoRecord | undefined): number {
  if (undo === undefined) throw new Error(`the undo record of block ${number + 1} is missing`)
  tables.changes.removeSync(numberKey(number + 1))
  return 1 + cutStateRows(tables, undo, number + 1)
}

function cutReceipts(tables: BufferedTables, number: number, { hash }: StoredBlock): number {
  const row = tables.receipts.getBinary(hash)
  if (row === undefined) throw new Error(`the receipts of block ${number} are missing`)
  tables.receipts.removeSync(hash)
  return dropFromLogIndex(tables.logs, unpackReceipts(row, true), number)
}

/** Removes the body, keeps the header and the total difficulty. */
function cutBody(tables: BufferedTables, number: number, block: StoredBlock): number {
  const { hash, header, totalDifficulty, senders } = block
  const key = numberKey(number)
  cutPlaces(tables.locations, number, senders)
  const nobody = { header, body: undefined, senders: new Uint8Array(0), totalDifficulty }
  tables.blocks.putSync(key, storedBlockRow(hash, nobody))
  tables.bodies.removeSync(hash)
  tables.accessLists.removeSync(hash)
  return 3 + senders.length / senderBytes
}

/** Removes a block that was unwound, except its code. */
export function dropSideBlock({ sideBlocks, bodies, receipts }: BufferedTables, hash: Hash32): void {
  // The block may be canonical again.
  if (!sideBlocks.doesExist(hash)) return
  for (const table of [sideBlocks, bodies, receipts]) table.removeSync(hash)
}
