import type { Fault } from '../primitives/faults.js'
import type { ClassShare } from './fairQueue.js'
import type { JobTable } from './jobs.js'
import type { StoreLocation } from './messages.js'

/** The limits of one class of work. Its permits are the pool's to derive from the number of threads. */
export interface ClassLimits extends Pick<ClassShare, 'waitingMax'> {
  /** From a job's arrival to its end, waiting and running. Past it: RequestTimedOut. */
  readonly deadlineMsMax: number
  /** From a job's start to its end. Past it: {@link timedOut}. */
  readonly runMsMax: number
  readonly timedOut: Fault
  /**
   * How long a job has its thread before it may have to leave it to others and begin anew; see pool.ts. For work that
   * asks whether to stop and may be done twice; undefined for other work.
   */
  readonly turnMs?: number
}

/** Where a job's work is found. */
export interface JobDefinition<C extends string> {
  readonly class: C
  /** Compiled file of the thread's entry. */
  readonly entry: URL
  /** The function that the entry exports for this job. */
  readonly handler: string
  /**
   * Whether a job with these arguments takes a fraction of a millisecond, so that others of its class may be handed
   * over with it and wait for it. Without this none does.
   */
  readonly isShort?: (args: never) => boolean
}

/** The classes of a table's jobs. */
export type ClassOf<J extends JobTable<J>> = J[keyof J]['class']

/** Something the operator should know. `job` is undefined for a thread that had none. */
export interface ThreadLoss {
  readonly job: string | undefined
  /** Whose job it was; undefined where it was nobody's. */
  readonly keyId: string | undefined
  /** `stopped`: the pool ended the thread because its job would not stop. `died`: it ended by itself. */
  readonly why: 'stopped' | 'died'
  readonly error: unknown
}

export interface PoolOptions<J extends JobTable<J>> {
  readonly threads: number
  readonly jobs: { readonly [N in keyof J]: JobDefinition<J[N]['class']> }
  readonly classes: { readonly [C in ClassOf<J>]: ClassLimits }
  /** Compiled file of the entry with which threads run (workers/session.ts). */
  readonly session: URL
  /** The entry that threads load when they start; others when a job first needs them. */
  readonly preload: URL
  readonly stores: readonly StoreLocation[]
  /** Handed to the threads as it is, for the work to read. */
  readonly settings: unknown
  /** Bytes of arguments that may wait, over all classes. */
  readonly waitingBytesMax: number
  /** JavaScript heap of a thread; a job that needs more fails and its thread is replaced. */
  readonly heapBytesMax: number
  /** How long a job that was told to stop may take before its thread is ended. */
  readonly graceMs: number
  /** Priority of the threads as of `os.setPriority`, 0 for the edge's own. */
  readonly niceness: number
  onThreadLost(loss: ThreadLoss): void
}

/** What the pool is doing and has done since it was opened. */
export interface PoolCounts {
  readonly waiting: number
  readonly running: number
  /** Jobs that came to a result, and those that came to an error, whatever the reason. */
  readonly finished: number
  readonly failed: number
  /** Jobs whose owner went away first; they are counted as finished or failed too. */
  readonly cancelled: number
  /** Jobs that found no room in their queue, or lost it to others. */
  readonly refused: number
  /** Times that a job was put off its thread for others, to begin anew. */
  readonly interrupted: number
  readonly threadsLost: number
}
