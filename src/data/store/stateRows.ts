/**
 * Rows of accounts and slots: reads at any block, and walks. A key's latest value is stored with the block since which
 * it holds, and with the values before it as far as there is room. Otherwise, or when the value is removed, the whole
 * row moves into history, under the block that replaced it. So a value that never changed has one row, and a past value
 * takes a few bytes. A read at any block takes at most one range read. stateChanges.ts writes these rows.
 */
import { addressBytes, noBytes, readUint64 } from '../../primitives/bytes.js'
import { fullAccount } from './layouts/slimAccounts.js'
import {
  decodeState,
  oldestSince,
  type StateValues,
  valueAfter,
  valueIn,
  valuesOf,
} from './layouts/stateValues.js'
import { type Entry, isRowBuffer, type Range, type ReadTable, type WriteTable } from './readTable.js'
import { historyKey, keyAfterPrefix } from './tables.js'

export type StateTables<T extends ReadTable = WriteTable> = {
  readonly [name in 'accounts' | 'slots' | 'accountHistory' | 'slotHistory' | 'meta']: T
}

/** The tables of accounts, or of slots. Both are one table in the file, so a walk over either sees all rows. */
export interface Rows<T extends ReadTable> {
  /** key → its value with earlier ones (stateValues.ts). */
  readonly latest: T
  /**
   * key ‖ block number → earlier row of `latest`, if that block removed it, or had no room for it beside the new value.
   */
  readonly history: T
}

type ReadStateTables = {
  readonly [name in 'accounts' | 'slots' | 'accountHistory' | 'slotHistory']: ReadTable
}

const slotBytes = 52

export const stateKinds = ['accounts', 'slots'] as const
export type StateKind = (typeof stateKinds)[number]

export function rowsOf<T extends ReadTable>(
  tables: { readonly [name in keyof ReadStateTables]: T },
  kind: StateKind,
): Rows<T> {
  return kind === 'accounts'
    ? { latest: tables.accounts, history: tables.accountHistory }
    : { latest: tables.slots, history: tables.slotHistory }
}

/** Range of the history rows of a key that ended in block `first` or later. */
export function pastRange(key: Uint8Array, first: number): Range {
  return { start: historyKey(key, Math.min(first, Number.MAX_SAFE_INTEGER)), end: keyAfterPrefix(key) }
}

/** The value of a latest or past row: RLP for an account, unchanged for a slot. */
function fullValue(kind: StateKind, value: Uint8Array): Uint8Array {
  return kind === 'accounts' ? fullAccount(value) : value
}

/** The latest value of a key: RLP for an account, bytes without leading zeros for a slot. */
export function latestValue(kind: StateKind, row: Uint8Array | undefined): Uint8Array | undefined {
  return row && fullValue(kind, valueIn(row))
}

export function kindOf(key: Uint8Array): StateKind {
  return key.length === addressBytes ? 'accounts' : 'slots'
}

/**
 * Value of an account (20 bytes) or slot (52 bytes) after block `number`. One read if the latest row has it, else one
 * more bounded range read. Returns undefined if there was none, or it is not kept.
 */
export function valueAt(tables: ReadStateTables, key: Uint8Array, number: number): Uint8Array | undefined {
  const kind = kindOf(key)
  const { latest, history } = rowsOf(tables, kind)
  const row = latest.getBrief(key)
  const recent = row && valueAfter(decodeState(row), number)
  if (recent !== undefined) return fullValue(kind, recent)
  for (const { value } of history.getRange({ ...pastRange(key, number + 1), limit: 1 })) {
    const past = valueAfter(decodeState(Uint8Array.from(value)), number)
    return past && fullValue(kind, past)
  }
  return undefined
}

/** Value after block `number`, if that block changed it; empty if it was removed. */
export function changeIn(tables: ReadStateTables, key: Uint8Array, number: number): Uint8Array | undefined {
  for (const { since, value } of changesFrom(tables, key, number, false))
    return since === number ? fullValue(kindOf(key), value) : undefined
  return undefined
}

/**
 * Numbers of the blocks that changed a key, ascending from block `from`, or descending if `isBackward`; at most
 * `limit`.
 */
export function changesOf(
  tables: ReadStateTables,
  key: Uint8Array,
  from: number,
  isBackward: boolean,
  limit: number,
): number[] {
  const found: number[] = []
  if (limit <= 0) return found
  for (const { since } of changesFrom(tables, key, from, isBackward)) if (found.push(since) >= limit) break
  return found
}

/** Changes of a key, ascending or descending from block `from`; a removal has an empty value. */
function* changesFrom(
  tables: ReadStateTables,
  key: Uint8Array,
  from: number,
  isBackward: boolean,
): Generator<Pick<StateRow, 'since' | 'value'>> {
  const { latest, history } = rowsOf(tables, kindOf(key))
  const row = latest.getBinary(key)
  const now = row && decodeState(row)
  // The row with the value before `from` may have ended after it.
  const rows =
    now !== undefined && oldestSince(now) <= from
      ? isBackward
        ? firstThen(now, pastRows(history, key, { start: historyKey(key, from), end: key, reverse: true }))
        : [now]
      : isBackward
        ? rowsBefore(history, key, from)
        : thenLast(pastRows(history, key, pastRange(key, from)), now)
  for (const each of rows) {
    const changes = changesIn(each)
    for (const change of isBackward ? changes.reverse() : changes)
      if (isBackward ? change.since <= from : change.since >= from) yield change
  }
}

/** A row; a history row also has the block that ended it. */
interface EndedRow extends StateValues {
  readonly until?: number
}

