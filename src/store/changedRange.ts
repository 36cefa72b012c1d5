import type { Entry, Range } from './readTable.js'

/** A row with its new value; undefined where it is removed. */
export interface ChangedRow {
  readonly key: Uint8Array
  readonly value: Uint8Array | undefined
}

/** The table beneath changed rows. */
interface Beneath {
  getRange(range?: Range): Iterable<Entry>
  doesExist(key: Uint8Array): boolean
  getCount(): number
}

/** A range of `table` with changed rows, each once, in their places. Takes time linear in their number, too. */
export function rangeWith(table: Beneath, rows: Iterable<ChangedRow>, range: Range = {}): Iterable<Entry> {
  const changed: ChangedRow[] = []
  for (const row of rows) if (isWithin(row.key, range)) changed.push(row)
  if (changed.length === 0) return table.getRange(range)
  const order = range.reverse === true ? -1 : 1
  changed.sort((a, b) => order * Buffer.compare(a.key, b.key))
  const { limit = Number.POSITIVE_INFINITY, ...unlimited } = range
  return take(limit, merge(table.getRange(unlimited), changed, order))
}

/** The number of rows of `table` with changed ones, each once. */
export function countWith(table: Beneath, rows: Iterable<ChangedRow>): number {
  let count = table.getCount()
  for (const { key, value } of rows) count += Number(value !== undefined) - Number(table.doesExist(key))
  return count
}

function isWithin(key: Uint8Array, { start, end, reverse = false }: Range): boolean {
  if (reverse) return !isBelow(start, key) && !(end !== undefined && !isBelow(end, key))
  return !isBelow(key, start) && !(end !== undefined && !isBelow(key, end))
}

function isBelow(a: Uint8Array | undefined, b: Uint8Array | undefined): boolean {
  return a !== undefined && b !== undefined && Buffer.compare(a, b) < 0
}

/** The entries of a range with changed rows in their places; both in the same order. */
function* merge(entries: Iterable<Entry>, changed: readonly ChangedRow[], order: 1 | -1): Generator<Entry> {
  let at = 0
  const changedBefore = function* (key: Uint8Array | undefined): Generator<Entry> {
    for (; at < changed.length; at++) {
      const { key: own, value } = changed[at] as ChangedRow
      if (key !== undefined && order * Buffer.compare(own, key) >= 0) return
      if (value !== undefined) yield { key: own, value }
    }
  }
  for (const { key, value } of entries) {
    // The row of an entry may not outlive the next read of the table.
    const entry = { key: Uint8Array.from(key), value: Uint8Array.from(value) }
    yield* changedBefore(entry.key)
    const same = changed[at]
    if (same === undefined || Buffer.compare(same.key, entry.key) !== 0) yield entry
    else if (same.value !== undefined) yield { key: entry.key, value: same.value }
    if (same !== undefined && Buffer.compare(same.key, entry.key) === 0) at++
  }
  yield* changedBefore(undefined)
}

function* take(limit: number, entries: Iterable<Entry>): Generator<Entry> {
  let count = 0
  if (limit <= 0) return
  for (const entry of entries) {
    yield entry
    if (++count >= limit) return
  }
}
