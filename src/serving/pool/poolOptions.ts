import type { Fault } from '../../primitives/faults.js'
import type { ClassShare } from './fairQueue.js'
import type { JobTable } from './jobs.js'
import type { StoreLocation } from './messages.js'

/** Limits of one class of work. The pool derives its permits from the number of threads. */
export interface ClassLimits extends Pick<ClassShare, 'waitingMax'> {
  /** Time from a job's arrival to its end, waiting and running. Past it: RequestTimedOut. */
  readonly deadlineMsMax: number
  /** Time from a job's start to its end. Past it: {@link timedOut}. */
  readonly runMsMax: number
  readonly timedOut: Fault
  /**
   * Time after which a job may be interrupted for others, to begin again; see pool.ts. Only for work that checks
   * whether to stop and may run twice; undefined for other work.
   */
  readonly turnMs?: number
  /**
   * Jobs that may run at once; one key may run half as many, rounded up. If absent, as many as there are threads for.
   */
  readonly runningMax?: number
  /** Whether its jobs are long from the start, see pool.ts: for work that is not expected to end within a turn. */
  readonly startsLong?: boolean
}

export interface JobDefinition<C extends string> {
  readonly class: C
  /** URL of the compiled file of the thread's entry. */
  readonly entry: string
  /** The function that the entry exports for this job. */
  readonly handler: string
  /**
   * A job with at most this many bytes of encoded arguments takes a fraction of a millisecond, so several may be posted
   * together. For work with turns a guess is enough (pool.ts). If absent, no job is short.
   */
  readonly shortBytesMax?: number
}

type ClassOf<J extends JobTable<J>> = J[keyof J]['class']

/** The loss of a thread, for the operator. `job` is undefined for a thread without a job. */
export interface ThreadLoss {
  readonly job: string | undefined
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
  /** The entry that threads load at their start; others are loaded when a job first needs them. */
  readonly preload: URL
  readonly stores: readonly StoreLocation[]
  /** Passed to the threads unchanged, for the work. */
  readonly settings: unknown
  /** Bytes of arguments that may wait, all classes together. */
  readonly waitingBytesMax: number
  /** JavaScript heap of a thread; a job that needs more fails and its thread is replaced. */
  readonly heapBytesMax: number
  /**
   * Grace of a job that was asked to stop. After this time its caller gets the fault. After this much CPU time its
   * thread is ended: a thread that waits for a core cannot stop.
   */
  readonly graceMs: number
  /** Priority of the threads as in `os.setPriority`; 0 is the edge's own. */
  readonly niceness: number
  onThreadLost(loss: ThreadLoss): void
}

/** All classes together, and each. */
export interface PoolCounts extends Omit<ClassCounts, 'class' | 'cpuMs'> {
  /** Jobs whose owner left before the end; also counted as finished or failed. */
  readonly cancelled: number
  readonly interrupted: number
  readonly threadsLost: number
  readonly byClass: readonly ClassCounts[]
}

export interface ClassCounts {
  readonly class: string
  readonly waiting: number
  readonly running: number
  /** Jobs that ended with a result, and jobs that ended with an error. */
  readonly finished: number
  readonly failed: number
  readonly refused: number
  /** CPU time of the threads for these jobs. */
  readonly cpuMs: number
}
