/**
 * Batch sizes that nodes and their fronts accept: some only one call, free tiers a few, most hosted nodes a hundred,
 * go-ethereum a thousand.
 */
const sizes = [1, 3, 10, 100, 1_000] as const
/** Time after which a refused size is tried again; its operator may have changed the limit. */
const rememberedMs = 600_000

/** The maximum batch size of a node, learned from its refusals. */
export class BatchSize {
  #at = sizes.length - 1
  #refusedAt = 0
  /** Calls of the last batch for which the node was busy; 0 if a batch of this size was answered since. */
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

  /**
   * Records that the node was busy, possibly because of the batch size: the second time in a row counts as a refusal.
   */
  busy(calls: number): void {
    if (calls < 2) return
    if (this.#busyAt > 0) this.refused(calls)
    this.#busyAt = calls
  }

  /** Records that a batch of so many calls, at least two, is too large. */
  refused(calls: number): void {
    this.#refusedAt = performance.now()
    while (this.#at > 0 && (sizes[this.#at] as number) >= calls) this.#at--
  }
}
