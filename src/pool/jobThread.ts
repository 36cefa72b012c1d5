/**
 * A thread of the pool as the edge sees it. Owns how jobs cross to it and replies come back.
 *
 * What it costs to get work to a thread and its result back, by the way it crosses, each time as a Piscina task
 * (`node dist/bench/handOver.js`, Node 20.20.2, 2 cores, 2 threads): µs from call to result, in brackets the CPU of
 * the edge. Moved is msgpack in transferred memory; idle is one job after the other, busy two at a time that compute
 * 200 µs each.
 *
 *     result  load     moved       clone        text
 *     100 B   idle    42 (22)    51 (26)     92 (36)
 *     100 B   busy   306 (35)   280 (29)    279 (30)
 *     7 KB    idle   132 (52)   118 (53)    117 (50)
 *     7 KB    busy   371 (21)   433 (18)    585 (24)
 *     300 KB  idle   220 (46)   142 (77)    789 (243)
 *     300 KB  busy   907 (59)   745 (87)   2204 (263)
 *
 * A large clone is copied once more on the edge, and text costs it four to five times as much. A job of the pool, on
 * the port of {@link JobThread} and with the pool's queue, timers and cell, costs the edge 30 to 36 µs for up to 7 KB.
 */
import { MessageChannel, type MessagePort } from 'node:worker_threads'
import type { Piscina } from 'piscina'
import { defer } from '../primitives/deferred.js'
import { HardStop } from './hardStop.js'
import type { JobMessage, JobReplies, SessionTask, ThreadReady } from './messages.js'

/** What a thread tells the pool. */
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

  /** Hands jobs over; those before have to be answered. */
  post(messages: readonly JobMessage[]): void {
    this.#port.postMessage(messages)
    Atomics.add(this.#posted, 0, 1)
    Atomics.notify(this.#posted, 0, 1)
  }

  /** Ends the thread whatever it does. */
  end(): void {
    this.#hardStop.end()
  }
}
