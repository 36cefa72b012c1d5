/**
 * The worker pool: runs long work on threads, so that the edge can answer reads. Owns permits, turns, deadlines and
 * cancellation. Does not own the order of waiting jobs (`fairQueue.ts`), nor starting and ending threads
 * (`threadSet.ts`). Neither does it own the work (`state`, `evm`), the types of jobs (`jobs.ts`), nor passing them to a
 * thread (`jobThread.ts`).
 *
 * Permits. Each class of work without turns (proofs, slots, hashes) may use all threads but one. Work with turns
 * (executions, traces, searches) may use all. A job that has used up its turn is *long*. Long jobs may use all threads
 * but one, those of one key half of that. So endless loops leave a thread to calls that end within their turn. Even
 * with two threads, no call waits seconds for a loop before it.
 *
 * Turns. The length of a job is not known in advance, and a thread cannot suspend it. So a job whose turn is over runs
 * on as long as no other job is disadvantaged. Suppose there is no permit for a long job, and a job waits whose key has
 * used less than half the time. Then the running job is asked to stop and waits again, as a long one. The same rule is
 * used among long jobs, whose turns double each time. So a job begins again only a few times, and loses at most as much
 * time as it needs in the end. Parts of its result that were sent already are computed again and not sent
 * (workers/jobThread.ts).
 *
 * Groups. Short jobs are posted in groups, because posting a job takes longer than most of them. An execution in a
 * group is *on trial*: if it needs more than about two million gas, it is stopped and begins again alone. Executions
 * that the group has not begun after 5 ms wait again (workers/). If the thread of a group ends, the job that it was
 * ended for fails. The others wait again, each to be posted alone.
 *
 * Piscina starts, replaces and ends the threads and limits their heaps. Jobs do not use its queue, which knows neither
 * keys nor turns. They use a port of each thread, which takes half the CPU of the edge (docs/libraries.md).
 */
import { performance } from 'node:perf_hooks'
import { setTimeout as setTimeoutPromise } from 'node:timers/promises'
import { type Deferred, defer, waitFor } from '../../primitives/deferred.js'
import { type Fault, FaultError } from '../../primitives/faults.js'
import { setInterval, setTimeout } from '../../primitives/timers.js'
import { type ClassShare, FairQueue } from './fairQueue.js'
import { Job, type Run } from './job.js'
import { JobSignals } from './jobCells.js'
import type { JobInput, JobOwner, JobTable } from './jobs.js'
import type { JobThread } from './jobThread.js'
import { decodeReply, encodePiece, type JobMessage, type JobReply, type Postponed } from './messages.js'
import type { ClassLimits, PoolCounts, PoolOptions, ThreadLoss } from './poolOptions.js'
import { PoolTally, retryMsMin } from './poolTally.js'
import { ThreadSet } from './threadSet.js'

const timedOut: Fault = { kind: 'RequestTimedOut' }
/** The fault of jobs that fail because of other jobs. */
const busy: Fault = { kind: 'ServerBusy', retryAfterMs: retryMsMin }

/** Time between two attempts to catch a thread outside of lmdb, where it spends microseconds at a time. */
const sealRetryMs = 5

/** A thread that cannot be caught for this long hangs in a read, on a disk that does not answer. */
const endMsMax = 5_000

/**
 * A thread is ended after this many times the grace, whatever its CPU time. The system may not report CPU time, and a
 * sleeping job uses none. A healthy job needs a few milliseconds, a thirtieth of a core.
 */
const graceTimesMax = 30

/**
 * Short jobs posted together if many wait, because each message wakes two threads. A proof of three slots posted alone
 * takes twice the edge's CPU of one in groups of 8 (scenario `proof-random`). Groups of 16 make the next job wait
 * longer and save little more.
 */
const groupMax = 8

export class Pool<J extends JobTable<J>> {
  readonly #options: PoolOptions<J>
  readonly #threads: ThreadSet
  readonly #queue: FairQueue<Job>
  readonly #cells: JobSignals
  readonly #permits: ReadonlyMap<string, number>
  /** Thread → its jobs: one, or several short ones of one class under one permit. */
  readonly #running = new Map<JobThread, readonly Job[]>()
  readonly #tally: PoolTally
  #closed: Promise<void> | undefined
  #drained: Deferred<void> | undefined

