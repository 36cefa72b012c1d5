/** The allowed requests per second to a node: a bucket with the requests of one second. */
export class Budget {
  readonly #perSecond: number
  #left: number
  #countedAt = performance.now()

  /** `perSecond` is Infinity for no limit. */
  constructor(perSecond: number) {
    this.#perSecond = perSecond
    this.#left = Math.max(perSecond, 1)
  }

  /** Time in ms until one request is allowed; 0 for now. */
  waitMs(): number {
    this.#refill()
    return this.#left >= 1 ? 0 : ((1 - this.#left) / this.#perSecond) * 1_000
  }

  /** Spends one request; false if none is left. */
  take(): boolean {
    this.#refill()
    if (this.#left < 1) return false
    this.#left--
    return true
  }

  #refill(): void {
    if (this.#perSecond === Infinity) return
    const now = performance.now()
    this.#left = Math.min(
      Math.max(this.#perSecond, 1),
      this.#left + ((now - this.#countedAt) / 1_000) * this.#perSecond,
    )
    this.#countedAt = now
  }
}
