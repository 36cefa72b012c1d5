import type { ChainRows } from '../store/chainRows.js'
import { anyLogKey, logKey } from '../store/logKeys.js'
import type { LogFilter } from './logFilter.js'

/** Ascending block numbers that can be entered anywhere. */
interface Ascending {
  /** The first number from `from` on, Infinity where there is none. `from` never goes back. */
  seek(from: number): number
}

/**
 * Numbers of the canonical blocks in which a filter's logs can be, ascending: those that have, for each position that the
 * filter restricts, one of its keys. Whether one log has them all is to be seen in the block. Costs by the numbers of
 * the rarest position, whatever the others have, and nothing for blocks between them.
 */
export class LogBlocks implements Ascending {
  readonly #positions: readonly Ascending[]

  /** `onRead` is called before each read of the index. */
  constructor(rows: ChainRows, filter: LogFilter, onRead: () => void) {
    const positions: Ascending[] = []
    for (const [position, count] of filter.counts.entries()) {
      const keys: Stretches[] = []
      filter.visitKeys(position, (key) =>
        keys.push(new Stretches(rows, logKey(position, Buffer.from(key, 'latin1')), onRead)),
      )
      if (count > 0) positions.push(new Union(keys))
    }
    this.#positions = positions.length > 0 ? positions : [new Stretches(rows, anyLogKey, onRead)]
  }

  seek(from: number): number {
    let number = from
    for (
      let agreeing = 0, at = 0;
      agreeing < this.#positions.length;
      at = (at + 1) % this.#positions.length
    ) {
      const next = (this.#positions[at] as Ascending).seek(number)
      if (next === Number.POSITIVE_INFINITY) return next
      agreeing = next === number ? agreeing + 1 : 1
      number = next
    }
    return number
  }
}

/** The blocks of one key, read as they are needed. */
class Stretches implements Ascending {
  readonly #rows: ChainRows
  readonly #key: Uint8Array
  readonly #onRead: () => void
  #numbers: readonly number[] = []
  #at = 0
  #current = -1

  constructor(rows: ChainRows, key: Uint8Array, onRead: () => void) {
    this.#rows = rows
    this.#key = key
    this.#onRead = onRead
  }

  seek(from: number): number {
    if (this.#current >= from) return this.#current
    if ((this.#numbers.at(-1) ?? -1) < from) {
      this.#onRead()
      this.#numbers = this.#rows.readLogStretch(this.#key, from)
      this.#at = 0
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

  seek(from: number): number {
    let least = Number.POSITIVE_INFINITY
    for (const member of this.#members) least = Math.min(least, member.seek(from))
    return least
  }
}
