/**
 * Units that keys with a daily quota have spent since midnight, UTC. Counted in memory that all edges share. The main
 * thread writes changes to the node store, so a crash loses a few seconds.
 */

import type { NodeStore } from '../../data/store/node/nodeStore.js'
import { FaultError } from '../../primitives/faults.js'
import { setInterval } from '../../primitives/timers.js'
import { CounterTable, idNumber, keyIdOf, type TableShape } from './counterTable.js'

/** Keys counted on one day; a key whose group is full has no daily limit. With 10,000 keys a group has 80. */
const shape: TableShape = { rows: 16_384, rowsPerGroup: 128, numbers: 2 }

export const dayMs = 86_400_000

/** Indices in a row: a day, and the units spent on it. */
const dayAt = 0
const unitsAt = 1

/** Half a MiB. */
export const quotaBytes = CounterTable.bytesFor(shape)

/** Time between two writes: a crash loses this much, and a flush every five seconds costs nothing. */
const writeMs = 5_000

export class DayQuotas {
  readonly #table: CounterTable
  readonly #dateMs: () => number

  /** `memory` has {@link quotaBytes} bytes, all zero at first. */
  constructor(memory?: SharedArrayBuffer, dateMs: () => number = Date.now) {
    // A key that spent units today keeps its row.
    this.#table = new CounterTable(
      shape,
      (at) => (this.#isOfToday(at) ? Number.POSITIVE_INFINITY : 0),
      memory,
    )
    this.#dateMs = dateMs
  }

  /** Takes units from the quota of a key if it has enough left today. */
  charge(keyId: string, units: number, unitsPerDay: number): boolean {
    return this.#spend(keyId, units, unitsPerDay) <= unitsPerDay
  }

  debit(keyId: string, units: number): void {
    this.#spend(keyId, units, Number.POSITIVE_INFINITY)
  }

  spent(keyId: string): number {
    return this.#spend(keyId, 0, Number.POSITIVE_INFINITY)
  }

  get msToMidnight(): number {
    return dayMs - (this.#dateMs() % dayMs)
  }

  /**
   * Starts with the stored units of this day, and writes changes to the store until closed. If the store takes no
   * writes, which it reports itself, they are written the next time.
   */
  keep(store: NodeStore): { close(): Promise<void> } {
    const day = this.#today()
    const written = new Map<string, number>()
    for (const row of store.readQuotas()) {
      if (row.day !== day) continue
      this.debit(row.id, row.units)
      written.set(row.id, row.units)
    }
    const write = async (): Promise<void> => {
      const today = this.#today()
      const rows = this.#entries().filter(({ id, units }) => written.get(id) !== units)
      if (rows.length === 0) return
      try {
        await store.writeQuotas(rows.map((row) => ({ ...row, day: today })))
      } catch (error) {
        if (error instanceof FaultError) return
        throw error
      }
      for (const { id, units } of rows) written.set(id, units)
    }
    const timer = setInterval(write, writeMs)
    timer.unref()
    return {
      close() {
        clearInterval(timer)
        return write()
      },
    }
  }

  /** The sum after spending `units` today. They are spent if that sum is at most `spentMax`. */
  #spend(keyId: string, units: number, spentMax: number): number {
    const { numbers } = this.#table
    const at = this.#table.take(idNumber(keyId))
    if (at === undefined) return 0
    if (!this.#isOfToday(at)) {
      numbers[at + dayAt] = this.#today()
      numbers[at + unitsAt] = 0
    }
    const spent = (numbers[at + unitsAt] as number) + units
    if (spent <= spentMax) numbers[at + unitsAt] = spent
    this.#table.giveBack()
    return spent
  }

  /** Units spent today; 0 for keys that spent on earlier days only. */
  #entries(): { readonly id: string; readonly units: number }[] {
    const { numbers } = this.#table
    const entries: { id: string; units: number }[] = []
    this.#table.visit((id, at) => {
      entries.push({ id: keyIdOf(id), units: this.#isOfToday(at) ? (numbers[at + unitsAt] as number) : 0 })
    })
    return entries
  }

  #today(): number {
    return Math.floor(this.#dateMs() / dayMs)
  }

  #isOfToday(at: number): boolean {
    return this.#table.numbers[at + dayAt] === this.#today()
  }
}
