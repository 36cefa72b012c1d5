import { type Deferred, defer } from '../primitives/deferred.js'
import { type Fault, FaultError } from '../primitives/faults.js'
import type { Queued } from './fairQueue.js'
import type { JobOwner } from './jobs.js'
import type { JobThread } from './jobThread.js'
import { decodeReply } from './messages.js'

/** What a job is from its arrival on. */
interface JobStart<C extends string> {
  readonly name: string
  readonly class: C
  readonly network: string | undefined
  readonly args: Uint8Array<ArrayBuffer>
  readonly body: Uint8Array | undefined
  /** See `JobDefinition.isShort`. */
  readonly isShort: boolean
  readonly owner: JobOwner | undefined
}

/** A job's time on a thread. */
export interface Run {
  readonly thread: JobThread
  readonly cell: number
  readonly serial: number
  readonly startedAtMs: number
  /** Set once the job was told to stop: what its caller gets, should it not say anything itself. */
  stopFault: Fault | undefined
  /** Its turn is over: it goes on as long as nobody else should have the thread. */
  isOverTurn: boolean
  /** It was told to stop for the sake of others, to begin anew later. */
  isInterrupted: boolean
}

/** A job on its way through the pool. Owns its caller's answer, given once. */
export class Job<C extends string> implements Queued<C>, JobStart<C> {
  readonly name: string
  readonly class: C
  readonly network: string | undefined
  readonly args: Uint8Array<ArrayBuffer>
  /** Moved to the thread, and back from one that has to begin it anew. */
  body: Uint8Array | undefined
  readonly isShort: boolean
  readonly owner: JobOwner | undefined
  readonly arrivedAtMs = performance.now()
  readonly outcome: Deferred<unknown> = defer<unknown>()
  isLong = false
  /** Turns on a thread that it has had. */
  turns = 0
  isSettled = false
  run: Run | undefined
  /** The next moment at which something is done about it. */
  timer: NodeJS.Timeout | undefined
  turnTimer: NodeJS.Timeout | undefined

  constructor(
    { name, class: className, network, args, body, isShort, owner }: JobStart<C>,
    /** Called when its owner goes. */
    readonly cancel: () => void,
  ) {
    this.name = name
    this.class = className
    this.network = network
    this.args = args
    this.body = body
    this.isShort = isShort
    this.owner = owner
  }

  /** Jobs of nobody in particular are as one key's. */
  get keyId(): string {
    return this.owner?.keyId ?? ''
  }

  get bytes(): number {
    return this.args.length + (this.body?.buffer.byteLength ?? 0)
  }

  /** Nothing more happens to it in its present state. */
  rest(): void {
    clearTimeout(this.timer)
    clearTimeout(this.turnTimer)
    this.owner?.forget(this.cancel)
  }

  /** Tells the caller what a thread replied; whether that was a result, undefined where the caller knows already. */
  settle(reply: Uint8Array): boolean | undefined {
    if (this.isSettled) return undefined
    this.isSettled = true
    try {
      this.outcome.resolve(decodeReply(reply))
      return true
    } catch (thrown) {
      // One that was stopped before it began knows no better.
      const stopFault = faultOf(thrown)?.kind === 'RequestTimedOut' ? this.run?.stopFault : undefined
      this.outcome.reject(stopFault ? new FaultError(stopFault) : (thrown as Error))
      return false
    }
  }

  /** Tells the caller of a failure; false where the caller knows something already. */
  fail(error: Error): boolean {
    if (this.isSettled) return false
    this.isSettled = true
    this.rest()
    this.outcome.reject(error)
    return true
  }

  /** Whether a reply says no more than that the job was interrupted. */
  wasInterrupted(reply: Uint8Array): boolean {
    if (this.isSettled || this.run === undefined) return false
    if (!this.run.isInterrupted || this.run.stopFault !== undefined) return false
    try {
      decodeReply(reply)
      return false
    } catch (thrown) {
      const kind = faultOf(thrown)?.kind
      return kind === 'RequestTimedOut' || kind === 'ExecutionTimedOut'
    }
  }
}

function faultOf(thrown: unknown): Fault | undefined {
  return thrown instanceof FaultError ? thrown.fault : undefined
}
