/**
 * The worker pool: heavy work on threads, so that the edge goes on answering reads. Owns the queue of each class of
 * work, permits, deadlines, cancellation and the threads' life. Does not own the work (`state`, `evm`), nor what a
 * job is (`jobs.ts`).
 *
 * What a hand-over costs (`node dist/bench/handOver.js`, Node 20.20.2, 2 cores, 2 threads): µs from call to result,
 * in brackets the CPU of the edge. Moved is msgpack in transferred memory; idle is one job after the other, busy two
 * at a time that compute 200 µs each.
 *
 *     result  load     moved       clone        text   whole pool
 *     100 B   idle    42 (22)    51 (26)     92 (36)      85 (36)
 *     100 B   busy   306 (35)   280 (29)    279 (30)     345 (41)
 *     7 KB    idle   132 (52)   118 (53)    117 (50)     152 (67)
 *     7 KB    busy   371 (21)   433 (18)    585 (24)     440 (33)
 *     300 KB  idle   220 (46)   142 (77)    789 (243)    295 (56)
 *     300 KB  busy   907 (59)   745 (87)   2204 (263)   1067 (66)
 *
 * So a job costs the edge 40 to 70 µs, hardly more for a large result. Moved memory and clones are alike for small
 * results; a large clone is copied once more on the edge, and text costs it four to five times as much.
 */
import { once } from 'node:events'
import { performance } from 'node:perf_hooks'
import { setTimeout as setTimeoutPromise } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Piscina } from 'piscina'
import { type Deferred, defer } from '../primitives/deferred.js'
import { type Fault, FaultError } from '../primitives/faults.js'
import { type ClassShare, FairQueue } from './fairQueue.js'
import { HardStop } from './hardStop.js'
import { JobCells } from './jobCells.js'
import type { JobInput, JobOwner, JobTable } from './jobs.js'
import { decodeReply, encodeArgs, type JobMessage, type ThreadData, type ThreadLoaded } from './messages.js'
import type {
  ClassLimits,
  ClassOf,
  JobDefinition,
  PoolCounts,
  PoolOptions,
  ThreadLoss,
} from './poolOptions.js'

/** A job's work, as Piscina finds it. */
interface Work {
  readonly filename: string
  readonly name: string
}

