/**
 * Reads blocks ahead of their execution. Meanwhile another thread recovers the public keys of their transactions, and
 * reads the state that they will need. Execution never waits for it, but uses the keys found so far and recovers the
 * rest. Owns that thread and how far ahead it works.
 */
import { availableParallelism } from 'node:os'
import { Worker } from 'node:worker_threads'
import { headerHash } from '../../../data/chain/header.js'
import type { ChainWriter } from '../../../data/store/chainWriter.js'
import { type Deferred, defer } from '../../../primitives/deferred.js'
import { startedUrl } from '../../../primitives/packageRoot.js'
import { rlpSpanAt } from '../../../primitives/rlp.js'
import type { Block } from './block.js'

/**
 * Most bytes read ahead, so that slow execution does not fill the memory. Blocks of a busy chain have 10 to 200 KB, and
 * the thread needs up to 50 ms for each. At least one block is read, of any size.
 */
const bytesAheadMax = 4 * 1024 * 1024
const blocksAheadMax = 64
/**
 * Bytes of blocks that justify starting the thread: loading it takes as long as recovering the keys of 3,000
 * transactions.
 */
export const bytesWorthThread = 512 * 1024

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

/** The thread's first message; all others are keys. */
export type RecoveryReady = 'ready'

/** The last message to the thread. */
export type RecoveryEnd = 'end'

/**
 * Yields the same blocks in the same order, each with a running recovery of its keys. A stored block has none, and no
 * block has one while the thread is still loading. If `blocks` throws, earlier blocks are yielded first. No thread is
 * started on one core, nor before `bytesBefore` bytes of blocks; pass 0 if many blocks will come.
 */
export async function* withKeysAhead<B extends { readonly rlp: Uint8Array }>(
  blocks: AsyncGenerator<B>,
  store: ChainWriter,
  bytesBefore = bytesWorthThread,
): AsyncGenerator<B & { readonly takeKeys: TakeKeys }> {
  const recovery = availableParallelism() > 1 ? new RecoveryThread(store.path) : undefined
  const ahead: (B & { readonly takeKeys: TakeKeys })[] = []
  let bytesAhead = 0
  let bytesWanted = 0
  let isRead = false
  let failure: unknown
  try {
    for (;;) {
      const blocksMax = recovery?.isReady === true ? blocksAheadMax : 1
      // The queue is refilled only when half of it is used, so that one message has many blocks.
      const isLow = ahead.length <= blocksMax / 2 && bytesAhead <= bytesAheadMax / 2
      while (isLow && !isRead && bytesAhead < bytesAheadMax && ahead.length < blocksMax) {
        try {
          const { value, done } = await blocks.next()
          if (done === true) isRead = true
          else {
            const isWanted = recovery !== undefined && !isKnown(value.rlp, store)
            if (isWanted) bytesWanted += value.rlp.length
            const isSent = isWanted && bytesWanted > bytesBefore
            ahead.push({ ...value, takeKeys: isSent ? recovery.recover(value.rlp) : undefined })
            bytesAhead += value.rlp.length
          }
        } catch (error) {
          failure = error
          isRead = true
        }
      }
      recovery?.send()
      const next = ahead.shift()
      if (next === undefined) break
      bytesAhead -= next.rlp.length
      yield next
    }
    if (failure !== undefined) throw failure
  } finally {
    await blocks.return(undefined)
    await recovery?.close()
  }
}

/** Whether the block need not be executed; also true for an invalid block. */
function isKnown(rlp: Uint8Array, store: ChainWriter): boolean {
  try {
    const { payload } = rlpSpanAt(rlp, 0)
    return store.hasHeader(headerHash(rlp.subarray(payload, rlpSpanAt(rlp, payload).end)))
  } catch {
    return true
  }
}

/** The thread, started by its first block. No block waits for the 100 ms in which it loads. */
class RecoveryThread {
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
    worker.on('error', (error) => {
      this.#isReady = true
      this.#failure = error
      for (const keys of this.#waiting) keys.reject(error)
      this.#waiting = []
    })
    worker.on('exit', () => {
      this.#hasEnded = true
    })
    return worker
  }
}
