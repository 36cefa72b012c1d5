/** Hints of when to ask again stay within these, whatever the estimate: an instant, and the life of a request. */
export const retryMsMin = 100
const retryMsMax = 30_000

/** Weight of the newest job in the mean time of its class: some 20 jobs decide. */
const meanWeight = 0.1

/** How long who comes next would wait for a thread, from the times that jobs of the same class ran lately. */
export class WaitEstimate<C extends string> {
  readonly #meanRunMs = new Map<C, number>()

  /** A job of a class has run. */
  ran(className: C, ms: number): void {
    const mean = this.#meanRunMs.get(className) ?? ms
    this.#meanRunMs.set(className, mean + (ms - mean) * meanWeight)
  }

  /** When to ask again, in ms, where so many jobs of a class wait for so many permits. */
  retryAfterMs(className: C, waiting: number, permits: number): number {
    const estimateMs = ((waiting + 1) * (this.#meanRunMs.get(className) ?? 0)) / permits
    return Math.round(Math.min(Math.max(estimateMs, retryMsMin), retryMsMax))
  }
}
