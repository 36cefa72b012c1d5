/**
 * Which keys old blocks changed, of which no undo record is kept: found by a walk over all rows of state, for many blocks
 * at once.
 */
import { type StateKind, type StateRow, stateKinds } from './stateRows.js'
import type { UndoEntry, UndoRecord } from './undoRecord.js'

/** Blocks that one walk is for; their changes wait in memory. */
const blocksMax = 1_024
/** Changes that wait at most, unless one block has more: some 100 MB. */
const changesMax = 500_000

type Found = { [kind in StateKind]: UndoEntry[] }

export class PastChanges {
  readonly #rows: (kind: StateKind) => Iterable<StateRow>
  #first = 0
  #blocks: Found[] = []

  constructor(rows: (kind: StateKind) => Iterable<StateRow>) {
    this.#rows = rows
  }

  /** What block `number` changed, in the order of keys. It and the next ones must be canonical for good. */
  read(number: number): UndoRecord {
    const found = this.#blocks[number - this.#first]
    if (found === undefined) this.#collect(number)
    const { accounts, slots } = found ?? (this.#blocks[0] as Found)
    // Rows of contracts are in the order of their numbers.
    return { accounts, slots: slots.sort(([a], [b]) => Buffer.compare(a, b)) }
  }

  #collect(first: number): void {
    this.#first = first
    this.#blocks = Array.from({ length: blocksMax }, () => ({ accounts: [], slots: [] }))
    let count = 0
    for (const kind of stateKinds) {
      let key: Uint8Array | undefined
      /** Since when the key had a value before the row. */
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

  /** Gives up the later half of the blocks; returns how many changes they had. */
  #forgetHalf(): number {
    if (this.#blocks.length < 2) return 0
    const removed = this.#blocks.splice(Math.ceil(this.#blocks.length / 2))
    return removed.reduce((sum, { accounts, slots }) => sum + accounts.length + slots.length, 0)
  }
}
