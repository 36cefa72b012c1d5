/**
 * Rates of the last hour, a point each ten seconds, and what keys spent meanwhile: so that a page that is opened shows
 * what was before. Kept in memory alone.
 */
import { type RecentRates, windowTicks } from './recentCalls.js'
import { sumOf } from './sumCounts.js'

/** An hour of points: what an operator who was called looks back on, 200 KB of memory with ten keys in each. */
const pointsMax = 360
/** Keys of which a point knows what they spent; the others count together, so that thousands of keys take no more. */
const keysPerPoint = 10
/** Keys that are told apart in what is read: lines that can be told apart in a chart. */
const keysToldMax = 4

interface HistoryPoint {
  /** Milliseconds since 1970. */
  readonly atMs: number
  /** Over the time since the point before, as all that follows. */
  readonly callsPerSecond: number
  readonly errorsPerSecond: number
  readonly rejectionsPerSecond: number
  /** Of timed calls; undefined where there are none. */
  readonly p50Seconds: number | undefined
  readonly p99Seconds: number | undefined
}

interface KeyHistory {
  /** Undefined for all other keys together. */
  readonly keyId: string | undefined
  /** Units a second, for each point. */
  readonly unitsPerSecond: readonly number[]
}

interface KeptPoint extends HistoryPoint {
  /** Of keys that spent most, most first. */
  readonly units: ReadonlyMap<string, number>
  readonly otherUnits: number
}

export class CallHistory {
  readonly #nowMs: () => number
  #points: KeptPoint[] = []
  #ticks = 0
  /** Units by key since the last point. */
  #spent = new Map<string, number>()

  /** `nowMs`: milliseconds since 1970. */
  constructor(nowMs: () => number = Date.now) {
    this.#nowMs = nowMs
  }

  take(used: readonly { readonly keyId: string; readonly units: number }[]): void {
    for (const { keyId, units } of used) this.#spent.set(keyId, (this.#spent.get(keyId) ?? 0) + units)
  }

  /** Call it after each sample of the rates: the first makes a point, and then every one that ends a window. */
  tick(read: () => RecentRates): void {
    if (this.#ticks++ % windowTicks !== 0) return
    const { methods, errors, rejections, p50Seconds, p99Seconds } = read()
    const ranked = [...this.#spent].sort(([, a], [, b]) => b - a)
    this.#spent = new Map()
    this.#points.push({
      atMs: this.#nowMs(),
      callsPerSecond: sumOf(methods.map(({ callsPerSecond }) => callsPerSecond)),
      errorsPerSecond: sumOf(errors.map(({ perSecond }) => perSecond)),
      rejectionsPerSecond: sumOf(rejections.map(({ perSecond }) => perSecond)),
      p50Seconds,
      p99Seconds,
      units: new Map(ranked.slice(0, keysPerPoint)),
      otherUnits: sumOf(ranked.slice(keysPerPoint).map(([, units]) => units)),
    })
    if (this.#points.length > pointsMax) this.#points.shift()
  }

  /** Oldest first. */
  get points(): readonly HistoryPoint[] {
    return this.#points
  }

  /** The keys that spent most in all points, most first, and all others together where they spent any. */
  readKeys(): KeyHistory[] {
    const totals = new Map<string, number>()
    for (const { units } of this.#points) {
      for (const [keyId, spent] of units) totals.set(keyId, (totals.get(keyId) ?? 0) + spent)
    }
    const told = [...totals].sort(([, a], [, b]) => b - a).slice(0, keysToldMax)
    const lines = told.map(([keyId]) => this.#line(keyId, ({ units }) => units.get(keyId) ?? 0))
    const isTold = new Set(told.map(([keyId]) => keyId))
    const others = this.#line(
      undefined,
      ({ units, otherUnits }) =>
        otherUnits + sumOf([...units].map(([keyId, spent]) => (isTold.has(keyId) ? 0 : spent))),
    )
    return others.unitsPerSecond.some((units) => units > 0) ? [...lines, others] : lines
  }

  #line(keyId: string | undefined, unitsOf: (point: KeptPoint) => number): KeyHistory {
    const unitsPerSecond = this.#points.map((point, at) => {
      const before = this.#points[at - 1]
      return before === undefined ? 0 : unitsOf(point) / Math.max((point.atMs - before.atMs) / 1_000, 1)
    })
    return { keyId, unitsPerSecond }
  }
}
