import type { Parameters } from 'fast-check'

/**
 * Factor for the runs of every property test: `RUNS=10` for long unattended runs, `RUNS=0.1` to check only a different
 * system below.
 */
export const runsFactor = Number(process.env.RUNS ?? 1)

/**
 * Settings of a property test: the number of runs, and the seed, which is printed so that a failure can be repeated
 * with `SEED=<n>`.
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
 * `count` of the subjects of a repeated test, in their order. The choice differs in each run, by a printed seed. If
 * `RUNS` is above 1, as in `npm run test:long`, all of them.
 */
export function someOf<T>(subjects: readonly T[], count: number): readonly T[] {
  if (runsFactor > 1 || count >= subjects.length) return subjects
  chooser ??= new Dice(newSeed())
  const chosen = new Set<number>()
  while (chosen.size < count) chosen.add(chooser.throw(subjects.length))
  return subjects.filter((_, at) => chosen.has(at))
}

/** Whether a test that kills processes must run with all its subjects. */
export const killsAll = process.env.KILLS !== undefined || runsFactor > 1

/**
 * One subject for a test that kills processes, different in each run, and those that are skipped, so that they are
 * reported. If `KILLS` or `RUNS` requires more, all of them.
 */
export function oneToKill<T extends { readonly skip: string | false }>(subjects: readonly T[]): readonly T[] {
  if (killsAll) return subjects
  const chosen = someOf(
    subjects.filter(({ skip }) => skip === false),
    1,
  )
  return subjects.filter((subject) => subject.skip !== false || chosen.includes(subject))
}

/** One in `parts` of the subjects, but at least one of them. */
export function oneIn<T>(parts: number, subjects: readonly T[]): readonly T[] {
  return someOf(subjects, Math.ceil(subjects.length / parts))
}

/** A third of the subjects, at least one. */
export function thirdOf<T>(subjects: readonly T[]): readonly T[] {
  return oneIn(3, subjects)
}

/** Random choices of one run, all from one seed. */
export class Dice {
  #state: number

  constructor(state: number) {
    this.#state = state
  }

  /** A copy that gives the same throws from now on. */
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
