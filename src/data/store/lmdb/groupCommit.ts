import type { RootDatabase } from 'lmdb'
import { type Deferred, defer } from '../../../primitives/deferred.js'
import { FaultError } from '../../../primitives/faults.js'
import { assertRoom, causeOf, failedCommit, StoreError, toStoreError } from './environment.js'

interface Item {
  readonly work: () => unknown
  readonly outcome: Deferred<unknown>
}

/** Most pieces of work in one transaction, which blocks the event loop for some milliseconds. */
const groupMax = 256

/**
 * Writes that share a flush. While one transaction is flushed, work is collected for the next. So the time of a flush
 * does not limit the rate of writes, and the event loop never waits for the disk.
 */
export class GroupCommit {
  readonly #environment: RootDatabase
  readonly #path: string
  readonly #onFailure: (failure: StoreError) => void
  #waiting: Item[] = []
  #running = Promise.resolve()
  #isRunning = false
  /** Why the last transaction failed; undefined if it was stored. */
  #failure: StoreError | undefined
  /** Number of transactions on disk, and the time from their begin until then. */
  readonly #done = { count: 0, seconds: 0 }

  /** `onFailure` is called when a commit fails, unless the previous one failed too. */
  constructor(environment: RootDatabase, path: string, onFailure: (failure: StoreError) => void) {
    this.#environment = environment
    this.#path = path
    this.#onFailure = onFailure
  }

  get done(): { readonly count: number; readonly seconds: number } {
    return this.#done
  }

  /** Whether the last transaction was stored. */
  get isStoring(): boolean {
    return this.#failure === undefined
  }

  /**
   * Runs `work` inside a transaction, after all earlier work, whose writes it sees. It must be synchronous, and may
   * throw only before its first write. The promise settles when the transaction is on disk. The promise rejects with
   * the error of `work`, or with the fault NotStored if the commit failed. After a failed commit, no write of the group
   * is stored or visible. After a lasting failure every call is rejected in this way, at once.
   */
  run<T>(work: () => T): Promise<T> {
    if (this.#failure?.isLasting) return Promise.reject(notStored(this.#failure))
    const outcome = defer<unknown>()
    this.#waiting.push({ work, outcome })
    if (!this.#isRunning) {
      this.#isRunning = true
      this.#running = this.#commitAll()
    }
    return outcome.promise as Promise<T>
  }

  /** Resolves once no work is waiting or running. */
  async idle(): Promise<void> {
    while (this.#isRunning) await this.#running
  }

  async #commitAll(): Promise<void> {
    // Work that arrives in the same turn of the event loop joins the first group.
    await Promise.resolve()
    while (this.#waiting.length > 0) {
      const group = this.#waiting.splice(0, groupMax)
      const settlers: (() => void)[] = []
      try {
        assertRoom(this.#path)
        const begunMs = performance.now()
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
        this.#done.count++
        this.#done.seconds += (performance.now() - begunMs) / 1_000
      } catch (error) {
        const failure = await this.#failureOf(error)
        // After a lasting failure lmdb settles no promise.
        if (failure.isLasting) for (const one of this.#waiting.splice(0)) group.push(one)
        for (const { outcome } of group) outcome.reject(notStored(failure))
        continue
      }
      this.#failure = undefined
      for (const settle of settlers) settle()
    }
    // Cleared at once, because later work must start a new run.
    this.#isRunning = false
  }

  async #failureOf(error: unknown): Promise<StoreError> {
    const cause = await causeOf(error)
    const failure =
      cause instanceof StoreError
        ? cause
        : (toStoreError(cause, this.#environment, this.#path) ?? failedCommit(this.#path, cause))
    const isFirst = this.#failure === undefined || failure.isLasting
    this.#failure = failure
    if (isFirst) this.#onFailure(failure)
    return failure
  }
}

/** `retryAfterMs` of NotStored: a full disk may have room again by then. */
const retryAfterMs = 1000

export function notStored({ message }: StoreError): FaultError {
  return new FaultError({ kind: 'NotStored', retryAfterMs }, message)
}
