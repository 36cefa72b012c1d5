/** How far a copy of shared keys can be believed, in memory that all edges share. */

/** 16 bytes, all zero at first: nothing can be believed. */
export const keyFreshnessBytes = 2 * BigInt64Array.BYTES_PER_ELEMENT

const isInTouchAt = 0
const wholeAtMsAt = 1

/** Longest time between two looks at the number of the database's newest change, should a notification be lost. */
export const lookMs = 500

/** However short keys are to be believed: as long as the database answers, the copy was whole four looks ago. */
const believedMsMin = 4 * lookMs

/**
 * Milliseconds on a clock that all threads of the process share and nobody sets. The wall clock may step, and
 * `performance.now` and its origin are those of a thread.
 */
export const freshnessClockMs = (): number => Number(process.hrtime.bigint() / 1_000_000n)

/** How far the copy is believed, as operators see it. */
export interface KeyFreshnessFigures {
  readonly isAnswering: boolean
  /** Since the copy had all keys of the database. */
  readonly ageSeconds: number
  readonly isAccepting: boolean
}

export class KeyFreshness {
  readonly #words: BigInt64Array
  readonly #believedMs: number
  readonly #clockMs: () => number

  /** `graceMs`: how long keys are believed that may have been revoked since. `clockMs`: see {@link freshnessClockMs}. */
  constructor(memory: SharedArrayBuffer, graceMs: number, clockMs = freshnessClockMs) {
    this.#words = new BigInt64Array(memory)
    this.#believedMs = Math.max(graceMs, believedMsMin)
    this.#clockMs = clockMs
  }

  /** The copy had all of the database at this time of {@link freshnessClockMs}; before it began where that is negative. */
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

  /** Whether that has lasted for longer than keys are believed. */
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