  constructor(options: PoolOptions<J>) {
    const { threads, session, preload, stores, settings, niceness, heapBytesMax, waitingBytesMax } = options
    this.#options = options
    const someThreads = Math.max(1, threads - 1)
    const shares = new Map<string, ClassShare>()
    for (const [name, limits] of Object.entries<ClassLimits>(options.classes)) {
      const { waitingMax, turnMs, runningMax = threads } = limits
      const permits = Math.min(turnMs === undefined ? someThreads : threads, runningMax)
      const ofKey = limits.runningMax === undefined ? permits : Math.ceil(permits / 2)
      shares.set(name, { waitingMax, permits, permitsOfKey: ofKey })
    }
    this.#permits = new Map([...shares].map(([name, { permits }]) => [name, permits]))
    this.#tally = new PoolTally(shares.keys())
    this.#queue = new FairQueue(shares, { waitingBytesMax, longPermits: someThreads })
    this.#cells = new JobSignals(threads * groupMax)
    const data = {
      jobs: options.jobs,
      preload: preload.href,
      cells: this.#cells.shared,
      stores,
      settings,
      niceness,
    }
    this.#threads = new ThreadSet(
      { threads, session, heapBytesMax, data },
      {
        onReady: () => this.#startNext(),
        onReplies: (thread, replies) => this.#take(thread, replies),
        onPart: (thread, part) => this.#running.get(thread)?.[0]?.takePart(part, this.#cells),
        onEnd: (thread, error) => this.#lose(thread, error),
      },
    )
  }

  /**
   * Starts the threads, and settles once they have loaded their code. Each takes 0.5 s of CPU and 60 MB, so they are
   * started only when needed; the first jobs wait for that. Threads open stores when jobs need them.
   */
  start(): Promise<void> {
    return this.#threads.start()
  }

  get heaps(): readonly number[] {
    return this.#threads.heaps
  }

  get counts(): PoolCounts {
    const running = [...this.#running.values()].flat()
    return this.#tally.counts((name) => ({
      waiting: this.#queue.waiting(name),
      running: running.filter((job) => job.class === name).length,
    }))
  }

  /**
   * The fault with which {@link run} would refuse any job of this class and key; undefined if a job may wait. Lets
   * callers skip making the arguments. A refusal is counted.
   */
  refusal(className: string, keyId: string): Fault | undefined {
    if (this.#closed === undefined && !this.#queue.isFullFor(className, keyId)) return undefined
    this.#tally.of(className).refused++
    return this.#busy(className)
  }

  /**
   * Runs a job and resolves to its result, whose bytes belong to the caller. If its owner leaves, a waiting job is
   * removed from the queue, and a running one is asked to stop.
   *
   * Rejects with FaultError:
   *
   * - a fault of the job itself
   * - ServerBusy if its queue is full, if it was dropped for a key with less waiting work, or if the pool is closing
   * - RequestTimedOut past its deadline, and when its owner has left
   * - its class's `timedOut` if it ran too long
   *
   * Rejects with Error for a defect, or if its thread ended.
   */
  run<N extends keyof J & string>(
    name: N,
    { network, args }: JobInput<J[N]['args']>,
    owner?: JobOwner,
  ): Promise<J[N]['result']> {
    return this.#run({ name, network, owner }, () => encodePiece(args)).then(decodeReply)
  }

  /**
   * Like {@link run}, but with arguments from `encodeArgs`; resolves to the reply, for `decodeReply`. So jobs of
   * another thread pass through this one as bytes: decoding and encoding them again would take time of the edge.
   */
  runEncoded(
    { name, network, args }: Pick<JobMessage, 'name' | 'network' | 'args'>,
    owner: JobOwner,
  ): Promise<Uint8Array> {
    return this.#run({ name, network, owner }, () => args)
  }

  #run(start: Pick<Job, 'name' | 'network' | 'owner'>, encodeArgs: () => Uint8Array): Promise<Uint8Array> {
    const { name, owner } = start
    const { class: className, shortBytesMax = 0 } = this.#options.jobs[name as keyof J]
    if (owner?.isFinished) return Promise.reject(new FaultError({ kind: 'RequestTimedOut' }))
    const refused = this.refusal(className, owner?.keyId ?? '')
    if (refused !== undefined) return Promise.reject(new FaultError(refused))
    const limits: ClassLimits = this.#options.classes[className]
    const args = encodeArgs()
    const isShort = args.length <= shortBytesMax
    const job: Job = new Job({ ...start, class: className, limits, args, isShort }, () => this.#cancel(job))
    this.#wait(job, this.#queue.add(job))
    void this.start()
    this.#startNext()
    this.#shareOut()
    return job.outcome.promise
  }

  /** Sets the deadline of a job that begins to wait, and rejects the `dropped` jobs. */
  #wait(job: Job, dropped: readonly Job[]): void {
    const leftMs = job.deadlineAtMs - performance.now()
    job.owner?.onFinished(job.cancel)
    job.timer = setTimeout(() => this.#expire(job), Math.max(leftMs, 0))
    for (const each of dropped) this.#drop(each)
  }

  /** Accepts no more jobs, lets accepted ones finish within `drainMsMax`, rejects the rest, and ends the threads. */
  close(drainMsMax: number): Promise<void> {
    this.#closed ??= this.#drain(drainMsMax).then(() => this.#threads.close())
    return this.#closed
  }

  async #drain(drainMsMax: number): Promise<void> {
    if (this.#running.size === 0 && this.#queue.waiting() === 0) return
    this.#drained = defer<void>()
    await waitFor(this.#drained.promise, drainMsMax)
    for (const job of this.#queue.clear()) this.#fail(job, busy)
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

  #drop(job: Job): void {
    if (job.fail(new FaultError(this.#busy(job.class)))) this.#tally.of(job.class).refused++
  }

  #busy(className: string): Fault {
    return this.#tally.busy(className, this.#queue.waiting(className), this.#permits.get(className) as number)
  }

  #startNext(): void {
    while (this.#threads.free > 0) {
      const job = this.#queue.take()
      if (job === undefined) return
      this.#start(this.#gather(job), this.#threads.take() as JobThread)
    }
  }

  /** A job with the short ones that are posted with it; the waiting jobs are divided among the threads. */
  #gather(first: Job): Job[] {
    const jobs = [first]
    if (!first.isShort || first.isLong) return jobs
    const permits = this.#permits.get(first.class) as number
    const share = Math.min(groupMax, Math.ceil((1 + this.#queue.waiting(first.class)) / permits))
    while (jobs.length < share) {
      const next = this.#queue.takeBeside(first.class, ({ isShort }) => isShort)
      if (next === undefined) break
      jobs.push(next)
    }
    return jobs
  }

  #start(jobs: readonly Job[], thread: JobThread): void {
    this.#running.set(thread, jobs)
    const startedAtMs = performance.now()
    thread.post(jobs.map((job) => this.#startOne(job, thread, startedAtMs, jobs.length > 1)))
  }

  #startOne(job: Job, thread: JobThread, startedAtMs: number, isInGroup: boolean): JobMessage {
    const { runMsMax, timedOut, turnMs } = job.limits
    const run = job.begin(thread, this.#cells.take(job.partsTaken), startedAtMs)
    const leftMs = job.deadlineAtMs - startedAtMs
    if (runMsMax < leftMs) {
      clearTimeout(job.timer)
      job.timer = setTimeout(() => this.#stop(job, run, timedOut), runMsMax)
    }
    const isTrial = isInGroup && turnMs !== undefined
    if (!isTrial) this.#beginTurn(job, run)
    return job.messageFor(run, Math.min(runMsMax, leftMs), isTrial)
  }

  #beginTurn(job: Job, run: Run): void {
    const { turnMs } = job.limits
    if (turnMs === undefined) return
    run.isOverTurn = false
    const end = () => {
      run.isOverTurn = true
      this.#shareOut()
    }
    // Repeats, because possibly no other event checks later which job has used most time.
    clearInterval(job.turnTimer)
    job.turnTimer = setInterval(end, turnMs * 2 ** job.turns++)
  }

  /**
   * Makes jobs long whose turn is over if there is a permit; otherwise stops them for a job that should run instead.
   */
  #shareOut(): void {
    for (const [job] of this.#running.values()) {
      const run = job?.run
      if (job === undefined || !run?.isOverTurn || run.isInterrupted) continue
      if (!job.isLong && this.#queue.tryMakeLong(job)) this.#beginTurn(job, run)
      else if (this.#queue.isOutranked(job)) {
        run.isInterrupted = true
        this.#cells.stop(run.cell, run.serial)
      }
    }
  }

  #take(thread: JobThread, replies: readonly JobReply[]): void {
    const jobs = this.#running.get(thread)
    if (jobs === undefined) throw new Error('a thread without a job replied')
    const again = jobs.filter((job, at) => job.hasToWait((replies[at] as JobReply).reply))
    const ranMs = replies.map((reply) => reply.ranMs)
    this.#leaveThread(jobs, thread, ranMs, again)
    for (const [at, job] of jobs.entries()) {
      const { reply, ranMs, cpuMs } = replies[at] as JobReply
      this.#tally.of(job.class).cpuMs += cpuMs
      if (again.includes(job)) continue
      if (!job.isSettled) job.owner?.ran(cpuMs)
      this.#settle(job, reply, ranMs)
    }
  }

  /**
   * Handles the end of a thread. The job that it was ended for fails, and so does a job that ran alone. The others of a
   * group wait again, each alone: then the job that kills its thread fails no other caller.
   */
  #lose(thread: JobThread, error: Error): void {
    const jobs = this.#running.get(thread) ?? []
    const ranMs = jobs.map(({ run }) => (performance.now() - (run as Run).startedAtMs) / jobs.length)
    const isStopped = jobs.some(({ run }) => run?.stopFault !== undefined)
    const isClosing = this.#threads.isEnding || this.#closed !== undefined
    const again = jobs.filter(
      ({ isSettled, run }) =>
        jobs.length > 1 && !isClosing && !isSettled && run !== undefined && run.stopFault === undefined,
    )
    if (!isStopped && !this.#threads.isEnding) {
      this.#loseThread(jobs.length === 1 ? jobs[0] : undefined, 'died', error)
    }
    for (const job of again) job.isShort = false
    this.#leaveThread(jobs, thread, ranMs, again)
    for (const [at, job] of jobs.entries()) {
      if (again.includes(job)) continue
      if (!job.isSettled) job.owner?.ran(ranMs[at] as number)
      this.#fail(job, isStopped ? (job.run?.stopFault ?? busy) : error)
    }
  }

  /** Records that jobs left their thread after `ranMs`; those of `again` wait again. */
  #leaveThread(
    jobs: readonly Job[],
    thread: JobThread,
    ranMs: readonly number[],
    again: readonly Job[],
  ): void {
    for (const [at, job] of jobs.entries()) {
      job.rest()
      if (job.run !== undefined) this.#cells.release(job.run.cell)
      if (!again.includes(job)) this.#queue.giveBack(job, ranMs[at] as number)
      else {
        const isInterrupted = job.run?.isInterrupted === true
        if (isInterrupted) this.#tally.interrupted++
        job.run = undefined
        this.#wait(job, this.#queue.putBack(job, ranMs[at] as number, isInterrupted))
      }
    }
    this.#running.delete(thread)
    if (jobs[0] !== undefined) this.#queue.release(jobs[0].class)
    this.#startNext()
    this.#shareOut()
    if (this.#running.size === 0) this.#drained?.resolve()
  }

  #settle(job: Job, reply: Uint8Array | Postponed, ranMs: number): void {
    this.#tally.ran(job.class, ranMs)
    const isResult = job.settle(reply)
    if (isResult !== undefined) this.#tally.of(job.class)[isResult ? 'finished' : 'failed']++
  }

  #fail(job: Job, why: Fault | Error): void {
    if (job.fail(why instanceof Error ? why : new FaultError(why))) this.#tally.of(job.class).failed++
  }

  /** Ends a job that has no caller left, or whose deadline is past. */
  #expire(job: Job): void {
    if (job.run !== undefined) this.#stop(job, job.run, timedOut)
    else if (this.#queue.remove(job)) this.#fail(job, timedOut)
  }

  #cancel(job: Job): void {
    this.#tally.cancelled++
    this.#expire(job)
  }

  /** Asks a running job to stop, and ends its thread if the job does not stop within the grace. */
  #stop(job: Job, run: Run, fault: Fault): void {
    if (run.stopFault !== undefined) return
    run.stopFault = fault
    run.stoppedAt = { ms: performance.now(), cpuMs: run.thread.cpuMs }
    clearTimeout(job.timer)
    this.#cells.stop(run.cell, run.serial)
    job.timer = setTimeout(() => this.#end(job, run, fault), this.#options.graceMs)
  }

  /** Rejects a job that did not stop, and ends its thread once the grace is used up and ending it is safe. */
  #end(job: Job, run: Run, fault: Fault): void {
    if (!job.isSettled) job.owner?.ran(performance.now() - run.startedAtMs)
    this.#fail(job, fault)
    const leftMs = this.#graceLeftMs(run)
    if (leftMs > 0 || !this.#trySeal(job)) {
      job.timer = setTimeout(() => this.#end(job, run, fault), Math.max(leftMs, sealRetryMs))
      return
    }
    this.#loseThread(job, 'stopped', undefined)
    run.thread.end()
  }

  /** Least time in which the thread of a job that was asked to stop can use up its grace. */
  #graceLeftMs({ thread, stoppedAt }: Run): number {
    const { graceMs } = this.#options
    const { ms, cpuMs } = stoppedAt as NonNullable<Run['stoppedAt']>
    const leftMs = ms + graceMs * graceTimesMax - performance.now()
    const nowCpuMs = cpuMs === undefined ? undefined : thread.cpuMs
    return nowCpuMs === undefined ? leftMs : Math.min(leftMs, (cpuMs as number) + graceMs - nowCpuMs)
  }

  /** Tries to lock the job's thread out of lmdb; true once it may be ended. */
  #trySeal({ run }: Job): boolean {
    return run !== undefined && this.#cells.seal(run.cell, run.serial)
  }

  #loseThread(job: Job | undefined, why: ThreadLoss['why'], error: unknown): void {
    this.#tally.threadsLost++
    this.#options.onThreadLost({ job: job?.name, keyId: job?.owner?.keyId, why, error })
  }
}
