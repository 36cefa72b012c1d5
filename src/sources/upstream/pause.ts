/** Wait after a node asks for fewer requests without a time: the first and the maximum; doubled by each in a row. */
const firstMs = 250
const msMax = 4_000
/**
 * Maximum accepted time from a node: for the first request in a row, and then four times as long each, up to the
 * maximum. Some fronts give the time until the end of their daily quota, and yet answer the next request.
 */
const reportedMsFirst = 1_000
const reportedMsMax = 30_000

/** The pause that a node or its front has requested. */
export class Pause {
  #until = 0
  /** Number of requests for a pause in a row. */
  #times = 0

  get leftMs(): number {
    return Math.max(this.#until - performance.now(), 0)
  }

  /** Records a request for a pause of `ms`, or without a time. */
  begin(ms?: number): void {
    // Several running requests get the same refusal together.
    const isOn = this.leftMs > 0
    if (ms === undefined && isOn) return
    const times = isOn ? Math.max(this.#times - 1, 0) : this.#times++
    const lastsMs =
      ms !== undefined
        ? Math.min(ms, reportedMsFirst * 4 ** times, reportedMsMax)
        : Math.min(firstMs * 2 ** times, msMax)
    this.#until = Math.max(this.#until, performance.now() + lastsMs)
  }

  /**
   * Records an answer. It shows that the requested pause is too long; requests that run during a pause are answered,
   * too.
   */
  answered(): void {
    this.#times = 0
    this.#until = Math.min(this.#until, performance.now() + reportedMsFirst)
  }
}
