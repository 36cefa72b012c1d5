/**
 * A thread of the pool as the edge sees it. Owns how jobs cross to it and replies come back.
 *
 * Arguments and replies are msgpack. Replies and bodies are in memory that is moved: a large clone is copied
 * once more on the edge, and text costs the edge four to five times as much (docs/libraries.md).
 */
import { MessageChannel, type MessagePort } from 'node:worker_threads'
import type { Piscina } from 'piscina'
import { defer } from '../primitives/deferred.js'
import { HardStop } from './hardStop.js'
import type { JobMessage, JobReplies, SessionTask, ThreadReady } from './messages.js'

/** What a thread reports to the pool. */
export interface JobThreadEvents {
  /** Its code is loaded and it waits for jobs. */
  onReady(thread: JobThread): void
  /** The replies to the jobs that it was given last, in their order. */
  onReplies(thread: JobThread, replies: JobReplies): void
  /** It runs no more, by {@link JobThread.end} or for an `error` of its own. */
  onEnd(thread: JobThread, error: Error): void
}

/**
 * One thread of the pool as the edge sees it, from its start to its end. Piscina starts it, with one task that lasts
 * as long as the thread; jobs and replies pass it by, on a port of their own; see pool.ts.
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
    port1.on('message', (message: JobReplies | ThreadReady) => {
      if (message !== 'ready') return events.onReplies(this, message)
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

  /** Hands jobs over, whose bodies are moved; those before have to be answered. */
  post(messages: readonly JobMessage[]): void {
    const moved: ArrayBufferLike[] = []
    for (const { body } of messages) if (body !== undefined) moved.push(body.buffer)
    this.#port.postMessage(messages, moved as ArrayBuffer[])
    Atomics.add(this.#posted, 0, 1)
    Atomics.notify(this.#posted, 0, 1)
  }

  /** Ends the thread whatever it does. */
  end(): void {
    this.#hardStop.end()
  }
}