interface Job<C extends string> {
  readonly name: string
  readonly work: Work
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
  readonly cell: number
  readonly serial: number
  readonly startedAtMs: number
  readonly hardStop: HardStop
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
  readonly #works = new Map<string, Work>()
  /** Mean time that jobs of a class ran lately. */
  readonly #meanRunMs = new Map<ClassOf<J>, number>()
  readonly #permits: number
  readonly #running = new Set<Job<ClassOf<J>>>()
  /** Ids of threads that have loaded their code. */
  readonly #loaded = new Set<number>()
  #started: Promise<void> | undefined
  #isReady = false
  #waitingBytes = 0
  #finished = 0
  #failed = 0
  #cancelled = 0
  #refused = 0
  #threadsLost = 0
  #closed: Promise<void> | undefined
  #drained: Deferred<void> | undefined

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
      this.#works.set(name, { filename: fileURLToPath(entry), name: handler })
    }
    this.#cells = new JobCells(threads)
  }

  /**
   * Starts the threads, and settles once they have loaded their code: 0.5 s of CPU and 60 MB each, which a server
   * that never needs them is spared, and for which the first job waits. They open stores when jobs ask for them.
   */
  start(): Promise<void> {
    this.#started ??= this.#awaitLoading(this.#threads).then(() => {
      this.#isReady = true
      this.#startNext()
    })
    return this.#started
  }

  get #threads(): Piscina {
    if (this.#piscina !== undefined) return this.#piscina
    const { threads, preload, stores, settings, niceness, heapBytesMax } = this.#options
    const piscina = new Piscina({
      filename: fileURLToPath(preload),
      minThreads: threads,
      maxThreads: threads,
      // The pool hands out no more jobs than there are threads; these wait for one that is being replaced.
      maxQueue: threads,
      recordTiming: false,
      resourceLimits: { maxOldGenerationSizeMb: Math.ceil(heapBytesMax / 2 ** 20) },
      workerData: { cells: this.#cells.shared, stores, settings, niceness } satisfies ThreadData,
    })
    piscina.on('error', (error: unknown) => this.#loseThread(undefined, 'died', error))
    piscina.on('message', ({ loaded }: ThreadLoaded) => this.#loaded.add(loaded))
    this.#piscina = piscina
    return piscina
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
      work: this.#works.get(name) as Work,
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
    this.#closed ??= this.#drain(drainMsMax).then(() => this.#endThreads())
    return this.#closed
  }

  async #endThreads(): Promise<void> {
    if (this.#piscina !== undefined) await this.#awaitLoading(this.#piscina)
    await this.#piscina?.destroy()
  }

  /**
   * Waits until every thread has loaded its code, or failed to. To end a thread while it loads lmdb ends the whole
   * process ("FATAL ERROR: Error::ThrowAsJavaScriptException"), so until then no job is handed out that may have to
   * be aborted, and no thread is ended.
   */
  async #awaitLoading(piscina: Piscina): Promise<void> {
    const signal = AbortSignal.timeout(loadMsMax)
    const isLoading = () =>
      piscina.threads.some(({ threadId }) => threadId > 0 && !this.#loaded.has(threadId))
    while (isLoading() && !signal.aborted) {
      // An error event is a thread less to wait for; it is reported elsewhere.
      await once(piscina, 'message', { signal }).catch(() => undefined)
    }
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
    const unsealed = new Set(this.#running)
    for (const { run } of unsealed) {
      if (run === undefined) continue
      run.stopFault = fault
      this.#cells.stop(run.cell, run.serial)
    }
    while (unsealed.size > 0 && !signal.aborted) {
      for (const job of unsealed) {
        if (!this.#running.has(job) || this.#trySeal(job)) unsealed.delete(job)
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
    while (this.#isReady && this.#running.size < this.#options.threads) {
      const job = this.#queue.take()
      if (job === undefined) return
      this.#leaveQueue(job)
      this.#start(job)
    }
  }

  #start(job: Job<ClassOf<J>>): void {
    const { runMsMax, deadlineMsMax, timedOut } = this.#options.classes[job.class]
    const { cell, serial } = this.#cells.take()
    const startedAtMs = performance.now()
    const leftMs = job.arrivedAtMs + deadlineMsMax - startedAtMs
    const run: Run = { cell, serial, startedAtMs, hardStop: new HardStop(), stopFault: undefined }
    job.run = run
    this.#running.add(job)
    job.timer =
      leftMs < runMsMax
        ? setTimeout(() => this.#stop(job, run, { kind: 'RequestTimedOut' }), leftMs)
        : setTimeout(() => this.#stop(job, run, timedOut), runMsMax)
    const { network, args } = job
    const message: JobMessage = { network, args, cell, serial, runMsMax: Math.min(runMsMax, leftMs) }
    this.#threads.run(message, { ...job.work, signal: run.hardStop }).then(
      (reply: Uint8Array) => {
        this.#leaveThread(job, run)
        this.#settle(job, reply)
      },
      (error: unknown) => {
        this.#leaveThread(job, run)
        if (run.stopFault !== undefined) return this.#settleWithFault(job, run.stopFault)
        this.#loseThread(job.name, 'died', error)
        this.#fail(job, error instanceof Error ? error : new Error(String(error)))
      },
    )
  }

  #leaveQueue(job: Job<ClassOf<J>>): void {
    clearTimeout(job.timer)
    this.#waitingBytes -= job.args.length
  }

  #leaveThread(job: Job<ClassOf<J>>, run: Run): void {
    clearTimeout(job.timer)
    job.owner?.forget(job.cancel)
    this.#cells.release(run.cell)
    this.#running.delete(job)
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
    run.hardStop.end()
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
