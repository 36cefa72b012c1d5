import { mapKey } from '../primitives/bytes.js'
import type { Entry, Range, WriteTable } from './readTable.js'

/** Rows that are kept until all are written and forgotten: they take some 15 MB, those of the log index up to 30. */
const rowsMax = 50_000

const absent = new Uint8Array(0)

interface Row {
  readonly key: Uint8Array
  /** Empty for none, which no row of such a table is. */
  value: Uint8Array
  isWaiting: boolean
}

/**
 * A table of which many rows change again and again within one transaction, such as the accounts of the head: rows
 * are read once, and written once, by {@link flush} at the end of the transaction. Only for the one writer of the
 * table. Keys and values are shared: nobody may change them.
 */
export class LatestTable implements WriteTable {
  readonly #table: WriteTable
  readonly #rows = new Map<string, Row>()
  #waiting: Row[] = []

  constructor(table: WriteTable) {
    this.#table = table
  }

  getBinary(key: Uint8Array): Uint8Array | undefined {
    const { value } = this.#read(key)
    return value.length === 0 ? undefined : value
  }

  getBrief(key: Uint8Array, bytesMax?: number): Uint8Array | undefined {
    return this.getBinary(key)?.subarray(0, bytesMax)
  }

  lend(key: Uint8Array): Uint8Array | undefined {
    return this.getBinary(key)
  }

  doesExist(key: Uint8Array): boolean {
    return this.#read(key).value.length > 0
  }

  getRange(range?: Range): Iterable<Entry> {
    this.flush()
    return this.#table.getRange(range)
  }

  getCount(): number {
    this.flush()
    return this.#table.getCount()
  }

  putSync(key: Uint8Array, value: Uint8Array): void {
    const name = mapKey(key)
    const row = this.#rows.get(name) ?? this.#keep(name, key, value)
    row.value = value
    if (row.isWaiting) return
    row.isWaiting = true
    this.#waiting.push(row)
  }

  removeSync(key: Uint8Array): void {
    this.putSync(key, absent)
  }

  /** Writes what waits. Call it before the transaction ends. */
  flush(): void {
    for (const row of this.#waiting) {
      row.isWaiting = false
      if (row.value.length === 0) this.#table.removeSync(row.key)
      else this.#table.putSync(row.key, row.value)
    }
    this.#waiting = []
  }

  /** Call it after a transaction that failed. */
  forget(): void {
    this.#rows.clear()
    this.#waiting = []
  }

  #read(key: Uint8Array): Row {
    const name = mapKey(key)
    return this.#rows.get(name) ?? this.#keep(name, key, this.#table.getBinary(key) ?? absent)
  }

  #keep(name: string, key: Uint8Array, value: Uint8Array): Row {
    if (this.#rows.size >= rowsMax) {
      this.flush()
      this.#rows.clear()
    }
    const row = { key, value, isWaiting: false }
    this.#rows.set(name, row)
    return row
  }
}
