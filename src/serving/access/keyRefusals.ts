/** Calls and requests of keys that were refused in the last hour, and why. */

/** Refusals of one key for one reason since the last report of an edge. */
export interface RefusedCalls {
  readonly keyId: string
  readonly reason: string
  readonly count: number
  /** The text of the last one, without secrets. */
  readonly why: string
}

export interface KeyRefusal extends RefusedCalls {
  /** Time of the last one, in milliseconds since 1970. */
  readonly atMs: number
}

/** Minutes whose refusals are known. */
const minutesMax = 60
const minuteMs = 60_000

/** Keys and reasons of one minute: 1,000 take 0.3 MB, so an hour at most 20 MB. Later ones of the minute are dropped. */
const entriesPerMinute = 1_000

export class KeyRefusals {
  /** Minute → key and reason → refusals. Oldest first. */
  readonly #minutes = new Map<number, Map<string, KeyRefusal>>()

  take(refused: readonly RefusedCalls[], nowMs: number): void {
    if (refused.length === 0) return
    const minute = Math.floor(nowMs / minuteMs)
    const entries = this.#minutes.get(minute) ?? new Map<string, KeyRefusal>()
    this.#minutes.set(minute, entries)
    for (const old of this.#minutes.keys()) if (old <= minute - minutesMax) this.#minutes.delete(old)
    for (const found of refused) add(entries, { ...found, atMs: nowMs }, entriesPerMinute)
  }

  /** Refusals by key and reason, most first, at most `max`. */
  read(nowMs: number, max: number): KeyRefusal[] {
    const first = Math.floor(nowMs / minuteMs) - minutesMax
    const sums = new Map<string, KeyRefusal>()
    for (const [minute, entries] of this.#minutes) {
      if (minute > first) for (const entry of entries.values()) add(sums, entry, Number.POSITIVE_INFINITY)
    }
    return [...sums.values()].sort((a, b) => b.count - a.count).slice(0, max)
  }
}

function add(entries: Map<string, KeyRefusal>, entry: KeyRefusal, max: number): void {
  const name = `${entry.keyId} ${entry.reason}`
  const known = entries.get(name)
  if (known === undefined && entries.size >= max) return
  entries.set(name, { ...entry, count: entry.count + (known?.count ?? 0) })
}
