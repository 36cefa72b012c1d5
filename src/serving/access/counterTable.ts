/**
 * Counters of keys, in memory that several threads share: a row for each key, found by its id. Owns the rows and their
 * keys. The users of a table (meter, quotas, leases and counts) define the numbers in a row.
 *
 * Rows lie in groups, and a key's group follows from its id. A thread locks a group by compare-and-exchange, reads and
 * writes its rows, and unlocks it some tens of nanoseconds later. So a row never has two owners, and no count goes to a
 * row that was just given to another key. A thread that was ended while it had a group delays others by
 * {@link takenMsMax}.
 */

export interface TableShape {
  /** A power of two, and a multiple of {@link rowsPerGroup}. */
  readonly rows: number
  readonly rowsPerGroup: number
  /** Numbers in a row; all are zero when it is given to a key. */
  readonly numbers: number
}

/** A thread with a group needs it for less than a microsecond, but it may have to wait for a core. */
const takenMsMax = 250

/** Checks of a taken group before the thread sleeps a while: some microseconds. */
const looksMax = 100

/** Numbers before those of a row: the id plus one, 0 if the row was never used, and the kind. */
const headNumbers = 2

/** A key's id, 12 hex digits, as a number. */
export function idNumber(keyId: string): number {
  return Number.parseInt(keyId, 16)
}

export function keyIdOf(id: number): string {
  return id.toString(16).padStart(12, '0')
}

export class CounterTable {
  /** All rows; {@link take} returns the start of one. */
  readonly numbers: Float64Array
  /** For each group: the ticket of the thread that has it, or 0. */
  readonly #takers: Int32Array
  readonly #shape: TableShape
  readonly #keptFor: (at: number) => number
  readonly #rowNumbers: number
  /** Ticket of the group that this thread has. Odd, and different each time. */
  #ticket = Math.floor(Math.random() * 2 ** 30) * 2 + 1
  #group = 0

  /**
   * `memory` has {@link CounterTable.bytesFor} bytes from `offset`, a multiple of 8, all zero before the first thread
   * uses them. If a group is full, a new key gets the row with the shortest `keptFor`. A row kept for Infinity is never
   * replaced.
   */
  constructor(
    shape: TableShape,
    keptFor: (at: number) => number,
    memory: ArrayBufferLike = new ArrayBuffer(CounterTable.bytesFor(shape)),
    offset = 0,
  ) {
    const { rows, rowsPerGroup, numbers } = shape
    this.#shape = shape
    this.#keptFor = keptFor
    this.#rowNumbers = headNumbers + numbers
    this.numbers = new Float64Array(memory, offset, rows * this.#rowNumbers)
    this.#takers = new Int32Array(memory, offset + this.numbers.byteLength, rows / rowsPerGroup)
  }

  static bytesFor({ rows, rowsPerGroup, numbers }: TableShape): number {
    return rows * (headNumbers + numbers) * 8 + Math.ceil(rows / rowsPerGroup / 2) * 8
  }

  /**
   * Takes the row of a key and a `kind`; returns the index of its first number. Returns undefined if the key has no row
   * and none may be made, or if there is no room. After a row was taken, call {@link giveBack}; do not throw or wait
   * before.
   */
  take(id: number, kind = 0, isMade = true): number | undefined {
    const { numbers } = this
    const { rowsPerGroup } = this.#shape
    const group = Math.floor(id / 2 ** 32) % this.#takers.length
    this.#takeGroup(group)
    const first = group * rowsPerGroup * this.#rowNumbers
    const end = first + rowsPerGroup * this.#rowNumbers
    let free: number | undefined
    for (let at = first; at < end; at += this.#rowNumbers) {
      if (numbers[at] === id + 1 && numbers[at + 1] === kind) return at + headNumbers
      if (numbers[at] !== 0) continue
      free = at
      // Rows are never emptied, so the key has no row behind an unused one.
      break
    }
    if (isMade) free ??= this.#leastKept(first, end)
    if (!isMade || free === undefined) {
      this.giveBack()
      return undefined
    }
    numbers.fill(0, free, free + this.#rowNumbers)
    numbers[free] = id + 1
    numbers[free + 1] = kind
    return free + headNumbers
  }

  giveBack(): void {
    // Does nothing if another thread waited too long and has taken the group.
    Atomics.compareExchange(this.#takers, this.#group, this.#ticket, 0)
  }

  /** Calls `visit` with each row that was ever used, while its group is taken. */
  visit(visit: (id: number, at: number) => void): void {
    const groupNumbers = this.#shape.rowsPerGroup * this.#rowNumbers
    for (let group = 0; group < this.#takers.length; group++) {
      this.#takeGroup(group)
      for (let at = group * groupNumbers; at < (group + 1) * groupNumbers; at += this.#rowNumbers) {
        const id = this.numbers[at] as number
        if (id === 0) break
        visit(id - 1, at + headNumbers)
      }
      this.giveBack()
    }
  }

  #leastKept(first: number, end: number): number | undefined {
    let best: number | undefined
    let least = Number.POSITIVE_INFINITY
    for (let at = first; at < end; at += this.#rowNumbers) {
      const keptFor = this.#keptFor(at + headNumbers)
      if (keptFor >= least) continue
      best = at
      least = keptFor
    }
    return best
  }

  #takeGroup(group: number): void {
    const takers = this.#takers
    this.#group = group
    this.#ticket = (this.#ticket + 2) | 0
    if (Atomics.compareExchange(takers, group, 0, this.#ticket) !== 0) this.#awaitGroup(group)
  }

  #awaitGroup(group: number): void {
    let taker = 0
    let sinceMs = 0
    for (let looks = 0; ; looks++) {
      const found = Atomics.compareExchange(this.#takers, group, 0, this.#ticket)
      if (found === 0) return
      if (looks < looksMax) continue
      if (found !== taker) {
        taker = found
        sinceMs = performance.now()
      } else if (performance.now() - sinceMs > takenMsMax) {
        if (Atomics.compareExchange(this.#takers, group, taker, this.#ticket) === taker) return
      }
      // In memory of a single thread, which `Atomics.wait` refuses, no group is ever locked by another thread.
      Atomics.wait(this.#takers, group, found, 1)
    }
  }
}
