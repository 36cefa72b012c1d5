import { fileURLToPath } from 'node:url'
import type { Piscina } from 'piscina'
import { waitFor } from '../../primitives/deferred.js'
import { JobThread, type JobThreadEvents } from './jobThread.js'
import type { ThreadData } from './messages.js'

/** Loading takes half a second; a thread that takes longer than this never will. */
const loadMsMax = 30_000

interface ThreadSetOptions {
  readonly threads: number
  readonly session: URL
  readonly heapBytesMax: number
  readonly data: ThreadData
}

/** The threads of a pool, and which of them are free. Owns their start, replacement and end. */
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

  get free(): number {
    return this.#free.length
  }

  get heaps(): number[] {
    return Array.from(this.#threads, ({ heapBytes }) => heapBytes)
  }

  /** Whether the pool is closing, so that threads end as intended. */
  get isEnding(): boolean {
    return this.#isEnding
  }

  /** Starts the threads; settles once they have loaded their code. */
  start(): Promise<void> {
    this.#started ??= this.#startAll()
    return this.#started
  }

  async #startAll(): Promise<void> {
    const { threads, session, heapBytesMax, data } = this.#options
    // Loaded late: a process without jobs does not need it.
    const { Piscina } = await import('piscina')
    this.#piscina = new Piscina({
      filename: fileURLToPath(session),
      minThreads: threads,
      maxThreads: threads,
      // Each thread has one task; while a thread is replaced, its task waits.
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
        onPart: (thread, part) => this.#events.onPart(thread, part),
        onEnd: (thread, error) => this.#replace(thread, error),
      }),
    )
  }

  take(): JobThread | undefined {
    return this.#free.pop()
  }

  #replace(thread: JobThread, error: Error): void {
    const at = this.#free.indexOf(thread)
    if (at >= 0) this.#free.splice(at, 1)
    this.#threads.delete(thread)
    // A thread that failed to load its code would fail again and again.
    if (!this.#isEnding && thread.isReady && this.#piscina) this.#startOne(this.#piscina)
    this.#events.onEnd(thread, error)
  }

  /** Ends all threads once they have loaded, at any point of their work. */
  async close(): Promise<void> {
    await this.#started
    // Also waits for threads that replaced others since.
    await this.#awaitLoading()
    this.#isEnding = true
    await this.#piscina?.destroy()
  }

  /**
   * Waits until every thread has loaded its code, or failed to. Ending a thread while it loads lmdb aborts the
   * process ("FATAL ERROR: Error::ThrowAsJavaScriptException"), so only loaded threads get jobs, and closing waits
   * for the others.
   */
  async #awaitLoading(): Promise<void> {
    await waitFor(Promise.all([...this.#threads].map((thread) => thread.loaded)), loadMsMax)
  }
}
