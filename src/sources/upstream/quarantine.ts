/** Time for which a node is not asked after its first lie, and the maximum; doubled by each further lie. */
const firstMs = 5_000
const msMax = 3_600_000
/** Time without a lie, after the quarantine, that forgives one doubling. Ten doublings make an hour. */
const forgiveMs = 60_000

export class Quarantine {
  #until = 0
  /** Unforgiven lies at the last accusation, including that one. */
  #offences = 0

  get isOn(): boolean {
    return performance.now() < this.#until
  }

  /** Lies that are not forgiven yet. */
  get offences(): number {
    const cleanMs = Math.max(performance.now() - this.#until, 0)
    return Math.max(this.#offences - Math.floor(cleanMs / forgiveMs), 0)
  }

  /** Begins a quarantine after a lie; returns its length in ms. */
  begin(): number {
    const { offences } = this
    const ms = Math.min(firstMs * 2 ** offences, msMax)
    this.#offences = offences + 1
    this.#until = performance.now() + ms
    return ms
  }
}
