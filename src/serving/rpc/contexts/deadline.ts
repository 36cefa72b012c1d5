import { defer } from '../../../primitives/deferred.js'
import { setTimeout } from '../../../primitives/timers.js'

/** The deadline of one request, with one timer for any number of promises. */
export class Deadline<T> {
  readonly #expired = defer<T>()
  readonly #timer: NodeJS.Timeout
  #hasPassed = false

  constructor(ms: number, late: T) {
    this.#timer = setTimeout(() => {
      this.#hasPassed = true
      this.#expired.resolve(late)
    }, ms)
  }

  get hasPassed(): boolean {
    return this.#hasPassed
  }

  /** Resolves to the value of `promise`, or to `late` if the deadline passes first; later values are dropped. */
  race(promise: Promise<T>): Promise<T> {
    return Promise.race([promise, this.#expired.promise])
  }

  clear(): void {
    clearTimeout(this.#timer)
  }
}
