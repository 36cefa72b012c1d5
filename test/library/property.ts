import type { Parameters } from 'fast-check'

/**
 * `RUNS=10` lets every property test run ten times as often, for an hour when nobody waits; `RUNS=0.1` a tenth as
 * often, where only the system below is another.
 */
export const runsFactor = Number(process.env.RUNS ?? 1)

/**
 * Settings of a property test: how often it runs, and its seed, which is printed so that a failure can be
 * repeated with `SEED=<n>`.
 */
export function propertyRuns(numRuns: number): Parameters<unknown> {
  const seed = process.env.SEED === undefined ? Date.now() & 0x7fffffff : Number(process.env.SEED)
  console.log(`# seed ${seed} (repeat with SEED=${seed})`)
  return { numRuns: Math.ceil(numRuns * runsFactor), seed }
}

/** Choices of one run, all from one seed. */
export class Dice {
  #state: number

  constructor(state: number) {
    this.#state = state
  }

  /** Another that throws the same from here on. */
  copy(): Dice {
    return new Dice(this.#state)
  }

  /** 0 to `sides` − 1 (mulberry32). */
  throw(sides: number): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * sides)
  }

  times<T>(count: number, make: () => T): T[] {
    return Array.from({ length: count }, make)
  }
}
