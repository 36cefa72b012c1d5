/**
 * A thread of the pool as the edge sees it. Owns how jobs and replies are passed.
 *
 * Arguments and replies are msgpack, those of a group in one piece. Long ones are transferred. Cloning would copy them
 * once more on the edge, and text would take four to five times the CPU of the edge (docs/libraries.md).
 */
import { MessageChannel, type MessagePort } from 'node:worker_threads'
import type { Piscina } from 'piscina'
import { defer } from '../../primitives/deferred.js'
import {
  type JobMessage,
  type JobPart,
  type JobReply,
  type Parcel,
  packJobs,
  post,
  type SessionTask,
  type ThreadReady,
  unpackReplies,
} from './messages.js'
import { readCpuMsOf } from './threadCpu.js'

export interface JobThreadEvents {
  /** Called when its code is loaded and it waits for jobs. */
  onReady(thread: JobThread): void
  /** Called with the replies to the jobs posted last, in their order. */
  onReplies(thread: JobThread, replies: readonly JobReply[]): void
  /** Called with a part of the result of a job that runs. */
  onPart(thread: JobThread, part: JobPart): void
  /** Called when it has ended, by {@link JobThread.end} or by an `error` of its own. */
  onEnd(thread: JobThread, error: Error): void
}

/**
 * One thread of the pool, from its start to its end. Piscina starts it with one task that lasts as long as the
 * thread; jobs and replies use a separate port; see pool.ts.
 */
export class JobThread {
  readonly #port: MessagePort
  readonly #hardStop = new AbortController()
  /** Number of jobs posted; the thread waits on it with `Atomics.wait`. */
  readonly #posted = new Int32Array(new SharedArrayBuffer(4))
  readonly #heap = new Float64Array(new SharedArrayBuffer(8))
  readonly #loaded = defer<void>()
  #isReady = false
  #schedstat: string | undefined

  constructor(piscina: Piscina, events: JobThreadEvents) {
    const { port1, port2 } = new MessageChannel()
    this.#port = port1
    port1.on('message', (message: Parcel | JobPart | ThreadReady) => {
      if ('part' in message) return events.onPart(this, message)
      if (!('schedstat' in message)) return events.onReplies(this, unpackReplies(message))
      this.#schedstat = message.schedstat
      this.#isReady = true
      this.#loaded.resolve()
      events.onReady(this)
    })
    const task: SessionTask = { port: port2, posted: this.#posted, heap: this.#heap }
    const options = { name: 'runSession', signal: this.#hardStop.signal, transferList: [port2] }
    piscina.run(task, options).catch((error: unknown) => {
      this.#loaded.resolve()
      port1.close()
      events.onEnd(this, error instanceof Error ? error : new Error(String(error)))
    })
  }

  get isReady(): boolean {
    return this.#isReady
  }

  get heapBytes(): number {
    return this.#heap[0] ?? 0
  }

  /** CPU time so far; undefined if the system does not report it. */
  get cpuMs(): number | undefined {
    return readCpuMsOf(this.#schedstat)
  }

  /** Settles when the thread has loaded its code, or failed to load it. */
  get loaded(): Promise<void> {
    return this.#loaded.promise
  }

  /** Posts jobs and transfers their bodies. The previous jobs must be answered. */
  post(messages: readonly JobMessage[]): void {
    post(this.#port, packJobs(messages))
    Atomics.add(this.#posted, 0, 1)
    Atomics.notify(this.#posted, 0, 1)
  }

  /** Ends the thread at any point of its work. */
  end(): void {
    this.#hardStop.abort('the job did not stop')
  }
}
