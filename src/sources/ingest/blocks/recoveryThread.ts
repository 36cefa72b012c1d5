/**
 * The thread that recovers public keys for an ingest thread. Owns its start and end, its messages, and the order of its
 * answers. Its entry is `workers/recover.ts`.
 */
import { Worker } from 'node:worker_threads'
import { type Deferred, defer } from '../../../primitives/deferred.js'
import { startedUrl } from '../../../primitives/packageRoot.js'
import type { Block } from './block.js'

type TakeKeys = Block['takeKeys']

/** A block for the thread, with its index from 1. Many are sent in one message, which takes up to 0.5 ms. */
export interface RecoveryTask {
  readonly index: number
  readonly rlp: Uint8Array
}

export interface RecoverySettings {
  /** Index of the block whose execution begins; the thread skips it and earlier ones. */
  readonly wanted: Int32Array
  readonly storePath: string
}

/** A block that two threads share: this one takes its transactions from the last one backwards. */
export interface SharedRecovery {
  readonly claims: Int32Array
  /** RLP of the block's body. */
  readonly body: Uint8Array
}

/** The thread's first message; all others are keys. */
export type RecoveryReady = 'ready'

/** The last message to the thread. */
export type RecoveryEnd = 'end'

/** The thread, started by its first block. No block waits for the 100 ms in which it loads. */
export class RecoveryThread {
  #worker: Worker | undefined
  #isReady = false
  #hasEnded = false
  #failure: Error | undefined
  /** One per unanswered block, in order. */
  #waiting: Deferred<Uint8Array>[] = []
  #unsent: RecoveryTask[] = []
  #blocks = 0
  readonly #wanted = new Int32Array(new SharedArrayBuffer(4))
  readonly #storePath: string

  constructor(storePath: string) {
    this.#storePath = storePath
  }

  get isReady(): boolean {
    return this.#isReady
  }

  /**
   * Adds a block to the next {@link send}; returns a function that takes its keys, or undefined before the thread is
   * ready.
   */
  recover(rlp: Uint8Array): TakeKeys {
    this.#worker ??= this.#start()
    if (!this.#isReady) return undefined
    const index = ++this.#blocks
    const keys = defer<Uint8Array>()
    // A failure is reported when the block that needs the keys is reached.
    keys.promise.catch(() => undefined)
    if (this.#failure !== undefined) keys.reject(this.#failure)
    else {
      this.#waiting.push(keys)
      this.#unsent.push({ index, rlp })
    }
    return () => {
      Atomics.store(this.#wanted, 0, index)
      return keys.promise
    }
  }

  send(): void {
    if (this.#unsent.length === 0) return
    this.#worker?.postMessage(this.#unsent)
    this.#unsent = []
  }

  /**
   * Sends a block at once; resolves to the keys that the thread found. Undefined before it is ready, and once it has
   * failed.
   */
  share(task: SharedRecovery): Promise<Uint8Array> | undefined {
    this.#worker ??= this.#start()
    if (!this.#isReady || this.#failure !== undefined) return undefined
    const keys = defer<Uint8Array>()
    this.#waiting.push(keys)
    this.#worker.postMessage(task)
    return keys.promise
  }

  /** The thread ends itself: to end it within a call of LMDB or secp256k1 may abort the process. */
  async close(): Promise<void> {
    if (this.#worker === undefined || this.#hasEnded) return
    // All its remaining blocks are late now, so it skips them and finishes at once.
    Atomics.store(this.#wanted, 0, 2 ** 31 - 1)
    const worker = this.#worker
    await new Promise<void>((resolve) => {
      worker.once('exit', () => resolve())
      worker.postMessage('end' satisfies RecoveryEnd)
    })
  }

  #start(): Worker {
    const workerData: RecoverySettings = { wanted: this.#wanted, storePath: this.#storePath }
    const worker = new Worker(startedUrl('recover'), { workerData })
    worker.on('message', (message: Uint8Array | RecoveryReady) => {
      if (message === 'ready') this.#isReady = true
      else this.#waiting.shift()?.resolve(message)
    })
    worker.on('error', (error) => this.#fail(error))
    worker.on('exit', () => {
      this.#hasEnded = true
      this.#fail(new Error('the thread that recovers keys has ended'))
    })
    return worker
  }

  #fail(error: Error): void {
    this.#isReady = true
    this.#failure ??= error
    for (const keys of this.#waiting) keys.reject(error)
    this.#waiting = []
  }
}
