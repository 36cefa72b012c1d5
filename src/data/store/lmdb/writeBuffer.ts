/**
 * Changes of tables by the only writer, which wait in memory until a transaction writes them. The writer reads them at
 * once. Keys and values are shared: nobody may modify them.
 */
import { latin1Key } from '../../../primitives/bytes.js'
import type { Entry, Range, ReadTable, RowBuffer, WriteTable } from '../readTable.js'
import type { ChainTables, ContractTableName, TableName } from '../tables.js'
import type { Table } from './environment.js'

/** Statistics of a table by lmdb. */
interface TableStats {
  readonly pageSize: number
  readonly treeBranchPageCount: number
  readonly treeLeafPageCount: number
  readonly overflowPages: number
}

export interface BufferOptions {
  /**
   * For a table whose rows rarely change twice in a transaction. In other tables, once a row was read while some wait,
   * each row is written once, however often it changes.
   */
  readonly isList?: boolean
  /** A key never has another value, so stored rows need not be looked up among the waiting ones. */
  readonly isConstant?: boolean
  /** Rows that stay in memory after they are on disk, for a table whose rows change again and again. */
  readonly keptMax?: number
}

/**
 * Changed rows, in the order of their changes. A caller that changes many rows of a table should read all of them
 * first, then put them. While no row waits, none has to be looked up among the waiting ones.
 */
export class RowChanges {
  /** Keys and values alternate. */
  protected readonly rows: (Uint8Array | undefined)[] = []

  /** Adds a row with this value; without a value the row is removed. */
  add(key: Uint8Array, value: Uint8Array | undefined): void {
    this.rows.push(key, value)
  }

  putInto(table: WriteTable): void {
    this.write(
      (key, value) => table.putSync(key, value),
      (key) => table.removeSync(key),
    )
  }

  /** Writes `rowsMax` changes from index `from` on. */
  write(
    put: (key: Uint8Array, value: Uint8Array) => unknown,
    remove: (key: Uint8Array) => unknown,
    from = 0,
    rowsMax = this.rows.length,
  ): void {
    const end = Math.min(2 * (from + rowsMax), this.rows.length)
    for (let at = 2 * from; at < end; at += 2) {
      const key = this.rows[at] as Uint8Array
      const value = this.rows[at + 1]
      if (value === undefined) remove(key)
      else put(key, value)
    }
  }
}

/** The changes of one transaction. */
class Batch extends RowChanges {
  /** Number of changes, from the first on, in the index by key. */
  found = 0

  get size(): number {
    return this.rows.length / 2
  }

  keyAt(place: number): Uint8Array {
    return this.rows[2 * place] as Uint8Array
  }

  valueAt(place: number): Uint8Array | undefined {
    return this.rows[2 * place + 1]
  }

  /** Replaces the value of an earlier change. */
  replace(place: number, value: Uint8Array | undefined): void {
    this.rows[2 * place + 1] = value
  }
}

/** A row in memory. */
interface Row {
  value: Uint8Array | undefined
  /** Number of the transaction that writes it. An earlier number, or 0, means that it is as on disk. */
  transaction: number
  /** Index of the row's last change in the batch of that transaction. */
  place: number
}

export class WriteBuffer implements RowBuffer {
  readonly #table: Table
  readonly #isList: boolean
  readonly #isConstant: boolean
  readonly #keptMax: number
  /** Changes that no transaction has taken yet. */
  #waiting = new Batch()
  /** Changes of a transaction that is not on disk yet. */
  #inFlight = new Batch()
  /** Number of the transaction that will take the waiting changes; the batch in flight has the number before. */
  #transaction = 2
  /** Moved rows by key; see {@link RowBuffer.movedFrom}. */
  readonly #moved = new Map<string, Uint8Array>()
  /**
   * By key: changed rows that are not on disk, and rows that stay in memory. In tables that keep no rows, changes are
   * entered only at the first read of one. A string and a Map entry for each take as long as all other work on it.
   */
  readonly #rows = new Map<string, Row>()
  /** With more rows than this, rows that are as on disk are forgotten. */
  #rowsMax: number

  constructor(table: Table, { isList = false, isConstant = false, keptMax = 0 }: BufferOptions = {}) {
    this.#table = table
    this.#isList = isList
    this.#isConstant = isConstant
    this.#keptMax = keptMax
    this.#rowsMax = keptMax
  }

