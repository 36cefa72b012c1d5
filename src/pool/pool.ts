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
import type { Job, Run } from './job.js'
import { JobCells } from './jobCells.js'
import type { JobInput, JobOwner, JobTable } from './jobs.js'
import { JobThread, type JobThreadEvents } from './jobThread.js'
import { decodeReply, encodeArgs, type JobMessage, type ThreadData, type Work } from './messages.js'
import type {
  ClassLimits,
  ClassOf,
  JobDefinition,
  PoolCounts,
  PoolOptions,
  ThreadLoss,
} from './poolOptions.js'

/** Hints of when to ask again stay within these, whatever the estimate: an instant, and the life of a request. */
const retryMsMin = 100
const retryMsMax = 30_000

/** For jobs that are given up for no fault of their own. */
const busy: Fault = { kind: 'ServerBusy', retryAfterMs: retryMsMin }

/** Loading takes half a second; a thread that needs longer than this will not get there. */
const loadMsMax = 30_000

/** How often the pool tries to catch a thread outside of lmdb, where it spends microseconds at a time. */
const sealRetryMs = 5

/** A thread that cannot be caught for so long hangs in a read, on a disk that does not answer. */
const endMsMax = 5_000

/**
 * Short jobs that are handed over at once where many wait: each hand-over wakes two threads, and each burst of answers
 * the network once. 64 connections that ask for proofs of three slots cost the edge 164 µs of CPU a proof one by one,
 * 75 by eights and 70 by sixteens, the threads 180, 134 and 119; whoever comes next waits for all of them.
 */
