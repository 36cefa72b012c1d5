import { performance } from 'node:perf_hooks'
import { FaultError } from '../primitives/faults.js'

/** What one job may take. */
export interface JobLimits {
  /** From the start of the job to its end, over all its runs. */
  readonly timeMsMax: number
  /** What its runs hold at the same time: memory of frames, logs, changes to the state. */
  readonly memoryBytesMax: number
}

/**
 * Instructions between two looks at the clock. A look costs 0.06 µs and an instruction of the interpreter about
 * 0.1 µs, so this adds 0.1 % and notices the end of the time within a fraction of a millisecond.
 */
const stepsPerLook = 512

/**
 * Stops a job that takes too long or too much memory, by a thrown FaultError that no contract can catch.
 * The interpreter counts {@link steps} down for each instruction and calls {@link look} below zero.
 */
export class JobWatch {
  /** Instructions until the next look; heavy instructions subtract more than one. */
  steps = 0
  private heldBytes = 0
  private readonly endsAt: number

  constructor(
    private readonly shouldStop: () => boolean,
    readonly limits: JobLimits,
  ) {
    this.endsAt = performance.now() + limits.timeMsMax
  }

  /** Counts work that takes as long as `steps` instructions, and looks at the clock where it is time. */
  take(steps: number): void {
    this.steps -= steps
    if (this.steps < 0) this.look()
  }

  /** Throws FaultError ExecutionTimedOut once the time is over or the job is told to stop. */
  look(): void {
    this.steps = stepsPerLook
    if (performance.now() >= this.endsAt || this.shouldStop()) this.timeOut()
  }

  /** Refuses work that cannot be interrupted and would by itself take longer than the whole job may. */
  refuseLongerThan(expectedMs: number): void {
    if (expectedMs > this.limits.timeMsMax) this.timeOut()
  }

  /** Counts memory that stays in use. Throws FaultError ExecutionOutOfMemory above the limit. */
  hold(bytes: number): void {
    this.heldBytes += bytes
    const { memoryBytesMax } = this.limits
    if (this.heldBytes > memoryBytesMax) {
      throw new FaultError({ kind: 'ExecutionOutOfMemory', limitBytes: memoryBytesMax })
    }
  }

  release(bytes: number): void {
    this.heldBytes -= bytes
  }

  /** Before a run: nothing of the runs before it is held any more. */
  releaseAll(): void {
    this.heldBytes = 0
  }

  private timeOut(): never {
    throw new FaultError({ kind: 'ExecutionTimedOut', limitSeconds: this.limits.timeMsMax / 1_000 })
  }
}
