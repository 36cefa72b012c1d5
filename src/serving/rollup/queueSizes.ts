/**
 * Sizes of a queue, for all keys and for each, and the share of one key in a resource that all keys use. Places stay
 * taken, so a key gets only a part of those that the others leave, and the next key finds some. Records can be removed
 * early, so the keys with the most lose theirs first.
 */
import { isSettled, nobody, type SubmissionRow } from '../../data/store/node/submissions.js'

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

/**
 * Whether a key that has `own` of `max` places may take `more`; all keys together have `total`. `share` is its part of
 * the places that the others leave, 0 to 1. Without API keys the share does not apply.
 */
export function mayTake(
  key: string,
  { own, total, more, max, share }: Readonly<Record<'own' | 'total' | 'more' | 'max' | 'share', number>>,
): boolean {
  if (total + more > max) return false
  // A single place always fits: a share of few places is less than one.
  return key === nobody || own === 0 || own + more <= share * (max - (total - own))
}

/** The number of records that each key loses, so that `max` are left. */
export function recordsBeyond(settled: ReadonlyMap<string, number>, max: number): Map<string, number> {
  const counts = [...settled].sort(([, a], [, b]) => a - b)
  const beyond = new Map<string, number>()
  let left = max
  for (const [index, [key, count]] of counts.entries()) {
    const kept = Math.min(count, Math.floor(left / (counts.length - index)))
    if (kept < count) beyond.set(key, count - kept)
    left -= kept
  }
  return beyond
}
