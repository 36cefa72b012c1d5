/** How far a copy of shared keys can be believed, in memory that all edges share. */

/** 16 bytes, all zero at first: nothing can be believed. */
export const keyFreshnessBytes = 2 * BigInt64Array.BYTES_PER_ELEMENT

const isInTouchAt = 0
const wholeAtMsAt = 1

/** How far the copy is believed, as operators see it. */
export interface KeyFreshnessFigures {
  readonly isAnswering: boolean
  /** Since the copy had all keys of the database. */
  readonly ageSeconds: number
  readonly isAccepting: boolean
}

export class KeyFreshness {
  readonly #words: BigInt64Array
  readonly #graceMs: number

  /** `graceMs`: how long keys are believed that may have been revoked since. */
  constructor(memory: SharedArrayBuffer, graceMs: number) {
    this.#words = new BigInt64Array(memory)
    this.#graceMs = graceMs
  }

  /** The copy had all of the database at this time. */
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
    return this.#ageMs > this.#graceMs
  }

  get figures(): KeyFreshnessFigures {
    const ageSeconds = Math.max(Math.floor(this.#ageMs / 1_000), 0)
    return { isAnswering: !this.isLost, ageSeconds, isAccepting: !this.isOver }
  }

  get #ageMs(): number {
    return Date.now() - Number(Atomics.load(this.#words, wholeAtMsAt))
  }
}
