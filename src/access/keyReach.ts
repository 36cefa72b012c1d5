/** How far a copy of shared keys can be believed, in memory that all edges share. */

/** 16 bytes, all zero at first: nothing can be believed. */
export const keyReachBytes = 2 * BigInt64Array.BYTES_PER_ELEMENT

const isInTouchAt = 0
const wholeAtMsAt = 1

export class KeyReach {
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
    return Date.now() - Number(Atomics.load(this.#words, wholeAtMsAt)) > this.#graceMs
  }
}
