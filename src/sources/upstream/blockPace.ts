/**
 * Decides when to ask a node for its next head: near the time of the next block, if blocks come at regular times. Owns
 * the interval learned from the timestamps of blocks, or else from the arrival times of heads. On a busy machine heads
 * arrive late, but timestamps do not change. Only their differences are used: their clock may differ.
 */

/** Intervals between heads that must agree. */
const intervalsMin = 6
/** Maximum deviation, as a share of an interval: a missed slot adds a whole one, and chance rarely fits so often. */
const toleranceMax = 1 / 5
/**
 * Maximum deviation of the mean interval of heads whose timestamps are regular. On a busy machine the first or the last
 * of them arrives up to two intervals late. Developer nodes give blocks of one moment timestamps a second apart.
 */
const stampedToleranceMax = 1 / 3
/** With rare polls heads arrive late. Tolerated delay, as shares of the time between two polls, and of an interval. */
const lateShareOfPoll = 0.6
const lateShareOfInterval = 1 / 3
/** Maximum slots without a block among the intervals: more mean intervals that are half as long by chance. */
const missedMax = 2
/** Maximum interval that is used. */
const intervalMsMax = 60_000
/** Wait before the next poll if there was no head yet, as a share of an interval: the first and the maximum. */
const retryShare = 1 / 8
const retryShareMax = 1 / 4
/** Early polls in a row after which the wait doubles: the slot may have no block. */
const retriesMax = 2
/**
 * The next poll comes earlier by this share of a retry. One of 16 polls is then too early, and a head arrives half a
 * retry late on average. If the lag is large, the poll comes earlier by a larger share of the lag.
 */
const earlierShare = 1 / 16
const laggingShare = 1 / 3
/** After this number of intervals without a head, polling continues as if no interval were known. */
const lateMax = 3

interface Heard {
  readonly number: number
  /** In the time of `performance.now()`. */
  readonly atMs: number
  /** Timestamp of the block in seconds; undefined if the node reports none. */
  readonly timestamp: number | undefined
}

export class BlockPace {
  readonly #pollMs: number
  /** Heads in the order of their arrival, each higher than the one before. */
  #heard: Heard[] = []
  #intervalMs: number | undefined
  /** Polls since the last head. */
  #misses = 0
  #missedMs = 0
  /** Maximum time between the last head's arrival at the node and its poll. */
  #lagMs = 0
  #earlierMs = 0

  /** `pollMs` is the time between two polls while no interval is known. */
  constructor(pollMs: number) {
    this.#pollMs = pollMs
  }

  /** Time between two blocks; undefined if no regular interval is known. */
  get intervalMs(): number | undefined {
    return this.#intervalMs
  }

  /** Records a head that a node reported; `timestamp` is that of the block, in seconds. */
  note(number: number, atMs: number, timestamp?: number): void {
    const last = this.#heard.at(-1)
    if (last !== undefined && number <= last.number) {
      // A shorter branch, or a node that is behind: learning restarts if that lasts.
      if (number < last.number) {
        this.#heard = []
        this.#intervalMs = undefined
      }
      return
    }
    this.#heard.push({ number, atMs, timestamp })
    if (this.#heard.length > intervalsMin + 1) this.#heard.shift()
    this.#intervalMs = this.#learnStamped() ?? this.#learn()
  }

  /** Time from now until the next poll; the last one was sent at `sentMs`. */
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

  /** Time by which the next poll comes earlier than one interval after this one, which found a head. */
  #hit(sentMs: number, retryMs: number): number {
    this.#lagMs = this.#misses > 0 ? sentMs - this.#missedMs : Math.max(this.#lagMs - this.#earlierMs, 0)
    this.#misses = 0
    this.#earlierMs = this.#lagMs > 2 * retryMs ? this.#lagMs * laggingShare : retryMs * earlierShare
    return this.#earlierMs
  }

  /** The interval by the timestamps of blocks, if these are regular and agree with the times of the heads. */
  #learnStamped(): number | undefined {
    const steps = this.#heard.slice(1).map(({ number, timestamp }, index) => {
      const before = this.#heard[index] as Heard
      const seconds = (timestamp ?? Number.NaN) - (before.timestamp ?? Number.NaN)
      return { count: number - before.number, seconds }
    })
    const [first, last] = [this.#heard[0] as Heard, this.#heard.at(-1) as Heard]
    if (steps.length < intervalsMin) return undefined
    const each = steps.map(({ count, seconds }) => seconds / count).sort((a, b) => a - b)
    const slot = each[each.length >> 1] as number
    // Timestamps have no fractions of a second.
    if (!(slot >= 1)) return undefined
    const isRegular = steps.every(({ count, seconds }) => {
      return seconds >= count * slot && Number.isInteger(seconds / slot)
    })
    const slots = steps.reduce((sum, { seconds }) => sum + seconds / slot, 0)
    if (!isRegular || slots - (last.number - first.number) > missedMax) return undefined
    const intervalMs = slot * 1_000
    const offMs = Math.abs((last.atMs - first.atMs) / slots - intervalMs)
    return offMs <= intervalMs * stampedToleranceMax && intervalMs <= intervalMsMax ? intervalMs : undefined
  }

  /** The interval by the times of the heads; undefined if these are irregular. */
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
