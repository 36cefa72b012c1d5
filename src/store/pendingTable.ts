import { mapKey } from '../primitives/bytes.js'
import { countWith, rangeWith } from './changedRange.js'
import type { Table } from './environment.js'
import type { Entry, Range, WriteTable } from './readTable.js'

interface Row {
  readonly key: Uint8Array
  /** Undefined for none. */
  value: Uint8Array | undefined
  /** Whether it was changed since {@link PendingTable.write}. */
  isWaiting: boolean
}

/** Changes of a table that wait for a transaction. */
export interface PendingRows {
  /** Changes that no transaction has. */
  readonly waiting: number
  /** Has the transaction that the caller began write what waits. */
  writeSync(): void
  /** Adds what waits to the batch that the caller began, which another thread writes. */
  write(): void
  /** Call it when the transaction is on disk. */
  landed(): void
  /** Forgets every change that is not on disk; call it when the transaction failed, or none shall begin. */
  forget(): void
}

/**
 * A table of the one writer, whose changes wait in memory until a transaction writes them, each row once however often
 * it changed. The writer reads them at once. Keys and values are shared: nobody may change them.
 */
export class PendingTable implements WriteTable, PendingRows {
  readonly #table: Table
  readonly #keptMax: number
  readonly #rows = new Map<string, Row>()
  /** Changed rows that no transaction has. */
  #waiting: Row[] = []
  /** Rows of a transaction that is not on disk yet. */
  #landing: Row[] = []

  /** After they are on disk, up to `keptMax` rows stay in memory: of a table whose rows change again and again. */
  constructor(table: Table, keptMax = 0) {
    this.#table = table
    this.#keptMax = keptMax
  }

  get waiting(): number {
    return this.#waiting.length
  }

  getBinary(key: Uint8Array): Uint8Array | undefined {
    if (this.#keptMax === 0 && this.#rows.size === 0) return this.#table.getBinary(key)
    const name = mapKey(key)
    const row = this.#rows.get(name)
    if (row !== undefined) return row.value
    const value = this.#table.getBinary(key)
    if (this.#keptMax > 0) this.#keep(name, { key, value, isWaiting: false })
    return value
  }

  getBrief(key: Uint8Array, bytesMax?: number): Uint8Array | undefined {
    if (this.#rows.size === 0) return this.#table.getBrief(key, bytesMax)
    return this.getBinary(key)?.subarray(0, bytesMax)
  }

  lend(key: Uint8Array): Uint8Array | undefined {
    return this.#rows.size === 0 ? this.#table.lend(key) : this.getBinary(key)
  }

  doesExist(key: Uint8Array): boolean {
    const row = this.#rows.size === 0 ? undefined : this.#rows.get(mapKey(key))
    return row === undefined ? this.#table.doesExist(key) : row.value !== undefined
  }

  /** Takes time linear in the rows that wait, too. */
  getRange(range?: Range): Iterable<Entry> {
    return rangeWith(this.#table, this.#changed(), range)
  }

  getCount(): number {
    return countWith(this.#table, this.#changed())
  }

  putSync(key: Uint8Array, value: Uint8Array): void {
    this.#change(key, value)
  }

  removeSync(key: Uint8Array): void {
    this.#change(key, undefined)
  }

  writeSync(): void {
    for (const { key, value } of this.#begin()) {
      if (value === undefined) this.#table.removeSync(key)
      else this.#table.putSync(key, value)
    }
  }

  write(): void {
    // lmdb-js copies keys and reads the values later.
    for (const { key, value } of this.#begin()) {
      if (value === undefined) this.#table.remove(key)
      else this.#table.put(key, value)
    }
  }

  landed(): void {
    if (this.#keptMax === 0) {
      for (const { key, isWaiting } of this.#landing) if (!isWaiting) this.#rows.delete(mapKey(key))
    }
    this.#landing = []
  }

  forget(): void {
    this.#rows.clear()
    this.#waiting = []
    this.#landing = []
  }

  #begin(): readonly Row[] {
    const rows = this.#waiting
    for (const row of rows) row.isWaiting = false
    this.#waiting = []
    this.#landing = rows
    return rows
  }

  #change(key: Uint8Array, value: Uint8Array | undefined): void {
    const name = mapKey(key)
    let row = this.#rows.get(name)
    if (row === undefined) {
      row = { key, value, isWaiting: false }
      this.#keep(name, row)
    }
    row.value = value
    if (row.isWaiting) return
    row.isWaiting = true
    this.#waiting.push(row)
  }

  #changed(): Row[] {
    return [...this.#waiting, ...this.#landing.filter(({ isWaiting }) => !isWaiting)]
  }

  #keep(name: string, row: Row): void {
    const changed = this.#waiting.length + this.#landing.length
    if (this.#keptMax > 0 && this.#rows.size >= this.#keptMax + changed) {
      this.#rows.clear()
      for (const own of this.#changed()) this.#rows.set(mapKey(own.key), own)
    }
    this.#rows.set(name, row)
  }
}
