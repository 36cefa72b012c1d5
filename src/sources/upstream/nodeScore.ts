/** Latencies stored per node: five of them are above the p95. */
const samplesMax = 100
/** With fewer samples the p95 means little. */
const samplesMin = 5
/** Weight of the newest outcome in the error share: about the last twenty count. */
const newestShare = 0.1
/** Maximum descriptions of lies in memory. */
const liesMax = 8
/** Assumed latency of a node that was never asked. */
const unknownLatencyMs = 50

/** How a node has behaved: the latencies of its answers, its errors, and its lies. */
export class NodeScore {
  readonly #latencies: number[] = []
  #next = 0
  /** From 0 to 1; recent outcomes count most. */
  #errorShare = 0
  readonly #lies: string[] = []
  /** Answered exchanges, their total time, and failed exchanges. A batch is one exchange. */
  readonly totals = { answered: 0, seconds: 0, failed: 0, lies: 0 }

  answered(latencyMs: number): void {
    this.#latencies[this.#next] = latencyMs
    this.#next = (this.#next + 1) % samplesMax
    this.#errorShare *= 1 - newestShare
    this.totals.answered++
    this.totals.seconds += latencyMs / 1_000
  }

  failed(): void {
    this.#errorShare += newestShare * (1 - this.#errorShare)
    this.totals.failed++
  }

  lied(what: string): void {
    this.totals.lies++
    this.#lies.push(what)
    if (this.#lies.length > liesMax) this.#lies.shift()
  }

  /** Descriptions of the last lies, oldest first. */
  get lies(): readonly string[] {
    return this.#lies
  }

  /** Latency in ms that the given share of answers does not exceed; undefined while too few are known. */
  quantile(share: number): number | undefined {
    const count = this.#latencies.length
    if (count < samplesMin) return undefined
    const sorted = [...this.#latencies].sort((a, b) => a - b)
    return sorted[Math.min(count - 1, Math.floor(share * count))]
  }

  /**
   * The cost of asking this node; the lowest is best. Its median latency in ms, times 1 to 21 for its errors, times one
   * plus its lag. The lag is the number of blocks behind the highest known head.
   */
  cost(blocksBehind: number): number {
    return (this.quantile(0.5) ?? unknownLatencyMs) * (1 + 20 * this.#errorShare) * (1 + blocksBehind)
  }
}
