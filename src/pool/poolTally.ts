import type { ClassCounts, PoolCounts } from './poolOptions.js'

/** What changes with time, unlike what a pool has done. */
type Now = Pick<ClassCounts, 'waiting' | 'running'>
type Tally = { -readonly [N in Exclude<keyof ClassCounts, 'class' | keyof Now>]: ClassCounts[N] }

/** What a pool has done since it was opened, by class of job. */
export class PoolTally<C extends string> {
  readonly #classes: ReadonlyMap<C, Tally>
  cancelled = 0
  interrupted = 0
  threadsLost = 0

  constructor(classes: Iterable<C>) {
    const nothing = { finished: 0, failed: 0, refused: 0, cpuMs: 0 }
    this.#classes = new Map([...classes].map((name) => [name, { ...nothing }]))
  }

  of(className: C): Tally {
    return this.#classes.get(className) as Tally
  }

  /** `now` is what the pool has of a class at the moment. */
  counts(now: (className: C) => Now): PoolCounts {
    const byClass = [...this.#classes].map(([name, tally]) => ({ class: name, ...now(name), ...tally }))
    const sum = (of: keyof Tally | keyof Now) => byClass.reduce((sum, counts) => sum + counts[of], 0)
    const { cancelled, interrupted, threadsLost } = this
    return {
      waiting: sum('waiting'),
      running: sum('running'),
      finished: sum('finished'),
      failed: sum('failed'),
      cancelled,
      refused: sum('refused'),
      interrupted,
      threadsLost,
      byClass,
    }
  }
}
