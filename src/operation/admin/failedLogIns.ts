/** Wrong tokens, told in summary: whoever guesses must not be able to fill the audit log. */
import { setTimeout } from '../../primitives/timers.js'

export interface FailedLogInsNote {
  readonly count: number
  /** The first of them came from here. */
  readonly address: string
  /** How many others sent wrong tokens, too; beyond {@link addressesMax} they are not told apart. */
  readonly otherAddresses: number
}

const intervalMs = 60_000

/** Addresses told apart within an interval. */
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

  /** Counts a wrong token; told at once where none was told within a minute, otherwise when that is over. */
  note(address: string): void {
    this.#count++
    if (this.#addresses.size < addressesMax) this.#addresses.add(address)
    if (this.#timer === undefined) this.#tellAll()
  }

  /** Tells what was not told yet. */
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
