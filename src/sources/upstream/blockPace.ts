/**
 * When a node is asked for its next head: about when the chain has one, if its blocks come at regular times. Owns what was
 * learned of these times, by when heads were heard of; timestamps of blocks may be of another time.
 */

/** Intervals between heads that have to agree. */
const intervalsMin = 6
/** Largest share of an interval by which one may differ: missed slots are whole ones more, chance hardly fits so often. */
const toleranceMax = 1 / 5
/** What is asked for seldom is heard of late: shares of the time between two questions, and of an interval, that are let pass. */
const lateShareOfPoll = 0.6
const lateShareOfInterval = 1 / 3
/** Most slots without a block among them: more are intervals that are half as long by chance. */
const missedMax = 2
/** Longest interval that is waited for. */
const intervalMsMax = 60_000
/** Share of an interval after which it is asked again where there was no head yet: at first, and at most. */
const retryShare = 1 / 8
const retryShareMax = 1 / 4
/** Questions too early in a row after which the wait doubles: the slot may have no block. */
const retriesMax = 2
/**
 * Part of a retry by which the next question comes earlier: of so many questions one is too early, and a head is heard of
 * half a retry after it is there. What may be much later comes earlier by a larger part of that.
 */
const earlierShare = 1 / 16
const laggingShare = 1 / 3
/** Intervals after which a head that did not come is asked for as if nothing was known. */
const lateMax = 3

interface Heard {
  readonly number: number
  /** In the time of `performance.now()`. */
  readonly atMs: number
}

export class BlockPace {
  readonly #pollMs: number
  /** Heads in the order in which they were heard of, each higher than the one before. */
  #heard: Heard[] = []
  #intervalMs: number | undefined
  /** Questions since the last head. */
  #misses = 0
  #missedMs = 0
  /** How long the last head may have been there before it was heard of. */
  #lagMs = 0
  #earlierMs = 0

  /** `pollMs` is the time between two questions where nothing is known. */
  constructor(pollMs: number) {
    this.#pollMs = pollMs
  }

  /** Time between two blocks; undefined where they come at no regular times, as far as is known. */
  get intervalMs(): number | undefined {
    return this.#intervalMs
  }

  /** Says which head a node told. */
  note(number: number, atMs: number): void {
    const last = this.#heard.at(-1)
    if (last !== undefined && number <= last.number) {
      // A branch that is shorter, or a node that is behind: begun anew where it stays so.
      if (number < last.number) {
        this.#heard = []
        this.#intervalMs = undefined
      }
      return
    }
    this.#heard.push({ number, atMs })
    if (this.#heard.length > intervalsMin + 1) this.#heard.shift()
    this.#intervalMs = this.#learn()
  }

  /** Time from now until the next question; the last one was sent at `sentMs`. */
  waitMs(sentMs: number, nowMs: number): number {
    const intervalMs = this.#intervalMs
    const last = this.#heard.at(-1)
    if (intervalMs === undefined || last === undefined) return this.#pollMs
    const retryMs = Math.min(this.#pollMs, intervalMs * retryShare)
    if (last.atMs >= sentMs)
      return Math.max(sentMs + intervalMs - this.#hit(sentMs, retryMs) - nowMs, retryMs)
    this.#misses++
    this.#missedMs = sentMs
    if (nowMs - last.atMs > lateMax * intervalMs) return this.#pollMs
    const longerMs = retryMs * 2 ** Math.max(this.#misses - retriesMax, 0)
    return Math.min(longerMs, intervalMs * retryShareMax)
  }

  /** By how much the next question is to come earlier than an interval after this one, which told of a head. */
  #hit(sentMs: number, retryMs: number): number {
    this.#lagMs = this.#misses > 0 ? sentMs - this.#missedMs : Math.max(this.#lagMs - this.#earlierMs, 0)
    this.#misses = 0
    this.#earlierMs = this.#lagMs > 2 * retryMs ? this.#lagMs * laggingShare : retryMs * earlierShare
    return this.#earlierMs
  }

  #learn(): number | undefined {
    const steps = this.#heard.slice(1).map(({ number, atMs }, index) => {
      const before = this.#heard[index] as Heard
      return { count: number - before.number, ms: atMs - before.atMs }
    })
    if (steps.length < intervalsMin) return undefined
    const each = steps.map(({ count, ms }) => ms / count).sort((a, b) => a - b)
    const median = each[each.length >> 1] as number
    if (!(median > 0)) return undefined
    // A slot without a block makes one interval as long as two.
    const units = steps.map(({ count, ms }) => Math.max(count, Math.round(ms / median)))
    const missed = steps.reduce((sum, { count }, at) => sum + (units[at] as number) - count, 0)
    if (missed > missedMax) return undefined
    const total = steps.reduce((sum, { ms }) => sum + ms, 0)
    const intervalMs = total / units.reduce((sum, count) => sum + count, 0)
    const lateMs = Math.min(lateShareOfPoll * this.#pollMs, lateShareOfInterval * intervalMs)
    const toleranceMs = Math.max(intervalMs * toleranceMax, lateMs)
    const isRegular = steps.every(({ ms }, at) => {
      return Math.abs(ms - (units[at] as number) * intervalMs) <= toleranceMs
    })
    return isRegular && intervalMs <= intervalMsMax ? intervalMs : undefined
  }
}
