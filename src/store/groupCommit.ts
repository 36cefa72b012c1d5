import type { RootDatabase } from 'lmdb'
import { type Deferred, defer } from '../primitives/deferred.js'
import { toStoreError } from './environment.js'

interface Item {
  readonly work: () => unknown
  readonly outcome: Deferred<unknown>
}

/** Pieces of work in one transaction: it holds the event loop for some milliseconds, and its flush serves them all. */
const groupMax = 256

/**
 * Writes that share their flush. While one transaction is on its way to the disk, work gathers for the next, so the
 * rate of writes is not bound by the time of a flush and the event loop never waits for the disk.
 */
export class GroupCommit {
  readonly #environment: RootDatabase
  readonly #path: string
  #waiting: Item[] = []
  #running = Promise.resolve()
  #isRunning = false

  constructor(environment: RootDatabase, path: string) {
    this.#environment = environment
    this.#path = path
  }

  /**
   * Runs `work` inside a transaction, after all work that came before it and seeing what that wrote. It has to be
   * synchronous, and may throw only before its first write. The promise settles when the transaction is on disk, and
   * rejects with what `work` threw, or where the commit failed: then nothing of its group is stored or visible.
   */
  run<T>(work: () => T): Promise<T> {
    const outcome = defer<unknown>()
    this.#waiting.push({ work, outcome })
    if (!this.#isRunning) {
      this.#isRunning = true
      this.#running = this.#commitAll()
    }
    return outcome.promise as Promise<T>
  }

  /** Resolves once nothing is under way. */
  async idle(): Promise<void> {
    while (this.#isRunning) await this.#running
  }

  async #commitAll(): Promise<void> {
    // What else arrives in this turn of the event loop belongs to the first group.
    await Promise.resolve()
    while (this.#waiting.length > 0) {
      const group = this.#waiting.splice(0, groupMax)
      const settlers: (() => void)[] = []
      try {
        await this.#environment.transaction(() => {
          for (const { work, outcome } of group) {
            try {
              const value = work()
              settlers.push(() => outcome.resolve(value))
            } catch (error) {
              settlers.push(() => outcome.reject(error as Error))
            }
          }
        })
      } catch (error) {
        const cause = toStoreError(await causeOf(error), this.#path)
        for (const { outcome } of group) outcome.reject(cause)
        continue
      }
      for (const settle of settlers) settle()
    }
    // At once, for whatever arrives from here on has to start anew.
    this.#isRunning = false
  }
}

/** lmdb-js rejects with an error that holds a promise, which is rejected with what happened. */
async function causeOf(error: unknown): Promise<unknown> {
  try {
    return (await (error as { commitError?: Promise<never> }).commitError) ?? error
  } catch (cause) {
    return cause
  }
}
