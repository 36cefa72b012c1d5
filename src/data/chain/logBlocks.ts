import { latin1KeyToBytes } from '../../primitives/bytes.js'
import type { ChainRows } from '../store/chainRows.js'
import { anyLogKey, logKey } from '../store/layouts/logKeys.js'
import type { LogFilter } from './logFilter.js'

/** Ascending block numbers with random access. */
interface Ascending {
  /** The first number from `from` on; Infinity if there is none. `from` must not decrease. */
  seek(from: number): number
  /** Density of numbers at the last {@link seek}: numbers per block. */
  readonly density: number
}

/**
 * Most candidates that pass without a look-up while a position contains all of them. A look-up takes as long as
 * reading the block, whose logs are checked anyway.
 */
const unseenMax = 15

/**
 * Canonical blocks that may contain logs of a filter, ascending. Each has one of the filter's keys at the rarest
 * position, and usually at each other restricted position. A check in the block must show whether a single log has all
 * of them. Takes time linear in the numbers of the rarest position, and none for blocks between them.
 */
export class LogBlocks {
  readonly #first: Ascending
  readonly #others: readonly Sampled[]

  /** `from` is the first block of the search. `onRead` is called before each read of the index. */
  constructor(rows: ChainRows, filter: LogFilter, from: number, onRead: () => void) {
    const positions: Ascending[] = []
    for (const [position, count] of filter.counts.entries()) {
      const keys: LogChunks[] = []
      filter.visitKeys(position, (key) =>
        keys.push(new LogChunks(rows, logKey(position, latin1KeyToBytes(key)), onRead)),
      )
      if (count > 0) positions.push(new Union(keys))
    }
    if (positions.length === 0) positions.push(new LogChunks(rows, anyLogKey, onRead))
    for (const each of positions) each.seek(from)
    positions.sort((a, b) => a.density - b.density)
    this.#first = positions[0] as Ascending
    this.#others = positions.slice(1).map((each) => new Sampled(each))
  }

  /** The first number from `from` on; Infinity if there is none. `from` must not decrease. */
  seek(from: number): number {
    let number = this.#first.seek(from)
    for (let at = 0; at < this.#others.length && number < Number.POSITIVE_INFINITY; ) {
      const next = (this.#others[at] as Sampled).seek(number)
      if (next === Number.POSITIVE_INFINITY) return next
      if (next === number) at++
      else {
        number = this.#first.seek(next)
        at = 0
      }
    }
    return number
  }
}

/** Looks up fewer and fewer candidates while all of them are found. */
class Sampled {
  readonly #numbers: Ascending
  #unseen = 0
  #left = 0

  constructor(numbers: Ascending) {
    this.#numbers = numbers
  }

  /** `from`, if it is found or passes without a look-up; otherwise the next number. */
  seek(from: number): number {
    if (this.#left > 0) {
      this.#left--
      return from
    }
    const next = this.#numbers.seek(from)
    this.#unseen = next === from ? Math.min(2 * this.#unseen + 1, unseenMax) : 0
    this.#left = this.#unseen
    return next
  }
}

/** The blocks of one key, read row by row. */
class LogChunks implements Ascending {
  readonly #rows: ChainRows
  readonly #key: Uint8Array
  readonly #onRead: () => void
  #numbers: readonly number[] = []
  #at = 0
  #current = -1
  density = 0

  constructor(rows: ChainRows, key: Uint8Array, onRead: () => void) {
    this.#rows = rows
    this.#key = key
    this.#onRead = onRead
  }

  seek(from: number): number {
    if (this.#current >= from) return this.#current
    if ((this.#numbers.at(-1) ?? -1) < from) {
      this.#onRead()
      this.#numbers = this.#rows.readLogChunk(this.#key, from)
      this.#at = 0
      const { length } = this.#numbers
      this.density = length === 0 ? 0 : length / ((this.#numbers[length - 1] as number) - from + 1)
    }
    while ((this.#numbers[this.#at] as number) < from) this.#at++
    this.#current = this.#numbers[this.#at] ?? Number.POSITIVE_INFINITY
    return this.#current
  }
}

/** The blocks that have one of several keys. */
class Union implements Ascending {
  readonly #members: readonly Ascending[]

  constructor(members: readonly Ascending[]) {
    this.#members = members
  }

  get density(): number {
    return this.#members.reduce((sum, { density }) => sum + density, 0)
  }

  seek(from: number): number {
    let least = Number.POSITIVE_INFINITY
    for (const member of this.#members) least = Math.min(least, member.seek(from))
    return least
  }
}
