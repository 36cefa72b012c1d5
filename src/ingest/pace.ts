import { setTimeout } from 'node:timers/promises'

/** Keeps one moment each interval. */
export class Pace {
  #due = performance.now()
  readonly #intervalMs: number
  readonly #signal: AbortSignal

  /** The first moment is one interval from now; `signal` ends every wait. */
  constructor(intervalMs: number, signal: AbortSignal) {
    this.#intervalMs = intervalMs
    this.#signal = signal
  }

  /** Waits for the next moment, at least for a turn of the event loop. Resolves to false once it is to end. */
  async wait(): Promise<boolean> {
    const now = performance.now()
    this.#due = nextDue(this.#due, now, this.#intervalMs)
    try {
      await setTimeout(this.#due - now, undefined, { signal: this.#signal })
    } catch {
      // The only way in which such a wait fails is that it is ended.
    }
    return !this.#signal.aborted
  }
}

/**
 * The moment after `due`, in milliseconds like all of these. Work that took longer than the interval moves what
 * follows, because moments made up for would come as a burst.
 */
export function nextDue(due: number, now: number, intervalMs: number): number {
  return Math.max(due + intervalMs, now)
}
