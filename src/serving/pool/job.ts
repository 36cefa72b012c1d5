import { type Deferred, defer } from '../../primitives/deferred.js'
import { type Fault, FaultError } from '../../primitives/faults.js'
import type { Linked, LinkedList } from '../../primitives/linkedList.js'
import { NotStoredError } from '../../primitives/notStored.js'
import type { Queued } from './fairQueue.js'
import type { JobSignals } from './jobCells.js'
import type { JobOwner } from './jobs.js'
import type { JobThread } from './jobThread.js'
import { decodeThrown, isResult, type JobMessage, type JobPart, type Postponed } from './messages.js'
import type { ClassLimits } from './poolOptions.js'

/** The members of a job that are known at its arrival. */
type JobStart = Pick<Job, 'name' | 'class' | 'limits' | 'network' | 'args' | 'isShort' | 'owner'>

export interface Run {
  readonly thread: JobThread
  readonly cell: number
  readonly serial: number
  readonly startedAtMs: number
  /** Set once the job was asked to stop: the fault for its caller, unless the job still returns an outcome. */
  stopFault: Fault | undefined
  /** Time at which it was asked to stop, and the CPU time of its thread by then. */
  stoppedAt?: { readonly ms: number; readonly cpuMs: number | undefined }
  /** Whether its turn is over: it runs on until another job should have the thread. */
  isOverTurn: boolean
  /** Whether it was asked to stop for other jobs and begins again later. */
  isInterrupted: boolean
}

/** A job in the pool. Owns its promise, which is settled once. */
export class Job implements Queued, Linked<Job> {
  readonly name: string
  readonly class: string
  readonly limits: ClassLimits
  readonly network: string | undefined
  readonly args: Uint8Array
  /** See `JobDefinition.shortBytesMax`. */
  isShort: boolean
  readonly owner: JobOwner | undefined
  readonly arrivedAtMs = performance.now()
  /** The reply with its result, as its thread encoded it. */
  readonly outcome: Deferred<Uint8Array> = defer<Uint8Array>()
  isLong: boolean
  outSinceMs = 0
  list: LinkedList<Job> | undefined
  previous: Job | undefined
  next: Job | undefined
  turns = 0
  /** Parts of its result that it sent, and the number of them that its owner passed on. */
  #partsGiven = 0
  partsTaken = 0
  isSettled = false
  run: Run | undefined
  timer: NodeJS.Timeout | undefined
  turnTimer: NodeJS.Timeout | undefined

  constructor(
    { name, class: className, limits, network, args, isShort, owner }: JobStart,
    /** Called when its owner leaves. */
    readonly cancel: () => void,
  ) {
    this.name = name
    this.class = className
    this.limits = limits
    this.isLong = limits.startsLong === true
    this.network = network
    this.args = args
    this.isShort = isShort
    this.owner = owner
  }

  /** Jobs without an owner share one key. */
  get keyId(): string {
    return this.owner?.keyId ?? ''
  }

  get weight(): number {
    return this.owner?.weight ?? 1
  }

  get bytes(): number {
    return this.args.length
  }

  begin(thread: JobThread, { cell, serial }: Pick<Run, 'cell' | 'serial'>, startedAtMs: number): Run {
    const run = { thread, cell, serial, startedAtMs, stopFault: undefined }
    this.run = { ...run, isOverTurn: false, isInterrupted: false }
    return this.run
  }

  get deadlineAtMs(): number {
    return this.arrivedAtMs + this.limits.deadlineMsMax
  }

  messageFor({ cell, serial }: Run, runMsMax: number, isTrial: boolean): JobMessage {
    const { name, network, args } = this
    return { name, network, args, cell, serial, runMsMax, isTrial, partsGiven: this.#partsGiven }
  }

  /**
   * Passes on a part of its result; the thread is informed once it is taken. A job that sends parts is posted alone.
   */
  takePart({ part, serial }: JobPart, cells: JobSignals): void {
    const { run, owner } = this
    if (run?.serial !== serial || this.isSettled) return
    if (owner?.takePart === undefined) {
      // Without this failure the caller would take the rest for the whole result.
      this.fail(new Error(`${this.name} gave a part of its result to a caller that takes none`))
      return
    }
    this.#partsGiven++
    owner.takePart(part, () => {
      this.partsTaken++
      if (this.run !== undefined && !this.isSettled) cells.takePart(this.run.cell)
    })
  }

  rest(): void {
    clearTimeout(this.timer)
    clearInterval(this.turnTimer)
    this.owner?.forget(this.cancel)
  }

  /**
   * Settles the promise. Returns whether the reply was a result or a request to fetch missing data first, after which
   * the job runs again. Returns undefined if the promise was settled before.
   */
  settle(reply: Uint8Array | Postponed): boolean | undefined {
    if (this.isSettled) return undefined
    if (typeof reply === 'string') {
      this.fail(new FaultError(this.run?.stopFault ?? { kind: 'RequestTimedOut' }))
      return false
    }
    this.isSettled = true
    if (isResult(reply)) {
      this.outcome.resolve(reply)
      return true
    }
    const thrown = decodeThrown(reply)
    // A job that was stopped before it began reports only RequestTimedOut.
    const stopFault = kindOf(thrown) === 'RequestTimedOut' ? this.run?.stopFault : undefined
    this.outcome.reject(stopFault ? new FaultError(stopFault) : thrown)
    return thrown instanceof NotStoredError
  }

  /** Rejects the promise; false if it was settled before. */
  fail(error: Error): boolean {
    if (this.isSettled) return false
    this.isSettled = true
    this.rest()
    this.outcome.reject(error)
    return true
  }

  /** Whether the job waits again: the reply reports only that it was postponed or interrupted. */
  hasToWait(reply: Uint8Array | Postponed): boolean {
    if (this.isSettled || this.run === undefined || this.run.stopFault !== undefined) return false
    if (typeof reply === 'string') {
      if (reply === 'long') this.isShort = false
      return true
    }
    if (!this.run.isInterrupted || isResult(reply)) return false
    const kind = kindOf(decodeThrown(reply))
    return kind === 'RequestTimedOut' || kind === 'ExecutionTimedOut'
  }
}

function kindOf(thrown: Error): Fault['kind'] | undefined {
  return thrown instanceof FaultError ? thrown.fault.kind : undefined
}
