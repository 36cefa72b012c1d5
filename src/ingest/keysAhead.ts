/**
 * Reads blocks ahead of their execution and has the public keys of their transactions recovered meanwhile, on a
 * thread of its own. Who executes never waits for it, but takes what it has found and recovers the rest. Owns that
 * thread and how far ahead it works.
 */
import { availableParallelism } from 'node:os'
import { Worker } from 'node:worker_threads'
import { headerHash } from '../chain/header.js'
import { type Deferred, defer } from '../primitives/deferred.js'
import { rlpSpanAt } from '../primitives/rlp.js'
import type { ChainWriter } from '../store/chainWriter.js'
import type { FileBlock } from './chainFile.js'

const threadUrl = new URL('../../workers/recover.js', import.meta.url)

/**
 * Most that is read ahead, so that memory does not grow with a slow execution: some blocks of a busy chain, 10 to
 * 200 KB each, of which one takes the thread up to 50 ms; at least one, however long.
 */
const bytesAheadMax = 4 * 1024 * 1024
const blocksAheadMax = 64
/** The thread takes as long to load as keys of some 3,000 transactions take to be recovered, 100 bytes each and more. */
const bytesBeforeThread = 512 * 1024

export interface BlockWithKeys extends FileBlock {
  /**
   * Takes what the thread has found of the block, in {@link RecoveredKeys}' records: all of it if the thread had
   * time, and what it has at once if not. Undefined where nobody looks. Rejects where the thread has failed.
   */
  readonly takeKeys: (() => Promise<Uint8Array>) | undefined
}

/** To the thread, many at a time, because a message takes up to 0.5 ms to send: a block, counted from 1. */
export interface RecoveryTask {
  readonly index: number
  readonly rlp: Uint8Array
}

/** What the thread says first; then only keys. */
export type RecoveryReady = 'ready'

/**
 * The same blocks in the same order, each with its keys on the way, unless the store has it already or the thread is
 * still loading. What `blocks` throws comes after the blocks before it. On one core, where nothing is gained, no
 * thread is started, nor before `bytesBefore` bytes of blocks were there to be executed.
 */
export async function* withKeysAhead(
  blocks: AsyncGenerator<FileBlock>,
  store: ChainWriter,
  bytesBefore = bytesBeforeThread,
): AsyncGenerator<BlockWithKeys> {
  const recovery = availableParallelism() > 1 ? new RecoveryThread() : undefined
  const ahead: BlockWithKeys[] = []
  let bytesAhead = 0
  let bytesWanted = 0
  let isRead = false
  let failure: unknown
  try {
    for (;;) {
      const blocksMax = recovery?.isReady === true ? blocksAheadMax : 1
      // Only once half of it is used, so that many are sent at a time.
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

/** Whether the block need not be executed; also true of what is no block. */
function isKnown(rlp: Uint8Array, store: ChainWriter): boolean {
  try {
    const { payload } = rlpSpanAt(rlp, 0)
    return store.hasHeader(headerHash(rlp.subarray(payload, rlpSpanAt(rlp, payload).end)))
  } catch {
    return true
  }
}

/** The thread, started by its first block. It takes 100 ms to load; who waited for it would lose them. */
class RecoveryThread {
  #worker: Worker | undefined
  #isReady = false
  #failure: Error | undefined
  /** One for each block that it has not answered, in order. */
  #waiting: Deferred<Uint8Array>[] = []
  #unsent: RecoveryTask[] = []
  #blocks = 0
  /** Index of the block whose execution begins: of it and those before the thread looks for no more keys. */
  readonly #wanted = new Int32Array(new SharedArrayBuffer(4))

  get isReady(): boolean {
    return this.#isReady
  }

  /**
   * Has a block recovered from the next {@link send} on, whose keys the caller takes by the function; undefined before
   * the thread is ready.
   */
  recover(rlp: Uint8Array): (() => Promise<Uint8Array>) | undefined {
    this.#worker ??= this.#start()
    if (!this.#isReady) return undefined
    const index = ++this.#blocks
    const keys = defer<Uint8Array>()
    // A failure is reported at the block that needs them, if it is ever reached.
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

  async close(): Promise<void> {
    await this.#worker?.terminate()
  }

  #start(): Worker {
    const worker = new Worker(threadUrl, { workerData: this.#wanted })
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
    return worker
  }
}
