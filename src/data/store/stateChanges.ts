/** Applies the changes of a block to the rows of accounts and slots, reverts them, and removes the past. */
import { noBytes } from '../../primitives/bytes.js'
import type { Change, ReplacedState } from './blockDiff.js'
import { digestBytes, RowDigest } from './layouts/rowDigest.js'
import { slimAccount } from './layouts/slimAccounts.js'
import {
  decodeState,
  encodeState,
  olderBy,
  type StateValues,
  valuesOf,
  withoutBefore,
  withoutLatest,
} from './layouts/stateValues.js'
import type { UndoEntry, UndoRecord } from './layouts/undoRecord.js'
import { RowChanges } from './lmdb/writeBuffer.js'
import type { ReadTable, RowBuffer, WriteTable } from './readTable.js'
import { pastRange, type Rows, rowsOf, type StateTables, stateKinds } from './stateRows.js'
import { historyKey, metaKeys } from './tables.js'

/** Digests of all rows of accounts and of slots; they are one row of the meta table. */
export class StateDigests {
  readonly accounts: RowDigest
  readonly slots: RowDigest

  constructor(row: Uint8Array | undefined = new Uint8Array(2 * digestBytes)) {
    this.accounts = new RowDigest(row.subarray(0, digestBytes))
    this.slots = new RowDigest(row.subarray(digestBytes))
  }

  static read(tables: { readonly meta: ReadTable }): StateDigests {
    return new StateDigests(tables.meta.getBinary(metaKeys.stateDigests))
  }

  write(tables: Pick<StateTables, 'meta'>): void {
    tables.meta.putSync(metaKeys.stateDigests, this.row)
  }

  get row(): Uint8Array {
    return Buffer.concat([this.accounts.bytes, this.slots.bytes])
  }
}

/** Writes the changes of block `number`; returns the record that undoes them. */
export function replaceState(
  tables: StateTables<RowBuffer>,
  { accounts, slots }: ReplacedState,
  number: number,
): UndoRecord {
  const digests = StateDigests.read(tables)
  const undo = {
    accounts: replace(rowsOf(tables, 'accounts'), accounts, slimAccount, number, digests.accounts),
    slots: replace(rowsOf(tables, 'slots'), slots, undefined, number, digests.slots),
  }
  digests.write(tables)
  return undo
}

/** Reverts the changes of block `number`. Throws if an earlier row is missing. */
export function restoreState(tables: StateTables, undo: UndoRecord, number: number): void {
  const digests = StateDigests.read(tables)
  for (const kind of stateKinds) restore(rowsOf(tables, kind), undo[kind], number, digests[kind])
  digests.write(tables)
}

function replace(
  { latest, history }: Rows<RowBuffer>,
  changes: readonly Change[],
  encode: ((value: Uint8Array) => Uint8Array) | undefined,
  number: number,
  digest: RowDigest,
): UndoEntry[] {
  const undo: UndoEntry[] = []
  const rows = new RowChanges()
  for (const [key, change] of changes) {
    const value = encode === undefined ? change : encode(change)
    // The next read may overwrite the view, so everything kept is copied before.
    const row = latest.viewUntilNextRead(key)
    const before = row && decodeState(row)
    const isRemoved = value.length === 0
    if (isRemoved && before === undefined) continue
    undo.push([key, before?.since])
    const older = before && !isRemoved ? olderBy(before, number) : undefined
    const past = before && older === undefined ? encodeState({ ...before, isRemoved }) : undefined
    if (past !== undefined) {
      const pastKey = historyKey(key, number)
      history.putSync(pastKey, past)
      history.noteMoved(key, pastKey)
    }
    rows.add(
      key,
      isRemoved ? undefined : encodeState({ since: number, value, older: older ?? noBytes, isRemoved }),
    )
    digest.toggle(key, number, value)
  }
  rows.putInto(latest)
  return undo
}

function restore(
  { latest, history }: Rows<WriteTable>,
  undo: readonly UndoEntry[],
  number: number,
  digest: RowDigest,
): void {
  for (const [key, since] of undo) {
    const row = latest.getBinary(key)
    const after = row && decodeState(row)
    digest.toggle(key, number, after?.value ?? noBytes)
    const pastKey = historyKey(key, number)
    const past = history.getBinary(pastKey)
    if (past !== undefined) history.removeSync(pastKey)
    const before =
      past === undefined ? after && withoutLatest(after) : { ...decodeState(past), isRemoved: false }
    if (before?.since !== since)
      throw new Error(`block ${number} cannot be unwound: a row of history is missing`)
    if (before !== undefined) latest.putSync(key, encodeState(before))
    else if (after !== undefined) latest.removeSync(key)
  }
}

/**
 * Removes the state before block `number` that this block replaced; `undo` is its undo record. All these rows are on
 * disk. Returns about how many rows that were.
 */
export function cutStateRows(tables: StateTables<RowBuffer>, undo: UndoRecord, number: number): number {
  const digests = StateDigests.read(tables)
  let removed = 0
  for (const kind of stateKinds) {
    const rows = rowsOf(tables, kind)
    for (const [key, since] of undo[kind]) {
      if (since !== undefined) cutKey(rows, key, number, digests[kind])
      removed++
    }
  }
  digests.write(tables)
  return removed
}

function cutKey(rows: Rows<RowBuffer>, key: Uint8Array, number: number, digest: RowDigest): void {
  const { latest, history } = rows
  if (cutOldest(latest, key, key, number, digest)) return
  const own = historyKey(key, number)
  // The row in memory has fewer values than the one on disk if earlier blocks were cut just before.
  const past = history.stored(own) && history.getBinary(own)
  if (past !== undefined) {
    history.removeSync(own)
    toggleAll(digest, key, decodeState(past), number)
    return
  }
  for (const stored of history.storedRange({ ...pastRange(key, number), limit: 1 }))
    if (cutOldest(history, Uint8Array.from(stored.key), key, number, digest)) return
  const moved = history.movedFrom(key)
  if (moved !== undefined) cutOldest(history, moved, key, number, digest)
}

/** Removes from row `own` the values that blocks up to `number` replaced; returns whether there were any. */
function cutOldest(
  table: RowBuffer,
  own: Uint8Array,
  key: Uint8Array,
  number: number,
  digest: RowDigest,
): boolean {
  const row = table.getBinary(own)
  const toggle = (since: number, value: Uint8Array) => digest.toggle(key, since, value)
  const left = row && withoutBefore(decodeState(row), number, toggle)
  if (left !== undefined) table.putSync(own, encodeState(left))
  return left !== undefined
}

/** Removes all values of a history row, which ended in block `until`, from a digest. */
export function toggleAll(digest: RowDigest, key: Uint8Array, row: StateValues, until: number): void {
  for (const { since, value } of valuesOf(row)) digest.toggle(key, since, value)
  if (row.isRemoved) digest.toggle(key, until, noBytes)
}
