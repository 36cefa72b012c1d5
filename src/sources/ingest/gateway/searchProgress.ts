import type { SearchPlace } from '../../../primitives/notHeld.js'

/** Between two lines about a search, and before the first: most fetch for less. */
const lineMs = 5_000

/** A search that lacks nothing more for so long is over; one batch of receipts may take nearly as long. */
const endMs = 60_000

/** Says in the log where searches stand that fetch receipts for long, as their callers see nothing until the end. */
export class SearchProgress {
  readonly #log: (text: string) => void
  readonly #nowMs: () => number
  /** By its range: when a line was last due, and when it lacked something last. As many as run in {@link endMs}. */
  readonly #searches = new Map<string, { dueMs: number; newestMs: number }>()

  constructor(log: (text: string) => void, nowMs = () => performance.now()) {
    this.#log = log
    this.#nowMs = nowMs
  }

  /** To be called whenever a search lacks receipts. */
  note({ number, first, last }: SearchPlace): void {
    const nowMs = this.#nowMs()
    for (const [range, { newestMs }] of this.#searches) {
      if (nowMs - newestMs > endMs) this.#searches.delete(range)
    }
    const range = `${first} to ${last}`
    const search = this.#searches.get(range) ?? { dueMs: nowMs, newestMs: nowMs }
    this.#searches.set(range, search)
    search.newestMs = nowMs
    if (nowMs - search.dueMs < lineMs) return
    search.dueMs = nowMs
    this.#log(
      `a search for logs in blocks ${range} is at block ${number}; it fetches receipts, which stay for later searches`,
    )
  }
}
