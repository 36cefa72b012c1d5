/** The time that all waiting of one request shares, with one timer however many promises are raced against it. */
export class Deadline<T> {
  readonly #expired: Promise<T>
  readonly #timer: NodeJS.Timeout
  #hasPassed = false

  /** `late` stands for whatever is not there after `ms`. */
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

  /** What `promise` resolves to, or `late` once the time is over. What comes later is dropped. */
  race(promise: Promise<T>): Promise<T> {
    return Promise.race([promise, this.#expired])
  }

  clear(): void {
    clearTimeout(this.#timer)
  }
}