const groupMax = 8

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
  /** Jobs by the thread that has them: one, or several short ones of one class under one permit. */
  readonly #running = new Map<JobThread, readonly Job<ClassOf<J>>[]>()
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
    onReplies: (thread, replies) => this.#take(thread, replies),
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
    this.#cells = new JobCells(threads * groupMax)
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
      running: [...this.#running.values()].flat().length,
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
    const { class: className, isShort }: JobDefinition<ClassOf<J>> = this.#options.jobs[name]
    if (owner?.isGone) return Promise.reject(new FaultError({ kind: 'RequestTimedOut' }))
    if (this.#closed !== undefined || this.#queue.isFull(className)) return this.#refuse(className)
    const args = encodeArgs(input.args)
    if (this.#waitingBytes + args.length > this.#options.waitingBytesMax) return this.#refuse(className)
    const job: Job<ClassOf<J>> = {
      name,
      class: className,
      network: input.network,
      args,
      isShort: isShort?.(input.args as never) ?? false,
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
    job.timer = setTimeout(() => this.#expire(job), this.#options.classes[className].deadlineMsMax)
    void this.start()
    this.#startNext()
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
    for (const job of this.#queue.clear()) this.#settleWithFault(job, busy)
    this.#waitingBytes = 0
    const signal = AbortSignal.timeout(endMsMax)
    const unsealed = new Map(this.#running)
    for (const { run } of [...unsealed.values()].flat()) {
      if (run === undefined) continue
      run.stopFault = busy
      this.#cells.stop(run.cell, run.serial)
    }
    while (unsealed.size > 0 && !signal.aborted) {
      for (const [thread, jobs] of unsealed) {
        const isSealed = this.#running.get(thread) !== jobs || jobs.some((job) => this.#trySeal(job))
        if (isSealed) unsealed.delete(thread)
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
      const jobs = this.#gather(job)
      for (const { args } of jobs) this.#waitingBytes -= args.length
      this.#start(jobs, this.#idle.pop() as JobThread)
    }
  }

  /** A job with the short ones that are handed over with it; what waits is shared by the threads that may take it. */
  #gather(first: Job<ClassOf<J>>): Job<ClassOf<J>>[] {
    const jobs = [first]
    if (!first.isShort) return jobs
    const share = Math.min(groupMax, Math.ceil((1 + this.#queue.waiting(first.class)) / this.#permits))
    while (jobs.length < share) {
      const next = this.#queue.takeBeside(first.class, ({ isShort }) => isShort)
      if (next === undefined) break
      jobs.push(next)
    }
    return jobs
  }

  #start(jobs: readonly Job<ClassOf<J>>[], thread: JobThread): void {
    this.#running.set(thread, jobs)
    const startedAtMs = performance.now()
    thread.post(jobs.map((job) => this.#startOne(job, thread, startedAtMs)))
  }

  #startOne(job: Job<ClassOf<J>>, thread: JobThread, startedAtMs: number): JobMessage {
    const { runMsMax, deadlineMsMax, timedOut } = this.#options.classes[job.class]
    const { cell, serial } = this.#cells.take()
    const run: Run = { thread, cell, serial, startedAtMs, stopFault: undefined }
    job.run = run
    const leftMs = job.arrivedAtMs + deadlineMsMax - startedAtMs
    if (runMsMax < leftMs) {
      clearTimeout(job.timer)
      job.timer = setTimeout(() => this.#stop(job, run, timedOut), runMsMax)
    }
    const { name, network, args } = job
    return { name, network, args, cell, serial, runMsMax: Math.min(runMsMax, leftMs) }
  }

  /** The replies to a thread's jobs. */
  #take(thread: JobThread, replies: readonly Uint8Array[]): void {
    const jobs = this.#running.get(thread)
    if (jobs === undefined) throw new Error('a thread without a job replied')
    const ranMs = (performance.now() - (jobs[0]?.run?.startedAtMs ?? 0)) / jobs.length
    this.#idle.push(thread)
    this.#leaveThread(jobs, thread)
    for (const [at, job] of jobs.entries()) this.#settle(job, replies[at] as Uint8Array, ranMs)
  }

  /** A thread is gone, and with it the job that it had; another takes its place. */
  #replace(thread: JobThread, error: Error): void {
    const at = this.#idle.indexOf(thread)
    if (at >= 0) this.#idle.splice(at, 1)
    this.#threads.delete(thread)
    // One that does not get as far as to load its code would end again and again.
    if (!this.#isEnding && thread.isReady && this.#piscina) this.#startThread(this.#piscina)
    const jobs = this.#running.get(thread) ?? []
    this.#leaveThread(jobs, thread)
    // With a job that had to be stopped goes what was handed over with it.
    const isStopped = jobs.some(({ run }) => run?.stopFault !== undefined)
    if (!isStopped && !this.#isEnding) this.#loseThread(jobs[0], 'died', error)
    for (const job of jobs) {
      if (isStopped) this.#settleWithFault(job, job.run?.stopFault ?? busy)
      else this.#fail(job, error)
    }
  }

  #leaveThread(jobs: readonly Job<ClassOf<J>>[], thread: JobThread): void {
    for (const job of jobs) {
      clearTimeout(job.timer)
      job.owner?.forget(job.cancel)
      if (job.run !== undefined) this.#cells.release(job.run.cell)
    }
    this.#running.delete(thread)
    if (jobs[0] !== undefined) this.#queue.release(jobs[0].class)
    this.#startNext()
    if (this.#running.size === 0) this.#drained?.resolve()
  }

  #settle(job: Job<ClassOf<J>>, reply: Uint8Array, ranMs: number): void {
    const mean = this.#meanRunMs.get(job.class) ?? ranMs
    this.#meanRunMs.set(job.class, mean + (ranMs - mean) * meanWeight)
    if (job.isSettled) return
    job.isSettled = true
    try {
      job.outcome.resolve(decodeReply(reply))
      this.#finished++
    } catch (thrown) {
      this.#failed++
      // One that was stopped before it began knows no better.
      const isMute = thrown instanceof FaultError && thrown.fault.kind === 'RequestTimedOut'
      job.outcome.reject(isMute && job.run?.stopFault ? new FaultError(job.run.stopFault) : (thrown as Error))
    }
  }

  #settleWithFault(job: Job<ClassOf<J>>, fault: Fault): void {
    this.#fail(job, new FaultError(fault))
  }

  #fail(job: Job<ClassOf<J>>, error: Error): void {
    if (job.isSettled) return
    job.isSettled = true
    clearTimeout(job.timer)
    job.owner?.forget(job.cancel)
    this.#failed++
    job.outcome.reject(error)
  }

  /** Nobody waits for the job any more, or its deadline is past. */
  #expire(job: Job<ClassOf<J>>): void {
    const fault: Fault = { kind: 'RequestTimedOut' }
    if (job.run !== undefined) return this.#stop(job, job.run, fault)
    if (!this.#queue.remove(job.class, job)) return
    this.#waitingBytes -= job.args.length
    this.#settleWithFault(job, fault)
  }

  #cancel(job: Job<ClassOf<J>>): void {
    this.#cancelled++
    this.#expire(job)
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
    this.#loseThread(job, 'stopped', undefined)
    run.thread.end()
  }

  /** Whether the job's thread may be ended, because it can no longer go into lmdb. */
  #trySeal({ run }: Job<ClassOf<J>>): boolean {
    return run !== undefined && this.#cells.seal(run.cell, run.serial)
  }

  #loseThread(job: Job<ClassOf<J>> | undefined, why: ThreadLoss['why'], error: unknown): void {
    this.#threadsLost++
    this.#options.onThreadLost({ job: job?.name, keyId: job?.owner?.keyId, why, error })
  }
}
