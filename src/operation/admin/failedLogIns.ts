/** Wrong tokens, reported in summary: a guesser must not be able to fill the audit log. */
import { setTimeout } from '../../primitives/timers.js'

export interface FailedLogInsNote {
  readonly count: number
  /** Address of the first one. */
  readonly address: string
  /** Number of other addresses with wrong tokens; addresses beyond {@link addressesMax} are not counted. */
  readonly otherAddresses: number
}

const intervalMs = 60_000

/** Addresses counted separately within an interval. */
const addressesMax = 1_000

export class FailedLogIns {
  readonly #tell: (note: FailedLogInsNote) => void
  #count = 0
  readonly #addresses = new Set<string>()
  /** Runs for a minute after each note. */
  #timer: NodeJS.Timeout | undefined

  constructor(tell: (note: FailedLogInsNote) => void) {
    this.#tell = tell
  }

  /**
   * Counts a wrong token. Reports it at once if there was no report within a minute, otherwise at the end of that
   * minute.
   */
  note(address: string): void {
    this.#count++
    if (this.#addresses.size < addressesMax) this.#addresses.add(address)
    if (this.#timer === undefined) this.#tellAll()
  }

  /** Reports the remaining ones. */
  close(): void {
    if (this.#count > 0) this.#tellAll()
    clearTimeout(this.#timer)
  }

  #tellAll(): void {
    const [address = ''] = this.#addresses
    this.#tell({ count: this.#count, address, otherAddresses: this.#addresses.size - 1 })
    this.#count = 0
    this.#addresses.clear()
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      if (this.#count > 0) this.#tellAll()
    }, intervalMs)
    this.#timer.unref()
  }
}
