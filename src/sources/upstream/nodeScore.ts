/** Latencies kept per node: p95 then rests on five of them. */
const samplesMax = 100
/** With fewer samples the p95 says little. */
const samplesMin = 5
/** Share of the newest outcome in the share of errors: the last twenty or so count. */
const newestShare = 0.1
/** Lies that are remembered in words. */
const liesMax = 8
/** What is taken for the latency of a node that was never asked. */
const unknownLatencyMs = 50

/** How a node has behaved: the latencies of its answers, its errors, and its lies. */
export class NodeScore {
  readonly #latencies: number[] = []
  #next = 0
  /** From 0 to 1; recent outcomes count most. */
  #errorShare = 0
  readonly #lies: string[] = []
  /** Exchanges that were answered, the time these took, and those that failed. A batch is one. */
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

  /** The last ones, each in a few words, oldest first. */
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
   * What asking this node costs, lowest best: its median latency in ms, times 1 to 21 for its errors, times the blocks
   * that its head is behind the highest known, plus one.
   */
  cost(blocksBehind: number): number {
    return (this.quantile(0.5) ?? unknownLatencyMs) * (1 + 20 * this.#errorShare) * (1 + blocksBehind)
  }
}
