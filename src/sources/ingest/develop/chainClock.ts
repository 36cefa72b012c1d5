/**
 * The time of a developer chain: how far its clock is ahead of this machine's, and the timestamp of the next block. The
 * store has what callers set for the next block, so that a restart keeps it.
 */
import type { Header } from '../../../data/chain/header.js'
import type { ChainWriter } from '../../../data/store/chainWriter.js'

/** The time of this machine. */
export function clockSeconds(): number {
  return Math.floor(Date.now() / 1_000)
}

export class ChainClock {
  /** How far the clock is ahead of this machine's. A chain whose head is in the future continues from there. */
  aheadSeconds: number
  readonly #store: ChainWriter
  readonly #readHead: () => Header
  readonly #isOfFork: boolean

  /** The clock of a fork begins at its base, and may be behind this machine's. */
  constructor(store: ChainWriter, readHead: () => Header, isOfFork: boolean) {
    this.#store = store
    this.#readHead = readHead
    this.#isOfFork = isOfFork
    const { clock = 0 } = store.readByHand()?.next ?? {}
    this.aheadSeconds = this.aheadAt(Math.max(this.#last, clock))
  }

  /** {@link aheadSeconds} of a clock that has this time now. */
  aheadAt(seconds: number): number {
    const ahead = seconds - clockSeconds()
    return this.#isOfFork ? ahead : Math.max(0, ahead)
  }

  /** {@link aheadSeconds} at the start, and after a reset to a block with this timestamp. */
  aheadFrom(timestamp: number): number {
    return this.#isOfFork ? this.aheadAt(timestamp) : 0
  }

  /** The timestamp that a caller set for the next block; undefined if none did. */
  get set(): number | undefined {
    const timestamp = this.#store.readByHand()?.next?.timestamp
    return timestamp !== undefined && timestamp > this.#last ? timestamp : undefined
  }

  /** Timestamp of the next block: the set one, or the parent's with the set interval, or the chain's time. */
  get next(): number {
    const { set } = this
    if (set !== undefined) return set
    const last = this.#last
    const interval = this.#store.readByHand()?.next?.interval
    if (interval !== undefined) return last + Math.max(interval, 1)
    return Math.max(clockSeconds() + this.aheadSeconds, last + 1)
  }

  get #last(): number {
    return Number(this.#readHead().timestamp)
  }
}
