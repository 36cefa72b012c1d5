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
  readonly #report: (note: FailedLogInsNote) => void
  #count = 0
  readonly #addresses = new Set<string>()
  /** Runs for a minute after each note. */
  #timer: NodeJS.Timeout | undefined

  constructor(report: (note: FailedLogInsNote) => void) {
    this.#report = report
  }

  /**
   * Counts a wrong token. Reports it at once if there was no report within a minute, otherwise at the end of that
   * minute.
   */
  note(address: string): void {
    this.#count++
    if (this.#addresses.size < addressesMax) this.#addresses.add(address)
    if (this.#timer === undefined) this.#reportAll()
  }

  /** Reports the remaining ones. */
  close(): void {
    if (this.#count > 0) this.#reportAll()
    clearTimeout(this.#timer)
  }

  #reportAll(): void {
    const [address = ''] = this.#addresses
    this.#report({ count: this.#count, address, otherAddresses: this.#addresses.size - 1 })
    this.#count = 0
    this.#addresses.clear()
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      if (this.#count > 0) this.#reportAll()
    }, intervalMs)
    this.#timer.unref()
  }
}
