import type { RootDatabase } from 'lmdb'
import { type Deferred, defer } from '../primitives/deferred.js'
import { FaultError } from '../primitives/faults.js'
import { assertRoom, errorText, StoreError, toStoreError } from './environment.js'

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
  readonly #onFailure: (failure: StoreError) => void
  #waiting: Item[] = []
  #running = Promise.resolve()
  #isRunning = false
  /** Why the last transaction was not stored; undefined where it was. */
  #failure: StoreError | undefined

  /** `onFailure` is called for the first commit that fails, and for the first one after a commit that did not. */
  constructor(environment: RootDatabase, path: string, onFailure: (failure: StoreError) => void) {
    this.#environment = environment
    this.#path = path
    this.#onFailure = onFailure
  }

  /** Whether the last transaction was stored. */
  get isStoring(): boolean {
    return this.#failure === undefined
  }

  /**
   * Runs `work` inside a transaction, after all work that came before it and seeing what that wrote. It has to be
   * synchronous, and may throw only before its first write. The promise settles when the transaction is on disk, and
   * rejects with what `work` threw, or with the fault NotStored where the commit failed: then nothing of its group is
   * stored or visible. After a failure that lasts everything is rejected so, at once.
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
        assertRoom(this.#path)
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
        const failure = await this.#failureOf(error)
        // lmdb settles nothing any more after a failure that lasts.
        if (failure.isLasting) group.push(...this.#waiting.splice(0))
        for (const { outcome } of group) outcome.reject(notStored(failure))
        continue
      }
      this.#failure = undefined
      for (const settle of settlers) settle()
    }
    // At once, for whatever arrives from here on has to start anew.
    this.#isRunning = false
  }

  async #failureOf(error: unknown): Promise<StoreError> {
    const cause = await causeOf(error)
    const failure =
      cause instanceof StoreError
        ? cause
        : (toStoreError(cause, this.#environment, this.#path) ??
          new StoreError(`the store ${this.#path} failed a commit: ${errorText(cause)}`, true))
    const isFirst = this.#failure === undefined || failure.isLasting
    this.#failure = failure
    if (isFirst) this.#onFailure(failure)
    return failure
  }
}

/** A disk that was full may have room again after this time. */
const retryAfterMs = 1000

function notStored({ message }: StoreError): FaultError {
  return new FaultError({ kind: 'NotStored', retryAfterMs }, message)
}

/** lmdb-js rejects with an error that holds a promise, which is rejected with what happened. */
async function causeOf(error: unknown): Promise<unknown> {
  try {
    return (await (error as { commitError?: Promise<never> }).commitError) ?? error
  } catch (cause) {
    return cause
  }
}
