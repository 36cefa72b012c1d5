import { FaultError } from '../../primitives/faults.js'

export interface Entry {
  readonly key: Uint8Array
  readonly value: Uint8Array
}

export interface Range {
  readonly start?: Uint8Array
  readonly end?: Uint8Array
  readonly reverse?: boolean
  readonly limit?: number
}

/** The part of an LMDB table that readers use. */
export interface ReadTable {
  getBinary(key: Uint8Array): Uint8Array | undefined
  /** Like {@link getBinary}, or at most its first `bytesMax` bytes, in memory of {@link briefSlab}. */
  getBrief(key: Uint8Array, bytesMax?: number): Uint8Array | undefined
  /** Like {@link getBinary}, in memory that the next read of any table overwrites. */
  viewUntilNextRead(key: Uint8Array): Uint8Array | undefined
  doesExist(key: Uint8Array): boolean
  getRange(range?: Range): Iterable<Entry>
  getCount(): number
}

/** The part that only the writer uses: within a transaction, or on tables whose changes wait for one. */
export interface WriteTable extends ReadTable {
  putSync(key: Uint8Array, value: Uint8Array): unknown
  removeSync(key: Uint8Array): unknown
}

/** A table of the writer whose changes wait for a transaction (writeBuffer.ts). */
export interface RowBuffer extends WriteTable {
  /** A row as it is on disk, without waiting changes. */
  stored(key: Uint8Array): Uint8Array | undefined
  /** The rows of a range as they are on disk, without waiting changes. */
  storedRange(range: Range): Iterable<Entry>
  /** Notes that the past values in the row of `key` moved to row `to`. */
  noteMoved(key: Uint8Array, to: Uint8Array): void
  /** The first row to which waiting changes moved past values of `key`: a range of rows on disk does not have it. */
  movedFrom(key: Uint8Array): Uint8Array | undefined
  /** Negative if the row of `a` is before that of `b`. */
  compare(a: Uint8Array, b: Uint8Array): number
}

export function isRowBuffer(table: ReadTable): table is RowBuffer {
  return 'storedRange' in table
}

/** Runs a read at once and returns its result. */
export type ReadGuard = <T>(read: () => T) => T

/** Wraps tables so that every read, and every step of a range, goes through `guard`. */
export function guardTables<T extends Readonly<Record<string, ReadTable>>>(tables: T, guard: ReadGuard): T {
  const guarded = Object.entries(tables).map(([name, table]) => [name, guardTable(table, guard)])
  return Object.fromEntries(guarded) as T
}

/**
 * The tables of a store without state. Reading state throws a fault, and so do receipts and the log index if the store
 * has no receipts. A table that is empty because the data is missing must not read as "nothing there".
 */
export function onlyStored<T extends Readonly<Record<string, ReadTable>>>(
  tables: T,
  hasReceipts: boolean,
): T {
  const refused = hasReceipts ? stateTables : [...stateTables, 'receipts', 'logs']
  const entries = Object.entries(tables).map(([name, table]) => {
    if (!refused.includes(name)) return [name, table]
    return [name, refusingTable(stateTables.includes(name) ? 'NoState' : 'NoReceipts')]
  })
  return Object.fromEntries(entries) as T
}

const stateTables: readonly string[] = [
  'contracts',
  'trie',
  'trieChanges',
  'sideTries',
  'nodes',
  'code',
  'accounts',
  'slots',
  'accountHistory',
  'slotHistory',
  'changes',
]

function refusingTable(kind: 'NoState' | 'NoReceipts'): ReadTable {
  const refuse = (): never => {
    throw new FaultError({ kind })
  }
  return {
    getBinary: refuse,
    getBrief: refuse,
    viewUntilNextRead: refuse,
    doesExist: refuse,
    getRange: refuse,
    getCount: refuse,
  }
}

function guardTable(table: ReadTable, guard: ReadGuard): ReadTable {
  return {
    getBinary: (key) => guard(() => table.getBinary(key)),
    getBrief: (key, bytesMax) => guard(() => table.getBrief(key, bytesMax)),
    viewUntilNextRead: (key) => guard(() => table.viewUntilNextRead(key)),
    doesExist: (key) => guard(() => table.doesExist(key)),
    getRange: (range) => guardWalk(table.getRange(range), guard),
    getCount: () => guard(() => table.getCount()),
  }
}

function guardWalk(walk: Iterable<Entry>, guard: ReadGuard): Iterable<Entry> {
  return {
    [Symbol.iterator]() {
      const steps = guard(() => walk[Symbol.iterator]())
      return {
        next: () => guard(() => steps.next()),
        return: () => guard(() => steps.return?.() ?? { done: true, value: undefined }),
      }
    },
  }
}
