/** Freshness of a copy of shared keys, in memory that all edges share. */

/** 16 bytes, all zero at first: no key is trusted. */
export const keyFreshnessBytes = 2 * BigInt64Array.BYTES_PER_ELEMENT

const isInTouchAt = 0
const wholeAtMsAt = 1

/** Longest time between two readings of the database's newest change number, in case a notification is lost. */
export const lookMs = 500

/** Minimum time of trust, for any grace. While the database answers, the copy was complete four checks ago. */
const believedMsMin = 4 * lookMs

/**
 * Milliseconds on a clock that all threads of the process share and that is never set. The wall clock may step, and
 * `performance.now` and its origin are those of a thread.
 */
export const freshnessClockMs = (): number => Number(process.hrtime.bigint() / 1_000_000n)

export interface KeyFreshnessFigures {
  readonly isAnswering: boolean
  /** Age of the last complete copy. */
  readonly ageSeconds: number
  readonly isAccepting: boolean
}

export class KeyFreshness {
  readonly #words: BigInt64Array
  readonly #believedMs: number
  readonly #clockMs: () => number

  /**
   * `graceMs`: how long keys are trusted that may have been revoked meanwhile. `clockMs`: see {@link freshnessClockMs}.
   */
  constructor(memory: SharedArrayBuffer, graceMs: number, clockMs = freshnessClockMs) {
    this.#words = new BigInt64Array(memory)
    this.#believedMs = Math.max(graceMs, believedMsMin)
    this.#clockMs = clockMs
  }

  /**
   * Records that the copy was complete at this time of {@link freshnessClockMs}; negative for a time before its origin.
   */
  noteWhole(atMs: number, isInTouch: boolean): void {
    Atomics.store(this.#words, wholeAtMsAt, BigInt(atMs))
    Atomics.store(this.#words, isInTouchAt, isInTouch ? 1n : 0n)
  }

  noteLost(): void {
    Atomics.store(this.#words, isInTouchAt, 0n)
  }

  /** Whether the database may have keys, or changes of keys, that the copy lacks. */
  get isLost(): boolean {
    return Atomics.load(this.#words, isInTouchAt) === 0n
  }

  /** Whether the copy is older than the time for which keys are trusted. */
  get isOver(): boolean {
    return this.#ageMs > this.#believedMs
  }

  get figures(): KeyFreshnessFigures {
    const ageSeconds = Math.max(Math.floor(this.#ageMs / 1_000), 0)
    return { isAnswering: !this.isLost, ageSeconds, isAccepting: !this.isOver }
  }

  get #ageMs(): number {
    const wholeAtMs = Number(Atomics.load(this.#words, wholeAtMsAt))
    return wholeAtMs === 0 ? Number.POSITIVE_INFINITY : this.#clockMs() - wholeAtMs
  }
}
