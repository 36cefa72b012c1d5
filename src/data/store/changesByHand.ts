/**
 * Changes to the state after the head that callers of a developer chain make by hand. Owns their rows and how they are
 * applied. The block is written again with the change, under the same hash. So history, tries and undo records need no
 * form of their own.
 *
 *   meta  'changeByHand' ‖ block number ‖ index → msgpack {@link ChangeByHand}
 */
import { Packr, unpack } from 'msgpackr'
import { concatBytes, latin1Key, noBytes, readUint64 } from '../../primitives/bytes.js'
import { OperatorError } from '../../primitives/faults.js'
import type { Change } from './blockDiff.js'
import type { BlockName, ChangeByHand, StateRows } from './chainRows.js'
import { encodeUndo, type UndoRecord } from './layouts/undoRecord.js'
import type { BufferedTables } from './lmdb/writeBuffer.js'
import type { ReadTable, WriteTable } from './readTable.js'
import { replaceState, restoreState } from './stateChanges.js'
import { keyAfterPrefix, metaKeys, numberKey } from './tables.js'
import { contentOf, dropSideTries, readTrieChanges, replaceTries, restoreTries } from './trieRows.js'

const packr = new Packr({ useRecords: false })

function changeKey(number: number, index: number): Uint8Array {
  return concatBytes(metaKeys.changesByHand, numberKey(number), numberKey(index))
}

/** Changes in order; those after one block, or all. */
export function* readChangesByHand(meta: ReadTable, number?: number): Generator<ChangeByHand> {
  const start =
    number === undefined ? metaKeys.changesByHand : concatBytes(metaKeys.changesByHand, numberKey(number))
  for (const { key, value } of meta.getRange({ start, end: keyAfterPrefix(start) })) {
    const block = readUint64(key, metaKeys.changesByHand.length)
    yield { ...(unpack(value) as Omit<ChangeByHand, 'number'>), number: block }
  }
}

/** Number of changes after a block, by one read. */
export function countChangesByHand(meta: ReadTable, number: number): number {
  const end = concatBytes(metaKeys.changesByHand, numberKey(number))
  for (const { key } of meta.getRange({ start: keyAfterPrefix(end), end, reverse: true, limit: 1 }))
    return readUint64(key, end.length) + 1
  return 0
}

/** For operators: the first of `count` changes. */
export function byHandSentence({ number, what }: ChangeByHand, count: number): string {
  const more = count > 1 ? `, and ${count - 1} more` : ''
  return `changed by hand at block ${number}: ${what}${more}`
}

/** Writes or removes the change with this index after a block. */
export function putChangeByHand(
  meta: WriteTable,
  { number }: BlockName,
  index: number,
  change: Omit<ChangeByHand, 'number'> | undefined,
): void {
  const key = changeKey(number, index)
  if (change === undefined) meta.removeSync(key)
  else meta.putSync(key, packr.pack(change))
}

/** Reads of the state at the head that a rewrite needs. */
interface HeadRows {
  readAccount(address: Uint8Array): Uint8Array | undefined
  readSlot(key: Uint8Array): Uint8Array | undefined
  /** Undefined for the genesis, and if no record is kept. */
  readUndo(number: number): UndoRecord | undefined
}

/** The rows at the head of the keys in `changes`. */
export function replacedBy(tables: BufferedTables, rows: HeadRows, changes: StateRows): StateRows {
  return {
    accounts: changes.accounts.map(([key]) => [key, rows.readAccount(key) ?? noBytes]),
    slots: changes.slots.map(([key]) => [key, rows.readSlot(key) ?? noBytes]),
    trie: changes.trie.map(([key]) => [key, contentOf(tables.trie, key)]),
  }
}

/** Makes `changes` part of the state after the head. Throws OperatorError if the store cannot unwind a block. */
export function rewriteHead(
  tables: BufferedTables,
  rows: HeadRows,
  { number, hash }: BlockName,
  changes: StateRows,
): void {
  const undo = number === 0 ? undoOfGenesis(rows, changes) : rows.readUndo(number)
  if (undo === undefined)
    throw new OperatorError(`the state after block ${number} cannot be changed: make a block first`)
  const keys = {
    accounts: undo.accounts.map(([key]) => [key, noBytes] as const),
    slots: undo.slots.map(([key]) => [key, noBytes] as const),
    trie: readTrieChanges(tables.trieChanges, number).map((key) => [key, noBytes] as const),
  }
  const own = replacedBy(tables, rows, keys)
  restoreState(tables, undo, number)
  restoreTries(tables, number, hash)
  dropSideTries(tables, number, hash)
  replaceTries(tables, merged(own.trie, changes.trie), number)
  const accounts = merged(own.accounts, changes.accounts)
  const slots = merged(own.slots, changes.slots)
  const replaced = replaceState(tables, { accounts, slots }, number)
  // Nothing unwinds the genesis.
  if (number > 0) tables.changes.putSync(numberKey(number), encodeUndo(replaced))
}

/** The record of the genesis, which the store does not keep, for the rows that change. */
function undoOfGenesis(rows: HeadRows, { accounts, slots }: StateRows): UndoRecord {
  return {
    accounts: accounts.flatMap(([key]) => (rows.readAccount(key) ? [[key, undefined] as const] : [])),
    slots: slots.flatMap(([key]) => (rows.readSlot(key) ? [[key, undefined] as const] : [])),
  }
}

/** Both in key order; `later` wins. */
function merged(earlier: readonly Change[], later: readonly Change[]): Change[] {
  const byKey = new Map([...earlier, ...later].map((change) => [latin1Key(change[0]), change]))
  return [...byKey.values()].sort(([a], [b]) => Buffer.compare(a, b))
}
