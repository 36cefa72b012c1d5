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
  return { numRuns: Math.ceil(numRuns * runsFactor), seed: newSeed() }
}

function newSeed(): number {
  const seed = process.env.SEED === undefined ? Date.now() & 0x7fffffff : Number(process.env.SEED)
  console.log(`# seed ${seed} (repeat with SEED=${seed})`)
  return seed
}

let chooser: Dice | undefined

/**
 * `count` of the subjects that a test does the same with, in their order: others in each run, by a seed that is printed. All
 * of them where `RUNS` asks for more, as `npm run test:long` does.
 */
export function someOf<T>(subjects: readonly T[], count: number): readonly T[] {
  if (runsFactor > 1 || count >= subjects.length) return subjects
  chooser ??= new Dice(newSeed())
  const chosen = new Set<number>()
  while (chosen.size < count) chosen.add(chooser.throw(subjects.length))
  return subjects.filter((_, at) => chosen.has(at))
}

/** Whether every subject of a test that kills processes is asked for. */
export const killsAll = process.env.KILLS !== undefined || runsFactor > 1

/**
 * One of the subjects that a test kills processes with, others in each run, and those that are skipped, so that it is said;
 * all of them where `KILLS` or `RUNS` asks for more.
 */
export function oneToKill<T extends { readonly skip: string | false }>(subjects: readonly T[]): readonly T[] {
  if (killsAll) return subjects
  const chosen = someOf(
    subjects.filter(({ skip }) => skip === false),
    1,
  )
  return subjects.filter((subject) => subject.skip !== false || chosen.includes(subject))
}

/** A third of them, and one at least. */
export function thirdOf<T>(subjects: readonly T[]): readonly T[] {
  return someOf(subjects, Math.ceil(subjects.length / 3))
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
