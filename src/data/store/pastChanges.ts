/**
 * Keys that old blocks changed, for blocks without an undo record. They are found by a walk over all rows of state, for
 * many blocks at once.
 */

import type { UndoEntry, UndoRecord } from './layouts/undoRecord.js'
import { type StateKind, type StateRow, stateKinds } from './stateRows.js'

/** Number of blocks that one walk collects; their changes wait in memory. */
const blocksMax = 1_024
/** Most changes that wait in memory, unless one block has more: some 100 MB. */
const changesMax = 500_000

type Found = { [kind in StateKind]: UndoEntry[] }

export class PastChanges {
  readonly #rows: (kind: StateKind) => Iterable<StateRow>
  #first = 0
  #blocks: Found[] = []

  constructor(rows: (kind: StateKind) => Iterable<StateRow>) {
    this.#rows = rows
  }

  /** Changes of block `number`, in key order. It and the next {@link blocksMax} blocks must be canonical for good. */
  read(number: number): UndoRecord {
    const found = this.#blocks[number - this.#first]
    if (found === undefined) this.#collect(number)
    const { accounts, slots } = found ?? (this.#blocks[0] as Found)
    // Rows of contracts are in the order of the contracts' numbers.
    return { accounts, slots: slots.sort(([a], [b]) => Buffer.compare(a, b)) }
  }

  #collect(first: number): void {
    this.#first = first
    this.#blocks = Array.from({ length: blocksMax }, () => ({ accounts: [], slots: [] }))
    let count = 0
    for (const kind of stateKinds) {
      let key: Uint8Array | undefined
      /** Block since which the key had a value before this row; undefined for none. */
      let before: number | undefined
      for (const row of this.#rows(kind)) {
        if (key === undefined || Buffer.compare(key, row.key) !== 0) {
          key = row.key
          before = undefined
        }
        const found = this.#blocks[row.since - first]?.[kind]
        if (found !== undefined) {
          found.push([key, before])
          if (++count > changesMax) count -= this.#forgetHalf()
        }
        before = row.value.length === 0 ? undefined : row.since
      }
    }
  }

  /** Drops the later half of the blocks; returns how many changes they had. */
  #forgetHalf(): number {
    if (this.#blocks.length < 2) return 0
    const removed = this.#blocks.splice(Math.ceil(this.#blocks.length / 2))
    return removed.reduce((sum, { accounts, slots }) => sum + accounts.length + slots.length, 0)
  }
}
