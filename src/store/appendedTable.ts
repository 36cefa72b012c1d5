import { mapKey } from '../primitives/bytes.js'
import { type ChangedRow, countWith, rangeWith } from './changedRange.js'
import type { Table } from './environment.js'
import type { PendingRows } from './pendingTable.js'
import type { Entry, Range, WriteTable } from './readTable.js'

/**
 * As {@link PendingTable}, for a table of which each block writes many rows that hardly anybody reads while they wait:
 * they are a list, and found by key only after the first such read. An object, a string and a place in a Map for each
 * would take as long as all else that is done with it.
 */
export class AppendedTable implements WriteTable, PendingRows {
  readonly #table: Table
  readonly #isConstant: boolean
  /** Key and value (undefined: removed) by turns, in the order in which they were changed. */
  #waiting: (Uint8Array | undefined)[] = []
  #landing: (Uint8Array | undefined)[] = []
  /** The last change of each row among the first so many of `#landing` and of `#waiting`. */
  readonly #found = { rows: new Map<string, ChangedRow>(), landing: 0, waiting: 0 }

  /** `isConstant`: a key never has another value, so what is stored need not be looked for among what waits. */
  constructor(table: Table, isConstant = false) {
    this.#table = table
    this.#isConstant = isConstant
  }

  get waiting(): number {
    return this.#waiting.length / 2
  }

  getBinary(key: Uint8Array): Uint8Array | undefined {
    if (this.#isEmpty) return this.#table.getBinary(key)
    const stored = this.#isConstant ? this.#table.getBinary(key) : undefined
    if (stored !== undefined) return stored
    const row = this.#changed().get(mapKey(key))
    if (row !== undefined) return row.value
    return this.#isConstant ? undefined : this.#table.getBinary(key)
  }

  getBrief(key: Uint8Array, bytesMax?: number): Uint8Array | undefined {
    return this.#isEmpty ? this.#table.getBrief(key, bytesMax) : this.getBinary(key)?.subarray(0, bytesMax)
  }

  lend(key: Uint8Array): Uint8Array | undefined {
    return this.#isEmpty ? this.#table.lend(key) : this.getBinary(key)
  }

  doesExist(key: Uint8Array): boolean {
    return this.#isEmpty ? this.#table.doesExist(key) : this.getBinary(key) !== undefined
  }

  getRange(range?: Range): Iterable<Entry> {
    return rangeWith(this.#table, this.#changed().values(), range)
  }

  getCount(): number {
    return countWith(this.#table, this.#changed().values())
  }

  putSync(key: Uint8Array, value: Uint8Array): void {
    this.#waiting.push(key, value)
  }

  removeSync(key: Uint8Array): void {
    this.#waiting.push(key, undefined)
  }

  writeSync(): void {
    const rows = this.#begin()
    for (let at = 0; at < rows.length; at += 2) {
      const [key, value] = [rows[at] as Uint8Array, rows[at + 1]]
      if (value === undefined) this.#table.removeSync(key)
      else this.#table.putSync(key, value)
    }
  }

  write(): void {
    const rows = this.#begin()
    for (let at = 0; at < rows.length; at += 2) {
      const [key, value] = [rows[at] as Uint8Array, rows[at + 1]]
      if (value === undefined) this.#table.remove(key)
      else this.#table.put(key, value)
    }
  }

  landed(): void {
    this.#landing = []
    this.#forgetFound()
  }

  forget(): void {
    this.#waiting = []
    this.#landing = []
    this.#forgetFound()
  }

  get #isEmpty(): boolean {
    return this.#waiting.length === 0 && this.#landing.length === 0
  }

  #begin(): readonly (Uint8Array | undefined)[] {
    this.#landing = this.#waiting
    this.#waiting = []
    this.#forgetFound()
    return this.#landing
  }

  #changed(): Map<string, ChangedRow> {
    const found = this.#found
    found.landing = this.#find(this.#landing, found.landing)
    found.waiting = this.#find(this.#waiting, found.waiting)
    return found.rows
  }

  /** Adds the rows of a list from one on; returns the length of the list. */
  #find(list: readonly (Uint8Array | undefined)[], from: number): number {
    for (let at = from; at < list.length; at += 2) {
      const key = list[at] as Uint8Array
      this.#found.rows.set(mapKey(key), { key, value: list[at + 1] })
    }
    return list.length
  }

  #forgetFound(): void {
    this.#found.rows.clear()
    this.#found.landing = 0
    this.#found.waiting = 0
  }
}
