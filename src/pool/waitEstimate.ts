import type { Fault } from '../primitives/faults.js'

/** Least and greatest `retryAfterMs`, whatever the estimate; the greatest is the time limit of a request. */
export const retryMsMin = 100
const retryMsMax = 30_000

/** Weight of the newest job in the moving average of its class, which covers about 20 jobs. */
const meanWeight = 0.1

/** Estimates the wait for a thread, from the recent run times of jobs of the same class. */
export class WaitEstimate<C extends string> {
  readonly #meanRunMs = new Map<C, number>()

  /** Records the run time of a job. */
  ran(className: C, ms: number): void {
    const mean = this.#meanRunMs.get(className) ?? ms
    this.#meanRunMs.set(className, mean + (ms - mean) * meanWeight)
  }

  /** The fault of a job for which there is no room, with `waiting` jobs and `permits` permits of its class. */
  busy(className: C, waiting: number, permits: number): Fault {
    const estimateMs = ((waiting + 1) * (this.#meanRunMs.get(className) ?? 0)) / permits
    const retryAfterMs = Math.round(Math.min(Math.max(estimateMs, retryMsMin), retryMsMax))
    return { kind: 'ServerBusy', retryAfterMs }
  }
}