/** Changes in a row, the earliest first. */
function changesIn(row: EndedRow): Pick<StateRow, 'since' | 'value'>[] {
  const changes = Array.from(valuesOf(row), ({ since, value }) => ({ since, value })).reverse()
  return row.until !== undefined && row.isRemoved
    ? [...changes, { since: row.until, value: noBytes }]
    : changes
}

function* pastRows(history: ReadTable, key: Uint8Array, range: Range): Generator<EndedRow> {
  for (const { key: own, value } of history.getRange(range)) {
    const until = readUint64(own, key.length)
    yield { ...decodeState(Uint8Array.from(value)), until }
  }
}

/** History rows with the values before block `from`, the latest first. */
function* rowsBefore(history: ReadTable, key: Uint8Array, from: number): Generator<EndedRow> {
  yield* pastRows(history, key, { ...pastRange(key, from + 1), limit: 1 })
  yield* pastRows(history, key, { start: historyKey(key, from), end: key, reverse: true })
}

function* firstThen<T>(first: T, rest: Iterable<T>): Generator<T> {
  yield first
  yield* rest
}

function* thenLast<T>(rest: Iterable<T>, last: T | undefined): Generator<T> {
  yield* rest
  if (last !== undefined) yield last
}

/** All rows whose keys begin with `prefix`. */
function prefixRange(table: ReadTable, prefix: Uint8Array): Iterable<Entry> {
  return prefix.length === 0
    ? table.getRange()
    : table.getRange({ start: prefix, end: keyAfterPrefix(prefix) })
}

/** Each key that has a value after block `number`, in the order of rows; those that begin with `prefix`. */
export function* valuesAt(
  tables: ReadStateTables,
  kind: StateKind,
  number: number,
  prefix: Uint8Array = noBytes,
): Generator<[Uint8Array, Uint8Array]> {
  let key: Uint8Array | undefined
  let value = noBytes as Uint8Array
  for (const row of stateRows(tables, kind, prefix)) {
    if (key === undefined || Buffer.compare(key, row.key) !== 0) {
      if (key !== undefined && value.length > 0) yield [key, fullValue(kind, value)]
      key = row.key
      value = noBytes
    }
    if (row.since <= number) value = row.value
  }
  if (key !== undefined && value.length > 0) yield [key, fullValue(kind, value)]
}

/** A stored value; it holds until the next value of its key. */
export interface StateRow {
  readonly key: Uint8Array
  readonly since: number
  readonly value: Uint8Array
  readonly isLatest: boolean
}

/**
 * All values in the order of rows: by key, and for each key from the oldest value on. Throws RangeError for malformed
 * rows, and for rows that do not follow each other.
 */
export function* stateRows(
  tables: ReadStateTables,
  kind: StateKind,
  prefix: Uint8Array = noBytes,
): Generator<StateRow> {
  const keyBytes = kind === 'accounts' ? addressBytes : slotBytes
  let latest: StateValues | undefined
  let current: Uint8Array | undefined
  /** The block that replaced the last value. */
  let replacedBy: number | undefined
  for (const row of allRows(rowsOf(tables, kind), keyBytes, prefix)) {
    const own = Uint8Array.from(row.key)
    const key = own.subarray(0, keyBytes)
    if (current === undefined || Buffer.compare(current, key) !== 0) {
      yield* finish()
      current = key
    }
    const values = decodeState(Uint8Array.from(row.value))
    if (own.length > keyBytes) yield* emit(key, values, readUint64(own, keyBytes))
    else latest = values
  }
  yield* finish()

  function* finish(): Generator<StateRow> {
    if (current !== undefined && latest !== undefined) yield* emit(current, latest, undefined)
    if (replacedBy !== undefined) throw new RangeError(`the value since block ${replacedBy} is missing`)
    latest = undefined
  }

  function* emit(key: Uint8Array, values: StateValues, until: number | undefined): Generator<StateRow> {
    if (values.isRemoved && until === undefined) throw new RangeError('a latest value that was removed')
    const changes = changesIn({ ...values, ...(until !== undefined && { until }) })
    const first = changes[0]?.since
    if (replacedBy !== undefined && first !== replacedBy)
      throw new RangeError(`the value since block ${replacedBy} is missing`)
    if (until !== undefined && values.since >= until)
      throw new RangeError('a row of history of another block')
    replacedBy = values.isRemoved ? undefined : until
    for (const [index, { since, value }] of changes.entries())
      yield { key, since, value, isLatest: until === undefined && index === changes.length - 1 }
  }
}

/** For each key the latest row, then its history rows. */
function* allRows(
  { latest, history }: Rows<ReadTable>,
  keyBytes: number,
  prefix: Uint8Array,
): Generator<Entry> {
  if (!isRowBuffer(history)) return yield* prefixRange(history, prefix)
  // Changes that wait for the writer's next transaction are kept per table, so each table is read separately.
  const now = only(prefixRange(latest, prefix), (key) => key.length === keyBytes)
  const past = only(prefixRange(history, prefix), (key) => key.length > keyBytes)
  let current = now.next()
  for (const older of past) {
    for (; !current.done && history.compare(current.value.key, older.key) < 0; current = now.next())
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

/** Only the latest rows of keys that begin with `prefix`. */
export function* latestRows(
  tables: ReadStateTables,
  kind: StateKind,
  prefix: Uint8Array = noBytes,
): Generator<[Uint8Array, Uint8Array]> {
  const keyBytes = kind === 'accounts' ? addressBytes : slotBytes
  for (const { key, value } of prefixRange(rowsOf(tables, kind).latest, prefix))
    if (key.length === keyBytes) yield [key, fullValue(kind, valueIn(value))]
}
