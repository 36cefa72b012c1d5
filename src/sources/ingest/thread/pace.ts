import { setImmediate, setTimeout } from 'node:timers/promises'

/** A timer with one due time per interval. */
export class Ticker {
  #due = performance.now()
  readonly #intervalMs: number
  readonly #signal: AbortSignal

  /** The first due time is one interval from now; `signal` ends every wait. */
  constructor(intervalMs: number, signal: AbortSignal) {
    this.#intervalMs = intervalMs
    this.#signal = signal
  }

  /**
   * Waits for the next due time, at least for one turn of the event loop. Resolves to false once `signal` is aborted.
   */
  async wait(): Promise<boolean> {
    const now = performance.now()
    this.#due = nextDue(this.#due, now, this.#intervalMs)
    try {
      await setTimeout(this.#due - now, undefined, { signal: this.#signal })
    } catch {
      // The wait only rejects when it is aborted.
    }
    return !this.#signal.aborted
  }
}

/**
 * The due time after `due`; all times in ms. If work took longer than the interval, later times move too, so that
 * blocks do not come in a burst.
 */
export function nextDue(due: number, now: number, intervalMs: number): number {
  return Math.max(due + intervalMs, now)
}

/** Longest time without a turn of the event loop. */
const turnMs = 20

/**
 * Turns of the event loop within long work, in which a stop message can arrive: execution and reads await only promises
 * that are already settled.
 */
export class Turns {
  #turned = performance.now()

  get isDue(): boolean {
    return performance.now() - this.#turned >= turnMs
  }

  async take(): Promise<void> {
    await setImmediate()
    this.#turned = performance.now()
  }
}
