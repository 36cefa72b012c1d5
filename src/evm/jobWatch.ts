import { performance } from 'node:perf_hooks'
import { FaultError } from '../primitives/faults.js'

/** What one job may take. */
export interface JobLimits {
  /** From the start of the job to its end, over all its runs. */
  readonly timeMsMax: number
  /** What a run holds: memory of frames, logs, changes to the state, what it reads of the state. */
  readonly memoryBytesMax: number
}

/**
 * Steps of about 0.1 µs between two looks at the clock. A look costs 0.06 µs, so this adds 0.1 % and notices the end
 * of the time within a fraction of a millisecond.
 */
const stepsPerLook = 512

/** Stops a job that takes too long, by a thrown FaultError that no contract can catch. */
export class JobWatch {
  /** Until the next look. */
  #steps = 0
  readonly #endsAt: number
  readonly #shouldStop: () => boolean

  constructor(
    shouldStop: () => boolean,
    readonly limits: JobLimits,
  ) {
    this.#shouldStop = shouldStop
    this.#endsAt = performance.now() + limits.timeMsMax
  }

  /** Counts work of so many steps, and looks at the clock where it is time. */
  take(steps: number): void {
    this.#steps -= steps
    if (this.#steps < 0) this.look()
  }

  /** Throws FaultError ExecutionTimedOut once the time is over or the job is told to stop. */
  look(): void {
    this.#steps = stepsPerLook
    if (performance.now() >= this.#endsAt || this.#shouldStop()) this.#timeOut()
  }

  /** Refuses work that cannot be interrupted and would by itself take longer than the whole job may. */
  refuseLongerThan(expectedMs: number): void {
    if (expectedMs > this.limits.timeMsMax) this.#timeOut()
  }

  #timeOut(): never {
    throw new FaultError({ kind: 'ExecutionTimedOut', limitSeconds: this.limits.timeMsMax / 1_000 })
  }
}
