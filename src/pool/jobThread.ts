import { MessageChannel, type MessagePort } from 'node:worker_threads'
import type { Piscina } from 'piscina'
import { defer } from '../primitives/deferred.js'
import { HardStop } from './hardStop.js'
import type { JobMessage, SessionTask, ThreadReady } from './messages.js'

/** What a thread tells the pool. */
export interface JobThreadEvents {
  /** Its code is loaded and it waits for jobs. */
  onReady(thread: JobThread): void
  /** The reply to the job that it was given last. */
  onReply(thread: JobThread, reply: Uint8Array): void
  /** It runs no more, by {@link JobThread.end} or for an `error` of its own. */
  onEnd(thread: JobThread, error: Error): void
}

/**
 * One thread of the pool as the edge sees it, from its start to its end. Piscina starts it, with one task that lasts
 * as long as the thread; jobs and replies pass it by, on a port of their own. Where every job was a task, its
 * objects, promises and events cost the edge half of the hand-over: 57 to 65 µs of CPU a job against 30 to 36, and
 * on a slower day of the same machine, in turns, 104 to 128 against 63 to 87.
 */
export class JobThread {
  readonly #port: MessagePort
  readonly #hardStop = new HardStop()
  /** Counts the jobs posted; the thread sleeps on it. */
  readonly #posted = new Int32Array(new SharedArrayBuffer(4))
  readonly #loaded = defer<void>()
  #isReady = false

  constructor(piscina: Piscina, events: JobThreadEvents) {
    const { port1, port2 } = new MessageChannel()
    this.#port = port1
    port1.on('message', (message: Uint8Array | ThreadReady) => {
      if (message !== 'ready') return events.onReply(this, message)
      this.#isReady = true
      this.#loaded.resolve()
      events.onReady(this)
    })
    const task: SessionTask = { port: port2, posted: this.#posted }
    const options = { name: 'runSession', signal: this.#hardStop, transferList: [port2] }
    piscina.run(task, options).catch((error: unknown) => {
      this.#loaded.resolve()
      port1.close()
      events.onEnd(this, error instanceof Error ? error : new Error(String(error)))
    })
  }

  /** Whether it has loaded its code. */
  get isReady(): boolean {
    return this.#isReady
  }

  /** Settles when it has loaded its code, or failed to. */
  get loaded(): Promise<void> {
    return this.#loaded.promise
  }

  /** Hands a job over; the one before has to be answered. */
  post(message: JobMessage): void {
    this.#port.postMessage(message)
    Atomics.add(this.#posted, 0, 1)
    Atomics.notify(this.#posted, 0, 1)
  }

  /** Ends the thread whatever it does. */
  end(): void {
    this.#hardStop.end()
  }
}
