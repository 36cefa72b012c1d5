import type { Fault } from '../../primitives/faults.js'
import type { ClassCounts, PoolCounts } from './poolOptions.js'

/** Least and greatest `retryAfterMs`, whatever the estimate; the greatest is the time limit of a request. */
export const retryMsMin = 100
const retryMsMax = 30_000

/** Weight of the newest job in the moving average of its class, which covers about 20 jobs. */
const meanWeight = 0.1

/** The counts of the moment, unlike the totals of the pool. */
type Now = Pick<ClassCounts, 'waiting' | 'running'>
type Tally = { -readonly [N in Exclude<keyof ClassCounts, 'class' | keyof Now>]: ClassCounts[N] } & {
  /** Mean run time of recent jobs; undefined before the first. */
  meanRunMs: number | undefined
}

/** Totals of a pool since it was opened, by class of job. */
export class PoolTally {
  readonly #classes: ReadonlyMap<string, Tally>
  cancelled = 0
  interrupted = 0
  threadsLost = 0

  constructor(classes: Iterable<string>) {
    const nothing = { finished: 0, failed: 0, refused: 0, cpuMs: 0, meanRunMs: undefined }
    this.#classes = new Map([...classes].map((name) => [name, { ...nothing }]))
  }

  of(className: string): Tally {
    return this.#classes.get(className) as Tally
  }

  ran(className: string, ms: number): void {
    const tally = this.of(className)
    tally.meanRunMs = (tally.meanRunMs ?? ms) * (1 - meanWeight) + ms * meanWeight
  }

  /** The fault of a job for which there is no room, with the wait estimated from recent run times. */
  busy(className: string, waiting: number, permits: number): Fault {
    const estimateMs = ((waiting + 1) * (this.of(className).meanRunMs ?? 0)) / permits
    const retryAfterMs = Math.round(Math.min(Math.max(estimateMs, retryMsMin), retryMsMax))
    return { kind: 'ServerBusy', retryAfterMs }
  }

  /** `now` returns the current counts of a class. */
  counts(now: (className: string) => Now): PoolCounts {
    const byClass = [...this.#classes].map(([name, { meanRunMs: _, ...tally }]) => ({
      class: name,
      ...now(name),
      ...tally,
    }))
    const sum = (of: Exclude<keyof ClassCounts, 'class'>) =>
      byClass.reduce((sum, counts) => sum + counts[of], 0)
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
