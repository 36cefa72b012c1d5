/**
 * Rows of accounts and slots: how a block changes them, how that is taken back, how the past is removed, and walks. The
 * latest value of a key stands with the block since which it holds; one that was replaced moves to history under that
 * block. That there is no value since a block is a row of history, too, without bytes. So a value that never changed has
 * one row, and each state is in the rows once.
 */
import { readUint64 } from '../primitives/bytes.js'
import type { Change, ReplacedState } from './blockDiff.js'
import { datedValue, sinceOf, valueOfRow } from './datedValue.js'
import type { Entry, ReadTable, WriteTable } from './readTable.js'
import { digestBytes, RowDigest } from './rowDigest.js'
import { fullAccount, slimAccount } from './slimAccounts.js'
import { historyKey, keyAfterPrefix, metaKeys } from './tables.js'
import type { UndoEntry, UndoRecord } from './undoRecord.js'
import { WriteBuffer } from './writeBuffer.js'

type StateTables = {
  readonly [name in 'accounts' | 'slots' | 'accountHistory' | 'slotHistory' | 'meta']: WriteTable
}

/** The tables of accounts, or of slots. Both are one in the file, so a walk over either meets all rows. */
interface Rows<T extends ReadTable> {
  /** key → since ‖ value (datedValue.ts). */
  readonly latest: T
  /** key ‖ block number → the value that held since that block and was replaced; no bytes: none since then. */
  readonly history: T
}

type ReadStateTables = {
  readonly [name in 'accounts' | 'slots' | 'accountHistory' | 'slotHistory']: ReadTable
}

const accountBytes = 20
const slotBytes = 52
const empty = new Uint8Array(0)

export const stateKinds = ['accounts', 'slots'] as const
export type StateKind = (typeof stateKinds)[number]

function rowsOf<T extends ReadTable>(
  tables: { readonly [name in keyof ReadStateTables]: T },
  kind: StateKind,
): Rows<T> {
  return kind === 'accounts'
    ? { latest: tables.accounts, history: tables.accountHistory }
    : { latest: tables.slots, history: tables.slotHistory }
}

/** Digests of all rows of accounts and of slots, in the row of the meta table. */
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

