import type { Deferred } from '../primitives/deferred.js'
import type { Fault } from '../primitives/faults.js'
import type { JobOwner } from './jobs.js'
import type { JobThread } from './jobThread.js'

/** A job on its way through the pool. */
export interface Job<C extends string> {
  readonly name: string
  readonly class: C
  readonly network: string | undefined
  readonly args: Uint8Array<ArrayBuffer>
  readonly arrivedAtMs: number
  /** See `JobDefinition.isShort`. */
  readonly isShort: boolean
  readonly outcome: Deferred<unknown>
  readonly owner: JobOwner | undefined
  readonly cancel: () => void
  timer: NodeJS.Timeout | undefined
  run: Run | undefined
  isSettled: boolean
}

/** A job's time on a thread. */
export interface Run {
  readonly thread: JobThread
  readonly cell: number
  readonly serial: number
  readonly startedAtMs: number
  /** Set once the job was told to stop: what its caller gets, should it not say anything itself. */
  stopFault: Fault | undefined
}
