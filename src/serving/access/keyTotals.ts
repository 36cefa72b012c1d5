/**
 * Calls, units, errors and refusals by key since the start, for metrics: the keys that spend most have counters of their
 * own, all others one. Each amount is added to exactly one counter, so that counters only grow. A key that leaves the
 * list loses its counter; when it returns, a new one begins at zero.
 */
import type { RefusedCalls } from './keyRefusals.js'
import type { UsedCalls } from './usageCounter.js'

interface Amounts {
  calls: number
  units: number
  errors: number
  refusals: number
}

export interface KeyTotal extends Readonly<Amounts> {
  /** Undefined for all other keys. */
  readonly keyId: string | undefined
}

/** Keys with counters of their own: four series each, which Prometheus stores for as long as it stores others. */
export const countedKeysMax = 50

/** Time between two choices of these keys. */
const chooseMs = 60_000

/** Keys whose units since the last choice are known, 0.1 KB each; units of further ones do not count in the choice. */
const candidatesMax = 10_000

export class KeyTotalsCounter {
  readonly #totals = new Map<string, Amounts>()
  readonly #others: Amounts = { calls: 0, units: 0, errors: 0, refusals: 0 }
  #recent = new Map<string, number>()
  #chosenMs = Number.NEGATIVE_INFINITY

  take(used: readonly UsedCalls[], refused: readonly RefusedCalls[], nowMs: number): void {
    for (const { keyId, units } of used) {
      const known = this.#recent.get(keyId)
      if (known !== undefined || this.#recent.size < candidatesMax)
        this.#recent.set(keyId, (known ?? 0) + units)
    }
    if (nowMs - this.#chosenMs >= chooseMs) this.#choose(nowMs)
    for (const { keyId, calls, units, errors } of used) {
      const total = this.#of(keyId)
      total.calls += calls
      total.units += units
      total.errors += errors
    }
    for (const { keyId, count } of refused) this.#of(keyId).refusals += count
  }

  read(): KeyTotal[] {
    const own = [...this.#totals].map(([keyId, amounts]) => ({ keyId, ...amounts }))
    return [...own, { keyId: undefined, ...this.#others }]
  }

  /** The counters of a key; a new key gets its own while there is room. */
  #of(keyId: string): Amounts {
    const known = this.#totals.get(keyId)
    if (known !== undefined) return known
    if (this.#totals.size >= countedKeysMax) return this.#others
    const total = { calls: 0, units: 0, errors: 0, refusals: 0 }
    this.#totals.set(keyId, total)
    return total
  }

  /** Drops the keys that are not among those that spent most since the last choice, if others need their place. */
  #choose(nowMs: number): void {
    const ranked = [...this.#recent].sort(([, a], [, b]) => b - a).slice(0, countedKeysMax)
    const newcomers = ranked.filter(([keyId]) => !this.#totals.has(keyId)).length
    const names = new Set(ranked.map(([keyId]) => keyId))
    const idle = [...this.#totals.keys()].filter((keyId) => !names.has(keyId))
    const free = countedKeysMax - this.#totals.size
    for (const keyId of idle.slice(0, Math.max(newcomers - free, 0))) this.#totals.delete(keyId)
    this.#recent = new Map()
    this.#chosenMs = nowMs
  }
}
