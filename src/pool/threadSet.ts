import { setTimeout as setTimeoutPromise } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Piscina } from 'piscina'
import { JobThread, type JobThreadEvents } from './jobThread.js'
import type { ThreadData } from './messages.js'

/** Loading takes half a second; a thread that needs longer than this will not get there. */
const loadMsMax = 30_000

export interface ThreadSetOptions {
  readonly threads: number
  /** Compiled file of the entry with which threads run (workers/session.ts). */
  readonly session: URL
  /** JavaScript heap of a thread. */
  readonly heapBytesMax: number
  readonly data: ThreadData
}

/** The threads of a pool and which of them are free. Owns their start, their replacement and their end. */
export class ThreadSet {
  readonly #options: ThreadSetOptions
  readonly #events: JobThreadEvents
  /** Undefined until {@link start}. */
  #piscina: Piscina | undefined
  readonly #threads = new Set<JobThread>()
  readonly #free: JobThread[] = []
  #started: Promise<void> | undefined
  #isEnding = false

  constructor(options: ThreadSetOptions, events: JobThreadEvents) {
    this.#options = options
    this.#events = events
  }

  /** Threads without a job. */
  get free(): number {
    return this.#free.length
  }

  /** From here on threads end because they are asked to. */
  get isEnding(): boolean {
    return this.#isEnding
  }

  /** Starts the threads; settles once they have loaded their code. */
  start(): Promise<void> {
    this.#started ??= this.#startAll()
    return this.#started
  }

  #startAll(): Promise<void> {
    const { threads, session, heapBytesMax, data } = this.#options
    this.#piscina = new Piscina({
      filename: fileURLToPath(session),
      minThreads: threads,
      maxThreads: threads,
      // Each thread has one task; that of a thread being replaced waits for the new one.
      maxQueue: threads,
      recordTiming: false,
      resourceLimits: { maxOldGenerationSizeMb: Math.ceil(heapBytesMax / 2 ** 20) },
      workerData: data,
    })
    for (let i = 0; i < threads; i++) this.#startOne(this.#piscina)
    return this.#awaitLoading()
  }

  #startOne(piscina: Piscina): void {
    this.#threads.add(
      new JobThread(piscina, {
        onReady: (thread) => {
          this.#free.push(thread)
          this.#events.onReady(thread)
        },
        onReplies: (thread, replies) => {
          this.#free.push(thread)
          this.#events.onReplies(thread, replies)
        },
        onEnd: (thread, error) => this.#replace(thread, error),
      }),
    )
  }

  /** A free thread, to be given jobs. */
  take(): JobThread | undefined {
    return this.#free.pop()
  }

  /** Another takes the place of a thread that is gone. */
  #replace(thread: JobThread, error: Error): void {
    const at = this.#free.indexOf(thread)
    if (at >= 0) this.#free.splice(at, 1)
    this.#threads.delete(thread)
    // One that does not get as far as to load its code would end again and again.
    if (!this.#isEnding && thread.isReady && this.#piscina) this.#startOne(this.#piscina)
    this.#events.onEnd(thread, error)
  }

  /** Ends all threads, whatever they do, once they have loaded. */
  async close(): Promise<void> {
    await this.#awaitLoading()
    this.#isEnding = true
    await this.#piscina?.destroy()
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
}
