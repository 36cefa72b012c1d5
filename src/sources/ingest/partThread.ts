/**
 * The thread that runs parts of blocks beside an ingest thread (evm/blocks/executeInParts.ts). Owns its start, which
 * nobody waits for, and its end.
 */
import { availableParallelism } from 'node:os'
import { Worker } from 'node:worker_threads'
import type { PartsTask } from '../../execution/evm/blocks/blockPart.js'
import type { PartThread as Parts } from '../../execution/evm/blocks/executeInParts.js'
import { startedUrl } from '../../primitives/builtFile.js'
import { type Deferred, defer } from '../../primitives/deferred.js'

export interface PartThreadData {
  /** The chain's forks, as the store's identity has them. */
  readonly config: string
  readonly taken: Int32Array
}

/** The thread's first message is "ready"; each one after it answers a task. */
export type PartThreadMessage = 'ready' | Uint8Array | { readonly failed: string }

/** Messages there and back take as long as this much gas of common contracts: 0.3 ms. */
const gasMin = 1_000_000n
/**
 * Least gas of a block's average transaction. What surrounds a transfer, of ether or of a token (45,000), takes longer than
 * its instructions: in two parts the importer's thread had 0.85 of the work, and both together 1.2 times as much.
 */
const transactionGasMin = 75_000n

/** Starts with the first block that could use it, where there is a core for it. A failed one is not started again. */
export class PartWorker implements Parts {
  readonly taken = new Int32Array(new SharedArrayBuffer(4))
  readonly #config: string
  #worker: Worker | undefined
  #state: 'none' | 'loading' | 'ready' | 'ended' = availableParallelism() > 1 ? 'none' : 'ended'
  /** The one task at a time. */
  #waiting: Deferred<Uint8Array> | undefined

  constructor(identity: { readonly config: string }) {
    this.#config = identity.config
  }

  isWorth(gasUsed: bigint, transactions: number): boolean {
    return gasUsed >= gasMin && gasUsed >= transactionGasMin * BigInt(transactions)
  }

  get run(): ((task: PartsTask) => Promise<Uint8Array>) | undefined {
    if (this.#state === 'none') this.#start()
    return this.#state === 'ready' ? this.#run : undefined
  }

  async close(): Promise<void> {
    this.#end(new Error('the thread for parts of blocks was closed'))
    await this.#worker?.terminate()
  }

  readonly #run = (task: PartsTask): Promise<Uint8Array> => {
    const waiting = defer<Uint8Array>()
    this.#waiting = waiting
    this.#worker?.postMessage(task)
    return waiting.promise
  }

  #start(): void {
    this.#state = 'loading'
    const workerData: PartThreadData = { config: this.#config, taken: this.taken }
    const worker = new Worker(startedUrl('runParts'), { workerData })
    worker.on('message', (message: PartThreadMessage) => {
      if (message === 'ready') this.#state = 'ready'
      else if (message instanceof Uint8Array) this.#waiting?.resolve(message)
      else this.#waiting?.reject(new Error(message.failed))
    })
    worker.on('error', (error) => this.#end(error))
    worker.on('exit', () => this.#end(new Error('the thread for parts of blocks has ended')))
    this.#worker = worker
  }

  #end(error: Error): void {
    this.#state = 'ended'
    this.#waiting?.reject(error)
  }
}
