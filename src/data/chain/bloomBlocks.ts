import { bloomBytes } from '../../primitives/bytes.js'
import { NotHeldError } from '../../primitives/notHeld.js'
import { rlpPayloadAt } from '../../primitives/rlp.js'
import type { ChainRows } from '../store/chainRows.js'
import { headerFieldAt } from './header.js'
import type { LogFilter } from './logFilter.js'

/** Index of the bloom of all logs in a header (yellow paper 4.4), and its bytes. */
const logsBloomIndex = 6

/**
 * Canonical blocks that may contain logs of a filter, ascending, by the blooms in their headers: for blocks that the
 * index of logs does not have. Takes time linear in the blocks of the range.
 */
export class BloomBlocks {
  readonly #rows: ChainRows
  readonly #filter: LogFilter
  readonly #last: number
  readonly #onRead: () => void

  /** `onRead` is called before each read of a header. */
  constructor(rows: ChainRows, filter: LogFilter, last: number, onRead: () => void) {
    this.#rows = rows
    this.#filter = filter
    this.#last = last
    this.#onRead = onRead
  }

  /** The first number from `from` on; Infinity where there is none. Throws NotHeldError. */
  seek(from: number): number {
    for (let number = from; number <= this.#last; number++) {
      this.#onRead()
      if (this.#filter.mayMatch(this.#bloomOf(number))) return number
    }
    return Number.POSITIVE_INFINITY
  }

  #bloomOf(number: number): Uint8Array {
    const hash = this.#rows.readCanonicalHash(number)
    if (hash === undefined) throw new NotHeldError({ kind: 'canonical', number })
    const header = this.#rows.readHeader(hash)
    const field = header && headerFieldAt(header, logsBloomIndex)
    if (header === undefined || field === undefined) throw new NotHeldError({ kind: 'header', hash })
    const start = rlpPayloadAt(header, field)
    return header.subarray(start, start + bloomBytes)
  }
}
