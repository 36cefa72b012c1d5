/** Rows of accounts and slots, of the latest state and of history: how a block changes them, and walks over ranges. */
import { readUint64 } from '../primitives/bytes.js'
import type { Change, ReplacedState } from './blockDiff.js'
import type { Entry, ReadTable, WriteTable } from './readTable.js'
import { historyKey, keyAfterPrefix } from './tables.js'

type StateTables = {
  readonly [name in 'accounts' | 'slots' | 'accountHistory' | 'slotHistory']: WriteTable
}

const empty = new Uint8Array(0)

/** Writes what block `number` changed; returns what it replaced. */
export function replaceState(
  tables: StateTables,
  { accounts, slots }: ReplacedState,
  number: number,
): ReplacedState {
  return {
    accounts: replace(tables.accounts, tables.accountHistory, accounts, number),
    slots: replace(tables.slots, tables.slotHistory, slots, number),
  }
}

/** Takes back the changes of block `number`, which replaced these values. */
export function restoreState(tables: StateTables, replaced: ReplacedState, number: number): void {
  restore(tables.accounts, tables.accountHistory, replaced.accounts, number)
  restore(tables.slots, tables.slotHistory, replaced.slots, number)
}

function replace(
  latest: WriteTable,
  history: WriteTable,
  changes: readonly Change[],
  number: number,
): Change[] {
  const before: Change[] = []
  for (const [key, value] of changes) {
    before.push([key, latest.getBinary(key) ?? empty])
    put(latest, key, value)
    history.putSync(historyKey(key, number), value)
  }
  return before
}

function restore(latest: WriteTable, history: WriteTable, before: readonly Change[], number: number): void {
  for (const [key, value] of before) {
    put(latest, key, value)
    history.removeSync(historyKey(key, number))
  }
}

function put(latest: WriteTable, key: Uint8Array, value: Uint8Array): void {
  if (value.length === 0) latest.removeSync(key)
  else latest.putSync(key, value)
}

/** All rows whose keys begin with `prefix`. */
export function prefixRange(table: ReadTable, prefix: Uint8Array): Iterable<Entry> {
  const end = keyAfterPrefix(prefix)
  return end === undefined ? table.getRange({ start: prefix }) : table.getRange({ start: prefix, end })
}

/** For each prefix in a range of history, the last change at or before `number`, unless it removed the value. */
export function* lastChanges(
  range: Iterable<Entry>,
  prefixBytes: number,
  number: number,
): Generator<[Uint8Array, Uint8Array]> {
  let prefix: Uint8Array | undefined
  let last: Uint8Array | undefined
  for (const { key, value } of range) {
    if (prefix === undefined || Buffer.compare(prefix, key.subarray(0, prefixBytes)) !== 0) {
      if (prefix !== undefined && last !== undefined && last.length > 0) yield [prefix, last]
      prefix = key.slice(0, prefixBytes)
      last = undefined
    }
    if (readUint64(key, prefixBytes) <= number) last = value
  }
  if (prefix !== undefined && last !== undefined && last.length > 0) yield [prefix, last]
}
