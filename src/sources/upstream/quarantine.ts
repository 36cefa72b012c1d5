/** How long a liar is not asked after its first lie, and at most; doubled by each further lie. */
const firstMs = 5_000
const msMax = 3_600_000
/** How long it has to be asked again without a lie for one doubling to be forgiven. Ten of them make an hour. */
const forgiveMs = 60_000

/** How long a node that lied is not asked. */
export class Quarantine {
  #until = 0
  /** Lies that were not forgiven when it was accused last, that one among them. */
  #offences = 0

  get isOn(): boolean {
    return performance.now() < this.#until
  }

  /** Lies that are not forgiven yet. */
  get offences(): number {
    const cleanMs = Math.max(performance.now() - this.#until, 0)
    return Math.max(this.#offences - Math.floor(cleanMs / forgiveMs), 0)
  }

  /** Begins after a lie; returns for how long, in ms. */
  begin(): number {
    const { offences } = this
    const ms = Math.min(firstMs * 2 ** offences, msMax)
    this.#offences = offences + 1
    this.#until = performance.now() + ms
    return ms
  }
}