/** Writes what block `number` changed; returns what takes it back. */
export function replaceState(
  tables: StateTables,
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

/** Takes back the changes of block `number`. Throws where a row of before is missing. */
export function restoreState(tables: StateTables, undo: UndoRecord, number: number): void {
  const digests = StateDigests.read(tables)
  for (const kind of stateKinds) restore(rowsOf(tables, kind), undo[kind], number, digests[kind])
  digests.write(tables)
}

function replace(
  { latest, history }: Rows<WriteTable>,
  changes: readonly Change[],
  encode: ((value: Uint8Array) => Uint8Array) | undefined,
  number: number,
  digest: RowDigest,
): UndoEntry[] {
  const undo: UndoEntry[] = []
  for (const [key, change] of changes) {
    const value = encode === undefined ? change : encode(change)
    const before = latest.getBinary(key)
    const since = before && sinceOf(before)
    undo.push([key, since])
    if (before !== undefined) history.putSync(historyKey(key, since as number), valueOfRow(before))
    if (value.length > 0) latest.putSync(key, datedValue(number, value))
    else {
      if (before !== undefined) latest.removeSync(key)
      history.putSync(historyKey(key, number), empty)
    }
    digest.toggle(key, number, value)
  }
  return undo
}

function restore(
  { latest, history }: Rows<WriteTable>,
  undo: readonly UndoEntry[],
  number: number,
  digest: RowDigest,
): void {
  for (const [key, since] of undo) {
    const after = latest.getBinary(key)
    if (after !== undefined && sinceOf(after) === number) digest.toggle(key, number, valueOfRow(after))
    else {
      digest.toggle(key, number, empty)
      history.removeSync(historyKey(key, number))
    }
    if (since === undefined) {
      if (after !== undefined) latest.removeSync(key)
      continue
    }
    const before = history.getBinary(historyKey(key, since))
    if (before === undefined)
      throw new Error(`block ${number} cannot be unwound: a row of history is missing`)
    history.removeSync(historyKey(key, since))
    latest.putSync(key, datedValue(since, before))
  }
}

/**
 * Removes the state before block `number`, whose undo record this is, as far as the block replaced it. All these rows are
 * on disk. Returns about how many rows that were.
 */
export function cutStateRows(
  tables: { readonly [name in keyof StateTables]: WriteBuffer },
  undo: UndoRecord,
  number: number,
): number {
  const digests = StateDigests.read(tables)
  let removed = 0
  const cut = (history: WriteBuffer, own: Uint8Array, digest: RowDigest, value: Uint8Array): void => {
    history.removeSync(own)
    digest.toggle(own.subarray(0, -8), readUint64(own, own.length - 8), value)
    removed++
  }
  for (const kind of stateKinds) {
    const { history } = rowsOf(tables, kind)
    for (const [key, since] of undo[kind]) {
      if (since !== undefined) {
        const own = historyKey(key, since)
        const value = history.stored(own)
        if (value !== undefined) cut(history, own, digests[kind], value)
      }
      // That there is nothing needs no row where nothing older is left.
      const own = historyKey(key, number)
      if (history.stored(own)?.length === 0) cut(history, own, digests[kind], empty)
      removed++
    }
  }
  digests.write(tables)
  return removed
}

/** The value of an account's latest row, or of a row of its history, as RLP; of a slot's as it is. */
export function fullValue(kind: StateKind, value: Uint8Array): Uint8Array {
  return kind === 'accounts' ? fullAccount(value) : value
}

/** The latest value of a key: RLP of an account, a slot without leading zeros. */
export function latestValue(kind: StateKind, row: Uint8Array | undefined): Uint8Array | undefined {
  return row && fullValue(kind, valueOfRow(row))
}

export function kindOf(key: Uint8Array): StateKind {
  return key.length === accountBytes ? 'accounts' : 'slots'
}

/**
 * Value after block `number` of an account (20 bytes) or slot (52 bytes): one read where it did not change since, else a
 * bounded reverse range read as well. Empty where it is known that there was none.
 */
export function valueAt(tables: ReadStateTables, key: Uint8Array, number: number): Uint8Array | undefined {
  const kind = kindOf(key)
  const { latest, history } = rowsOf(tables, kind)
  const row = latest.getBrief(key)
  if (row !== undefined && sinceOf(row) <= number) return fullValue(kind, valueOfRow(row))
  // The key alone sorts before all its rows, so it limits the range to this account or slot.
  const range = history.getRange({ start: historyKey(key, number), end: key, reverse: true, limit: 1 })
  for (const { value } of range) return value.length === 0 ? empty : fullValue(kind, value)
  return undefined
}

/** Value after block `number`, if that block changed it; empty where it was removed. */
export function changeIn(tables: ReadStateTables, key: Uint8Array, number: number): Uint8Array | undefined {
  const kind = kindOf(key)
  const { latest, history } = rowsOf(tables, kind)
  const row = latest.getBinary(key)
  if (row !== undefined && sinceOf(row) === number) return fullValue(kind, valueOfRow(row))
  const value = history.getBinary(historyKey(key, number))
  return value && fullValue(kind, value)
}

/** Numbers of the blocks that changed a key, from block `from` on up, or down; at most `limit`. */
export function changesOf(
  tables: ReadStateTables,
  key: Uint8Array,
  from: number,
  isBackward: boolean,
  limit: number,
): number[] {
  const { latest, history } = rowsOf(tables, kindOf(key))
  const row = latest.getBrief(key)
  const now = row && sinceOf(row)
  const isNowFirst = now !== undefined && isBackward && now <= from
  const end = isBackward ? key : keyAfterPrefix(key)
  const range = { start: historyKey(key, from), limit, reverse: isBackward, ...(end && { end }) }
  const past = Array.from(history.getRange(range), (entry) => readUint64(entry.key, key.length))
  const isNowLast = now !== undefined && !isBackward && now >= from
  return [...(isNowFirst ? [now] : []), ...past, ...(isNowLast ? [now] : [])].slice(0, limit)
}

/** All rows whose keys begin with `prefix`. */
export function prefixRange(table: ReadTable, prefix: Uint8Array): Iterable<Entry> {
  const end = keyAfterPrefix(prefix)
  return end === undefined ? table.getRange({ start: prefix }) : table.getRange({ start: prefix, end })
}

/** Each key that has a value after block `number`, in key order; those that begin with `prefix`. */
export function* valuesAt(
  tables: ReadStateTables,
  kind: StateKind,
  number: number,
  prefix: Uint8Array = empty,
): Generator<[Uint8Array, Uint8Array]> {
  let key: Uint8Array | undefined
  let value = empty as Uint8Array
  for (const row of stateRows(tables, kind, prefix)) {
    if (key === undefined || Buffer.compare(key, row.key) !== 0) {
      if (key !== undefined && value.length > 0) yield [key, fullValue(kind, value)]
      key = row.key
      value = empty
    }
    if (row.since <= number) value = row.value
  }
  if (key !== undefined && value.length > 0) yield [key, fullValue(kind, value)]
}

/** A value as rows keep it; it holds until the next of its key. */
export interface StateRow {
  readonly key: Uint8Array
  readonly since: number
  readonly value: Uint8Array
  readonly isLatest: boolean
}

/** All rows in the order of their keys, those of a key from the oldest on. Throws RangeError for one of another form. */
export function* stateRows(
  tables: ReadStateTables,
  kind: StateKind,
  prefix: Uint8Array = empty,
): Generator<StateRow> {
  const keyBytes = kind === 'accounts' ? accountBytes : slotBytes
  let latest: StateRow | undefined
  for (const row of allRows(rowsOf(tables, kind), keyBytes, prefix)) {
    const [own, value] = [Uint8Array.from(row.key), Uint8Array.from(row.value)]
    const key = own.subarray(0, keyBytes)
    if (latest !== undefined && Buffer.compare(latest.key, key) !== 0) {
      yield latest
      latest = undefined
    }
    if (own.length > keyBytes) yield { key, since: readUint64(own, keyBytes), value, isLatest: false }
    else latest = { key, since: sinceOf(value), value: valueOfRow(value), isLatest: true }
  }
  if (latest !== undefined) yield latest
}

/** The latest row of each key before those of its history. */
function* allRows(
  { latest, history }: Rows<ReadTable>,
  keyBytes: number,
  prefix: Uint8Array,
): Generator<Entry> {
  if (!(history instanceof WriteBuffer)) return yield* prefixRange(history, prefix)
  // What waits for the writer's next transaction waits for either apart.
  const now = only(prefixRange(latest, prefix), (key) => key.length === keyBytes)
  const past = only(prefixRange(history, prefix), (key) => key.length > keyBytes)
  let current = now.next()
  for (const older of past) {
    for (; !current.done && Buffer.compare(current.value.key, older.key) < 0; current = now.next())
      yield current.value
    yield older
  }
  for (; !current.done; current = now.next()) yield current.value
}

/** Copies of some entries. */
function* only(entries: Iterable<Entry>, isWanted: (key: Uint8Array) => boolean): Generator<Entry> {
  for (const { key, value } of entries)
    if (isWanted(key)) yield { key: Uint8Array.from(key), value: Uint8Array.from(value) }
}

/** The latest rows alone, of keys that begin with `prefix`. */
export function* latestRows(
  tables: ReadStateTables,
  kind: StateKind,
  prefix: Uint8Array = empty,
): Generator<[Uint8Array, Uint8Array]> {
  const keyBytes = kind === 'accounts' ? accountBytes : slotBytes
  for (const { key, value } of prefixRange(rowsOf(tables, kind).latest, prefix))
    if (key.length === keyBytes) yield [key, fullValue(kind, valueOfRow(value))]
}
