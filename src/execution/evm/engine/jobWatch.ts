import { performance } from 'node:perf_hooks'
import { FaultError } from '../../../primitives/faults.js'

export interface JobLimits {
  /** Time from the start of the job to its end, all runs together. */
  readonly timeMsMax: number
  /** Memory of a run: frames, logs, changes to the state, and state that it reads. */
  readonly memoryBytesMax: number
}

/** Steps of about 0.1 µs between two readings of the clock. */
const stepsPerLook = 512

/** Stops a job that takes too long with a FaultError that no contract can catch. */
export class JobWatch {
  /** Steps until the next reading. */
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

  /** Counts `steps` of work, and reads the clock when due. */
  take(steps: number): void {
    this.#steps -= steps
    if (this.#steps < 0) this.look()
  }

  /** Throws FaultError ExecutionTimedOut once the time is over or the job must stop. */
  look(): void {
    this.#steps = stepsPerLook
    if (performance.now() >= this.#endsAt || this.#shouldStop())
      throw new FaultError({ kind: 'ExecutionTimedOut', limitSeconds: this.limits.timeMsMax / 1_000 })
  }
}
