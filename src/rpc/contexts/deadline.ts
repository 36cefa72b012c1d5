import { setTimeout } from '../../primitives/timers.js'

/** The deadline of one request, with one timer for any number of promises. */
export class Deadline<T> {
  readonly #expired: Promise<T>
  readonly #timer: NodeJS.Timeout
  #hasPassed = false

  constructor(ms: number, late: T) {
    let expire: (value: T) => void = () => {}
    this.#expired = new Promise((resolve) => {
      expire = resolve
    })
    this.#timer = setTimeout(() => {
      this.#hasPassed = true
      expire(late)
    }, ms)
  }

  get hasPassed(): boolean {
    return this.#hasPassed
  }

  /** Resolves to the value of `promise`, or to `late` if the time is over first; later values are dropped. */
  race(promise: Promise<T>): Promise<T> {
    return Promise.race([promise, this.#expired])
  }

  clear(): void {
    clearTimeout(this.#timer)
  }
}
