import type { SearchPlace } from '../../../primitives/notStored.js'

/** Time between two log lines about a search, and before the first: most searches fetch for less time. */
const lineMs = 5_000

/** A search without missing data for this time is over; one batch of receipts may take nearly as long. */
const endMs = 60_000

/** Logs the progress of long searches that fetch receipts, because their callers see nothing until the end. */
export class SearchProgress {
  readonly #log: (text: string) => void
  readonly #nowMs: () => number
  /** Range → time of the last due line, and of the last missing data. Contains the searches within {@link endMs}. */
  readonly #searches = new Map<string, { dueMs: number; newestMs: number }>()

  constructor(log: (text: string) => void, nowMs = () => performance.now()) {
    this.#log = log
    this.#nowMs = nowMs
  }

  /** Call this whenever a search lacks receipts. */
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
