/**
 * The worker pool: heavy work on threads, so that the edge goes on answering reads. Owns the queue of each class of
 * work, permits, deadlines, cancellation and the threads' life. Does not own the work (`state`, `evm`), what a job
 * is (`jobs.ts`), nor how it crosses to a thread and what that costs (`jobThread.ts`).
 */
import { performance } from 'node:perf_hooks'
import { setTimeout as setTimeoutPromise } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Piscina } from 'piscina'
import { type Deferred, defer } from '../primitives/deferred.js'
import { type Fault, FaultError } from '../primitives/faults.js'
import { type ClassShare, FairQueue } from './fairQueue.js'
import { JobCells } from './jobCells.js'
import type { JobInput, JobOwner, JobTable } from './jobs.js'
import { JobThread, type JobThreadEvents } from './jobThread.js'
import { decodeReply, encodeArgs, type ThreadData, type Work } from './messages.js'
import type {
  ClassLimits,
  ClassOf,
  JobDefinition,
  PoolCounts,
  PoolOptions,
  ThreadLoss,
} from './poolOptions.js'

interface Job<C extends string> {
  readonly name: string
  readonly class: C
  readonly network: string | undefined
  readonly args: Uint8Array<ArrayBuffer>
  readonly arrivedAtMs: number
  readonly outcome: Deferred<unknown>
  readonly owner: JobOwner | undefined
  readonly cancel: () => void
  timer: NodeJS.Timeout | undefined
  run: Run | undefined
  isSettled: boolean
}

/** A job's time on a thread. */
interface Run {
  readonly thread: JobThread
  readonly cell: number
  readonly serial: number
  readonly startedAtMs: number
  /** Set once the job was told to stop: what its caller gets, should it not say anything itself. */
  stopFault: Fault | undefined
}

/** Hints of when to ask again stay within these, whatever the estimate: an instant, and the life of a request. */
const retryMsMin = 100
const retryMsMax = 30_000

/** Loading takes half a second; a thread that needs longer than this will not get there. */
const loadMsMax = 30_000

/** How often the pool tries to catch a thread outside of lmdb, where it spends microseconds at a time. */
const sealRetryMs = 5

/** A thread that cannot be caught for so long hangs in a read, on a disk that does not answer. */
const endMsMax = 5_000

/** Weight of the newest job in the mean time of its class: some 20 jobs decide. */
const meanWeight = 0.1

export class Pool<J extends JobTable<J>> {
  readonly #options: PoolOptions<J>
  /** Undefined until {@link start} or the first job. */
  #piscina: Piscina | undefined
  readonly #queue: FairQueue<ClassOf<J>, Job<ClassOf<J>>>
  readonly #cells: JobCells
  /** Mean time that jobs of a class ran lately. */
  readonly #meanRunMs = new Map<ClassOf<J>, number>()
  readonly #permits: number
  readonly #running = new Map<JobThread, Job<ClassOf<J>>>()
  readonly #threads = new Set<JobThread>()
  /** Threads without a job. */
  readonly #idle: JobThread[] = []
  readonly #works: Record<string, Work> = {}
  #started: Promise<void> | undefined
  #isEnding = false
  #waitingBytes = 0
  #finished = 0
  #failed = 0
  #cancelled = 0
  #refused = 0
  #threadsLost = 0
  #closed: Promise<void> | undefined
  #drained: Deferred<void> | undefined

