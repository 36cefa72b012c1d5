/** Ranges of a table with rows that wait in their places. */
import type { Entry, Range, ReadTable } from './readTable.js'

/** A row with its new value; undefined where it is removed. */
export interface Changed {
  readonly key: Uint8Array
  readonly value: Uint8Array | undefined
}

/** The rows of a range after `changes` to the table. Takes time linear in all of these, too. */
export function mergedRange(
  table: Pick<ReadTable, 'getRange'>,
  changes: readonly Changed[],
  range: Range,
): Iterable<Entry> {
  const changed = changes.filter(({ key }) => isWithin(key, range))
  if (changed.length === 0) return table.getRange(range)
  const order = range.reverse === true ? -1 : 1
  changed.sort((a, b) => order * Buffer.compare(a.key, b.key))
  const { limit = Number.POSITIVE_INFINITY, ...unlimited } = range
  return take(limit, merge(table.getRange(unlimited), changed, order))
}

function isWithin(key: Uint8Array, { start, end, reverse = false }: Range): boolean {
  if (reverse) return !isBelow(start, key) && !(end !== undefined && !isBelow(end, key))
  return !isBelow(key, start) && !(end !== undefined && !isBelow(key, end))
}

function isBelow(a: Uint8Array | undefined, b: Uint8Array | undefined): boolean {
  return a !== undefined && b !== undefined && Buffer.compare(a, b) < 0
}

/** The entries of a range with changed rows in their places; both in the same order. */
function* merge(entries: Iterable<Entry>, changed: readonly Changed[], order: 1 | -1): Generator<Entry> {
  let at = 0
  const changedBefore = function* (key: Uint8Array | undefined): Generator<Entry> {
    for (; at < changed.length; at++) {
      const { key: own, value } = changed[at] as Changed
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
    else {
      if (same.value !== undefined) yield { key: entry.key, value: same.value }
      at++
    }
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
