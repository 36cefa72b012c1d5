/** Sizes of a queue, for all keys and for each. Owns the sums; `keyShare.ts` decides the share of a key. */
import { isSettled, type SubmissionRow } from '../../data/store/node/submissions.js'

export interface Sizes {
  /** Unsettled transactions, and their bytes as JSON. */
  readonly waiting: number
  readonly waitingBytes: number
  readonly settled: number
}

const none: Sizes = { waiting: 0, waitingBytes: 0, settled: 0 }

export class QueueSizes {
  #total: Sizes
  readonly #ofKeys: Map<string, Sizes>

  constructor(total: Sizes = none, ofKeys: Iterable<readonly [key: string, sizes: Sizes]> = []) {
    this.#total = total
    this.#ofKeys = new Map(ofKeys)
  }

  get total(): Sizes {
    return this.#total
  }

  of(key: string): Sizes {
    return this.#ofKeys.get(key) ?? none
  }

  /** Keys with settled transactions, and their number. */
  get settled(): ReadonlyMap<string, number> {
    const counts = [...this.#ofKeys].map(([key, { settled }]) => [key, settled] as const)
    return new Map(counts.filter(([, settled]) => settled > 0))
  }

  /** Adds `count` rows like this one; a negative `count` subtracts them. */
  count({ key, state, bodyBytes }: Pick<SubmissionRow, 'key' | 'state' | 'bodyBytes'>, count: number): void {
    const change = isSettled(state)
      ? { waiting: 0, waitingBytes: 0, settled: count }
      : { waiting: count, waitingBytes: count * bodyBytes, settled: 0 }
    this.#total = sum(this.#total, change)
    const ofKey = sum(this.of(key), change)
    if (ofKey.waiting === 0 && ofKey.settled === 0) this.#ofKeys.delete(key)
    else this.#ofKeys.set(key, ofKey)
  }
}

function sum(a: Sizes, b: Sizes): Sizes {
  return {
    waiting: a.waiting + b.waiting,
    waitingBytes: a.waitingBytes + b.waitingBytes,
    settled: a.settled + b.settled,
  }
}