  readonly #events: JobThreadEvents = {
    onReady: (thread) => {
      this.#idle.push(thread)
      this.#startNext()
    },
    onReply: (thread, reply) => this.#take(thread, reply),
    onEnd: (thread, error) => this.#replace(thread, error),
  }

  constructor(options: PoolOptions<J>) {
    const { threads } = options
    this.#options = options
    // One thread is always left to the other classes.
    this.#permits = Math.max(1, threads - 1)
    const shares = new Map<ClassOf<J>, ClassShare>()
    for (const [name, limits] of Object.entries<ClassLimits>(options.classes)) {
      shares.set(name as ClassOf<J>, { waitingMax: limits.waitingMax, permits: this.#permits })
    }
    this.#queue = new FairQueue(shares)
    for (const [name, { entry, handler }] of Object.entries<JobDefinition<string>>(options.jobs)) {
      this.#works[name] = { entry: entry.href, handler }
    }
    this.#cells = new JobCells(threads)
  }

  /**
   * Starts the threads, and settles once they have loaded their code: 0.5 s of CPU and 60 MB each, which a server
   * that never needs them is spared, and for which the first jobs wait. They open stores when jobs ask for them.
   */
  start(): Promise<void> {
    this.#started ??= this.#startThreads()
    return this.#started
  }

  #startThreads(): Promise<void> {
    const { threads, session, preload, stores, settings, niceness, heapBytesMax } = this.#options
    const own = { works: this.#works, preload: preload.href, cells: this.#cells.shared }
    this.#piscina = new Piscina({
      filename: fileURLToPath(session),
      minThreads: threads,
      maxThreads: threads,
      // Each thread has one task; that of a thread being replaced waits for the new one.
      maxQueue: threads,
      recordTiming: false,
      resourceLimits: { maxOldGenerationSizeMb: Math.ceil(heapBytesMax / 2 ** 20) },
      workerData: { ...own, stores, settings, niceness } satisfies ThreadData,
    })
    for (let i = 0; i < threads; i++) this.#startThread(this.#piscina)
    return this.#awaitLoading()
  }

  get counts(): PoolCounts {
    return {
      waiting: this.#queue.waiting(),
      running: this.#running.size,
      finished: this.#finished,
      failed: this.#failed,
      cancelled: this.#cancelled,
      refused: this.#refused,
      threadsLost: this.#threadsLost,
    }
  }

  /**
   * Runs a job and resolves to its result, whose bytes belong to the caller. A job whose owner goes is taken out of
   * the queue, or told to stop.
   *
   * Rejects with FaultError: what the job itself found; ServerBusy where its queue is full or the pool is closing;
   * RequestTimedOut past its deadline and, with nobody left to read it, when its owner is gone; its class's
   * `timedOut` where it ran too long. Rejects with Error for a defect, or for a thread that ended under it.
   */
  run<N extends keyof J & string>(
    name: N,
    input: JobInput<J[N]['args']>,
    owner?: JobOwner,
  ): Promise<J[N]['result']> {
    const className: ClassOf<J> = this.#options.jobs[name].class
    if (owner?.isGone) return Promise.reject(new FaultError({ kind: 'RequestTimedOut' }))
    if (this.#closed !== undefined || this.#queue.isFull(className)) return this.#refuse(className)
    const args = encodeArgs(input.args)
    if (this.#waitingBytes + args.length > this.#options.waitingBytesMax) return this.#refuse(className)
    const job: Job<ClassOf<J>> = {
      name,
      class: className,
      network: input.network,
      args,
      arrivedAtMs: performance.now(),
      outcome: defer<unknown>(),
      owner,
      cancel: () => this.#cancel(job),
      timer: undefined,
      run: undefined,
      isSettled: false,
    }
    this.#waitingBytes += args.length
    this.#queue.add(className, job)
    owner?.onGone(job.cancel)
    void this.start()
    this.#startNext()
    if (job.run === undefined) {
      const { deadlineMsMax } = this.#options.classes[className]
      job.timer = setTimeout(() => this.#expireWaiting(job), deadlineMsMax)
    }
    return job.outcome.promise
  }

  /**
   * Takes no more jobs, lets those that run and wait finish within `drainMsMax`, fails the others with ServerBusy,
   * and ends the threads.
   */
  close(drainMsMax: number): Promise<void> {
    this.#closed ??= this.#drain(drainMsMax)
      .then(() => this.#awaitLoading())
      .then(() => {
        this.#isEnding = true
        return this.#piscina?.destroy()
      })
    return this.#closed
  }

  /**
   * Waits until every thread has loaded its code, or failed to. To end a thread while it loads lmdb ends the whole
   * process ("FATAL ERROR: Error::ThrowAsJavaScriptException"), so jobs, which may have to be ended, go to threads
   * that have loaded, and closing waits for the others.
   */
  async #awaitLoading(): Promise<void> {
    const late = new AbortController()
    const loaded = Promise.all([...this.#threads].map((thread) => thread.loaded))
    await Promise.race([loaded, setTimeoutPromise(loadMsMax, undefined, late)])
    late.abort()
  }

  #startThread(piscina: Piscina): void {
    this.#threads.add(new JobThread(piscina, this.#events))
  }

  async #drain(drainMsMax: number): Promise<void> {
    if (this.#running.size === 0 && this.#queue.waiting() === 0) return
    this.#drained = defer<void>()
    const timer = setTimeout(() => this.#drained?.resolve(), drainMsMax)
    await this.#drained.promise
    clearTimeout(timer)
    const fault: Fault = { kind: 'ServerBusy', retryAfterMs: retryMsMin }
    for (const job of this.#queue.clear()) {
      this.#leaveQueue(job)
      this.#settleWithFault(job, fault)
    }
    const signal = AbortSignal.timeout(endMsMax)
    const unsealed = new Map(this.#running)
    for (const { run } of unsealed.values()) {
      if (run === undefined) continue
      run.stopFault = fault
      this.#cells.stop(run.cell, run.serial)
    }
    while (unsealed.size > 0 && !signal.aborted) {
      for (const [thread, job] of unsealed) {
        if (this.#running.get(thread) !== job || this.#trySeal(job)) unsealed.delete(thread)
      }
      await setTimeoutPromise(sealRetryMs)
    }
  }

  #refuse(className: ClassOf<J>): Promise<never> {
    this.#refused++
    const waiting = this.#queue.waiting(className)
    const estimateMs = ((waiting + 1) * (this.#meanRunMs.get(className) ?? 0)) / this.#permits
    const retryAfterMs = Math.round(Math.min(Math.max(estimateMs, retryMsMin), retryMsMax))
    return Promise.reject(new FaultError({ kind: 'ServerBusy', retryAfterMs }))
  }

  #startNext(): void {
    while (this.#idle.length > 0) {
      const job = this.#queue.take()
      if (job === undefined) return
      this.#leaveQueue(job)
      this.#start(job, this.#idle.pop() as JobThread)
    }
  }

  #start(job: Job<ClassOf<J>>, thread: JobThread): void {
    const { runMsMax, deadlineMsMax, timedOut } = this.#options.classes[job.class]
    const { cell, serial } = this.#cells.take()
    const startedAtMs = performance.now()
    const leftMs = job.arrivedAtMs + deadlineMsMax - startedAtMs
    const run: Run = { thread, cell, serial, startedAtMs, stopFault: undefined }
    job.run = run
    this.#running.set(thread, job)
    job.timer =
      leftMs < runMsMax
        ? setTimeout(() => this.#stop(job, run, { kind: 'RequestTimedOut' }), leftMs)
        : setTimeout(() => this.#stop(job, run, timedOut), runMsMax)
    const { name, network, args } = job
    thread.post({ name, network, args, cell, serial, runMsMax: Math.min(runMsMax, leftMs) })
  }

  /** A job's reply. */
  #take(thread: JobThread, reply: Uint8Array): void {
    const job = this.#running.get(thread)
    if (job === undefined) throw new Error('a thread without a job replied')
    this.#idle.push(thread)
    this.#leaveThread(job, thread)
    this.#settle(job, reply)
  }

  /** A thread is gone, and with it the job that it had; another takes its place. */
  #replace(thread: JobThread, error: Error): void {
    const at = this.#idle.indexOf(thread)
    if (at >= 0) this.#idle.splice(at, 1)
    this.#threads.delete(thread)
    // One that does not get as far as to load its code would end again and again.
    if (!this.#isEnding && thread.isReady && this.#piscina) this.#startThread(this.#piscina)
    const job = this.#running.get(thread)
    if (job !== undefined) this.#leaveThread(job, thread)
    const fault = job?.run?.stopFault
    if (job !== undefined && fault !== undefined) return this.#settleWithFault(job, fault)
    if (!this.#isEnding) this.#loseThread(job?.name, 'died', error)
    if (job !== undefined) this.#fail(job, error)
  }

  #leaveQueue(job: Job<ClassOf<J>>): void {
    clearTimeout(job.timer)
    this.#waitingBytes -= job.args.length
  }

  #leaveThread(job: Job<ClassOf<J>>, thread: JobThread): void {
    clearTimeout(job.timer)
    job.owner?.forget(job.cancel)
    if (job.run !== undefined) this.#cells.release(job.run.cell)
    this.#running.delete(thread)
    this.#queue.release(job.class)
    this.#startNext()
    if (this.#running.size === 0) this.#drained?.resolve()
  }

  #settle(job: Job<ClassOf<J>>, reply: Uint8Array): void {
    const ranMs = performance.now() - (job.run?.startedAtMs ?? 0)
    const mean = this.#meanRunMs.get(job.class) ?? ranMs
    this.#meanRunMs.set(job.class, mean + (ranMs - mean) * meanWeight)
    if (job.isSettled) return
    job.isSettled = true
    try {
      const result = decodeReply(reply)
      this.#finished++
      job.outcome.resolve(result)
    } catch (thrown) {
      this.#failed++
      job.outcome.reject(thrown as Error)
    }
  }

  #settleWithFault(job: Job<ClassOf<J>>, fault: Fault): void {
    this.#fail(job, new FaultError(fault))
  }

  #fail(job: Job<ClassOf<J>>, error: Error): void {
    if (job.isSettled) return
    job.isSettled = true
    job.owner?.forget(job.cancel)
    this.#failed++
    job.outcome.reject(error)
  }

  #expireWaiting(job: Job<ClassOf<J>>): void {
    if (!this.#queue.remove(job.class, job)) return
    this.#leaveQueue(job)
    this.#settleWithFault(job, { kind: 'RequestTimedOut' })
  }

  #cancel(job: Job<ClassOf<J>>): void {
    this.#cancelled++
    if (job.run === undefined) this.#expireWaiting(job)
    else this.#stop(job, job.run, { kind: 'RequestTimedOut' })
  }

  /** Tells a running job to stop, and ends its thread if it has not done so after the grace. */
  #stop(job: Job<ClassOf<J>>, run: Run, fault: Fault): void {
    if (run.stopFault !== undefined) return
    run.stopFault = fault
    clearTimeout(job.timer)
    this.#cells.stop(run.cell, run.serial)
    job.timer = setTimeout(() => this.#end(job, run, fault), this.#options.graceMs)
  }

  /** Answers for a job that would not stop, and ends its thread as soon as that is safe. */
  #end(job: Job<ClassOf<J>>, run: Run, fault: Fault): void {
    this.#settleWithFault(job, fault)
    if (!this.#trySeal(job)) {
      job.timer = setTimeout(() => this.#end(job, run, fault), sealRetryMs)
      return
    }
    this.#loseThread(job.name, 'stopped', undefined)
    run.thread.end()
  }

  /** Whether the job's thread may be ended, because it can no longer go into lmdb. */
  #trySeal({ run }: Job<ClassOf<J>>): boolean {
    return run !== undefined && this.#cells.seal(run.cell, run.serial)
  }

  #loseThread(job: string | undefined, why: ThreadLoss['why'], error: unknown): void {
    this.#threadsLost++
    this.#options.onThreadLost({ job, why, error })
  }
}