  /** Number of changes that no transaction has taken yet. */
  get waiting(): number {
    return this.#waiting.size
  }

  getBinary(key: Uint8Array): Uint8Array | undefined {
    if (this.#isPlain) return this.#table.getBinary(key)
    const stored = this.#isConstant ? this.#table.getBinary(key) : undefined
    if (stored !== undefined) return stored
    const name = latin1Key(key)
    const row = this.#find(name)
    if (row !== undefined) return row.value
    if (this.#isConstant) return undefined
    const value = this.#table.getBinary(key)
    if (this.#keptMax > 0) this.#enter(name, value, 0, 0)
    return value
  }

  getBrief(key: Uint8Array, bytesMax?: number): Uint8Array | undefined {
    if (this.#isPlain) return this.#table.getBrief(key, bytesMax)
    const value = this.getBinary(key)
    return value === undefined || bytesMax === undefined ? value : value.subarray(0, bytesMax)
  }

  viewUntilNextRead(key: Uint8Array): Uint8Array | undefined {
    if (this.#isPlain) return this.#table.viewUntilNextRead(key)
    if (this.#isConstant) return this.getBinary(key)
    const row = this.#find(latin1Key(key))
    // Reading alone does not keep the row in memory; changing it does.
    return row === undefined ? this.#table.viewUntilNextRead(key) : row.value
  }

  doesExist(key: Uint8Array): boolean {
    return this.#isPlain ? this.#table.doesExist(key) : this.getBinary(key) !== undefined
  }

  /** The time of a range is linear in the waiting rows, too. */
  getRange(range: Range = {}): Iterable<Entry> {
    return mergedRange(this.#table, [...this.#changes()], range)
  }

  storedRange(range: Range): Iterable<Entry> {
    return this.#table.getRange(range)
  }

  stored(key: Uint8Array): Uint8Array | undefined {
    return this.#table.getBinary(key)
  }

  getCount(): number {
    let count = this.#table.getCount()
    for (const { key, value } of this.#changes()) {
      count += Number(value !== undefined) - Number(this.#table.doesExist(key))
    }
    return count
  }

  /** Bytes of the table's pages on disk. */
  get bytes(): number {
    const { pageSize, treeBranchPageCount, treeLeafPageCount, overflowPages } =
      this.#table.getStats() as TableStats
    return pageSize * (treeBranchPageCount + treeLeafPageCount + overflowPages)
  }

  putSync(key: Uint8Array, value: Uint8Array): void {
    this.#change(key, value)
  }

  removeSync(key: Uint8Array): void {
    this.#change(key, undefined)
  }

  noteMoved(key: Uint8Array, to: Uint8Array): void {
    const name = latin1Key(key)
    const earlier = this.#moved.get(name)
    if (earlier === undefined || this.getBinary(earlier) === undefined) this.#moved.set(name, to)
  }

  movedFrom(key: Uint8Array): Uint8Array | undefined {
    return this.#moved.size === 0 ? undefined : this.#moved.get(latin1Key(key))
  }

  compare(a: Uint8Array, b: Uint8Array): number {
    return Buffer.compare(a, b)
  }

  /**
   * Takes the waiting changes, in parts of `rowsMax` rows. The caller must call all parts, in order, within one
   * transaction.
   */
  takeParts(rowsMax: number): (() => void)[] {
    const table = this.#table
    const put = (key: Uint8Array, value: Uint8Array) => table.putSync(key, value)
    const remove = (key: Uint8Array) => table.removeSync(key)
    const batch = this.#begin()
    return Array.from({ length: Math.ceil(batch.size / rowsMax) }, (_, index) => () => {
      batch.write(put, remove, index * rowsMax, rowsMax)
    })
  }

  /** Adds the waiting changes to the batch that the caller began, which another thread writes. */
  write(): void {
    const table = this.#table
    // lmdb-js copies keys and reads the values later.
    this.#begin().write(
      (key, value) => table.put(key, value),
      (key) => table.remove(key),
    )
  }

  /** Call it when the transaction is on disk. */
  flushed(): void {
    this.#inFlight = new Batch()
    if (this.#keptMax === 0) this.#forgetStored()
  }

  /** Forgets every change that is not on disk. Call it after a transaction failed, or to give the changes up. */
  forget(): void {
    this.#waiting = new Batch()
    this.#inFlight = new Batch()
    this.#moved.clear()
    this.#rows.clear()
  }

  /** Whether all rows are as on disk, and none of them stays in memory. */
  get #isPlain(): boolean {
    return this.#keptMax === 0 && this.#waiting.size === 0 && this.#inFlight.size === 0
  }

  /** Finds a row in memory, after entering all changes that are not on disk. */
  #find(name: string): Row | undefined {
    this.#enterAll(this.#inFlight, this.#transaction - 1)
    this.#enterAll(this.#waiting, this.#transaction)
    return this.#rows.get(name)
  }

  #enterAll(batch: Batch, transaction: number): void {
    for (; batch.found < batch.size; batch.found++) {
      const place = batch.found
      this.#enter(latin1Key(batch.keyAt(place)), batch.valueAt(place), transaction, place)
    }
  }

  #enter(name: string, value: Uint8Array | undefined, transaction: number, place: number): void {
    const row = this.#rows.get(name)
    if (row === undefined) {
      this.#rows.set(name, { value, transaction, place })
      if (this.#keptMax > 0 && this.#rows.size > this.#rowsMax) this.#forgetStored()
      return
    }
    row.value = value
    row.transaction = transaction
    row.place = place
  }

  /** The newest change of each row. */
  *#changes(): Generator<Changed> {
    this.#find('')
    const oldest = this.#oldest
    for (const { value, transaction, place } of this.#rows.values()) {
      const batch = transaction === this.#transaction ? this.#waiting : this.#inFlight
      if (transaction >= oldest) yield { key: batch.keyAt(place), value }
    }
  }

  /** Number of the first transaction that is not on disk. */
  get #oldest(): number {
    return this.#transaction - (this.#inFlight.size > 0 ? 1 : 0)
  }

  #change(key: Uint8Array, value: Uint8Array | undefined): void {
    const waiting = this.#waiting
    // Changes are indexed in order, so this one is not indexed before the earlier ones.
    const isFound = this.#keptMax > 0 || (waiting.size > 0 && waiting.found === waiting.size)
    if (this.#isList || !isFound) return waiting.add(key, value)
    const name = latin1Key(key)
    const row = this.#rows.get(name)
    if (row?.transaction === this.#transaction) {
      waiting.replace(row.place, value)
      row.value = value
      return
    }
    this.#enter(name, value, this.#transaction, waiting.size)
    waiting.add(key, value)
    waiting.found = waiting.size
  }

  #begin(): Batch {
    this.#inFlight = this.#waiting
    this.#waiting = new Batch()
    this.#transaction++
    this.#moved.clear()
    return this.#inFlight
  }

  /** Forgets rows that are as on disk. */
  #forgetStored(): void {
    const oldest = this.#oldest
    for (const [name, { transaction }] of this.#rows) if (transaction < oldest) this.#rows.delete(name)
    // Without this growth, rows that are not on disk would be walked again and again.
    this.#rowsMax = Math.max(this.#keptMax, 2 * this.#rows.size)
  }
}

export type WriteBuffers = { readonly [name in TableName]: WriteBuffer }

/** The tables of a chain as their writer uses them: with addresses in keys (contractRows.ts). */
export type BufferedTables = Omit<WriteBuffers, ContractTableName> & {
  readonly [name in ContractTableName]: RowBuffer
}

/**
 * Rows that stay in memory after they are on disk, for a table that every block reads and changes. They take some 15
 * MB, those of the log index up to 30 MB.
 */
const keptMax = 50_000

const options: { readonly [name in TableName]?: BufferOptions } = {
  accounts: { keptMax },
  slots: { keptMax },
  logs: { keptMax },
  locations: { isList: true },
  ready: { isList: true },
  accountHistory: { isList: true },
  slotHistory: { isList: true },
  nodes: { isList: true, isConstant: true },
}

export function bufferTables(tables: ChainTables): WriteBuffers {
  const entries = Object.entries(tables).map(([name, table]) => {
    return [name, new WriteBuffer(table, options[name as TableName])]
  })
  return Object.fromEntries(entries) as WriteBuffers
}

/* Ranges of a table merged with waiting rows. */

/** A row with its new value; undefined if it is removed. */
interface Changed {
  readonly key: Uint8Array
  readonly value: Uint8Array | undefined
}

/** The rows of a range after `changes` to the table. Its time is linear in the number of changes, too. */
function mergedRange(
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

/** The entries of a range merged with changed rows; both in the same order. */
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
    // The bytes of an entry may be overwritten by the next read of the table.
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
