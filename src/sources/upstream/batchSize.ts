/**
 * Calls in one batch, as nodes and their fronts take them: one alone, of free tiers a few, of most hosted nodes a
 * hundred, of go-ethereum a thousand.
 */
const sizes = [1, 3, 10, 100, 1_000] as const
/** How long a size that was refused is not tried; then its operator may have changed it. */
const rememberedMs = 600_000

/** How many calls a node takes in one batch, as its refusals said. */
export class BatchSize {
  #at = sizes.length - 1
  #refusedAt = 0
  /** Calls of the last batch for which the node was busy; 0 where one as long was answered since. */
  #busyAt = 0

  get max(): number {
    const now = performance.now()
    if (this.#at < sizes.length - 1 && now - this.#refusedAt > rememberedMs) {
      this.#at++
      this.#refusedAt = now
    }
    return sizes[this.#at] as number
  }

  answered(calls: number): void {
    if (calls >= this.#busyAt) this.#busyAt = 0
  }

  /** The node was busy, perhaps because so many are too many: it is so for the second time in a row. */
  busy(calls: number): void {
    if (calls < 2) return
    if (this.#busyAt > 0) this.refused(calls)
    this.#busyAt = calls
  }

  /** So many, at least two, are too many. */
  refused(calls: number): void {
    this.#refusedAt = performance.now()
    while (this.#at > 0 && (sizes[this.#at] as number) >= calls) this.#at--
  }
}
