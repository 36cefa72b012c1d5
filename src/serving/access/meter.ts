/**
 * Token buckets of API keys, filled at a steady rate. Owns the buckets and their keys. `allowances.ts` decides which
 * buckets a key has, and `rpc` the price of a call.
 *
 * Meters over the same memory spend from the same buckets, also on other threads. A bucket is one number: the time at
 * which it will be full again, in ticks, one for each token that flows in. This is the generic cell rate algorithm of
 * ITU-T I.371, equivalent to a token bucket. So no timer fills buckets, and a full bucket needs no state: its row can
 * go to another key.
 */
import { CounterTable, idNumber, type TableShape } from './counterTable.js'

export interface BucketRates {
  /** Tokens that flow in; at most {@link perSecondMax}. */
  readonly perSecond: number
  /** Tokens that may be spent at once: the size of the bucket. At most {@link burstMax}. */
  readonly burst: number
}

/**
 * Buckets that can be partly empty at the same time, in 1 MiB: three for each key that the key checker remembers. In a
 * full group, a new key replaces the bucket that will be full soonest, whose key then begins with a full one.
 */
const shape: TableShape = { rows: 32_768, rowsPerGroup: 16, numbers: 2 }

/** Indices in a row: the tick at which the bucket is full, and its tokens per second. */
const fullAtAt = 0
const rateAt = 1

export const meterBytes = CounterTable.bytesFor(shape)

/**
 * Longest delay that a debt can cause. Hosted services count their limits per minute too, and no request lasts as long.
 * A key with a tenth of a core pays in full for a call that runs to its deadline. A key with less can make one such
 * call a minute.
 */
export const debtSecondsMax = 60

/** The highest rate, and the largest bucket: together 50 bits, which distinguish the buckets of one key. */
export const perSecondMax = 1_000_000
export const burstMax = 1_000_000_000

const originMs = performance.timeOrigin

/** Milliseconds on a clock that all threads of the process share; `performance.now` alone begins with the thread. */
const sharedClockMs = (): number => originMs + performance.now()

export class Meter {
  readonly #table: CounterTable
  readonly #clockMs: () => number

  /** `memory`: {@link meterBytes}, all zero at first. `clockMs` never goes back, and is the same on all threads. */
  constructor(memory?: SharedArrayBuffer, clockMs = sharedClockMs) {
    this.#table = new CounterTable(shape, (at) => this.#msUntilFull(at), memory)
    this.#clockMs = clockMs
  }

  /**
   * The bucket of this `kind` (0 or 1) of the key with this id (12 hex digits). The object has no state itself, so any
   * number may be made and dropped. With other rates it is another bucket, full at first. Throws RangeError for rates
   * above {@link perSecondMax} and {@link burstMax}.
   */
  bucketOf(keyId: string, kind: number, rates: BucketRates): Bucket {
    if (rates.burst > burstMax) throw new RangeError(`a bucket has at most ${burstMax} tokens`)
    if (rates.perSecond > perSecondMax)
      throw new RangeError(`at most ${perSecondMax} tokens flow in a second`)
    return new Bucket(this.#table, this.#clockMs, keyId, kind, rates)
  }

  #msUntilFull(at: number): number {
    const { numbers } = this.#table
    const fullAtMs = ((numbers[at + fullAtAt] as number) * 1_000) / (numbers[at + rateAt] as number)
    return Math.max(fullAtMs - this.#clockMs(), 0)
  }
}

export class Bucket implements BucketRates {
  readonly perSecond: number
  readonly burst: number
  readonly #table: CounterTable
  readonly #clockMs: () => number
  readonly #id: number
  readonly #kind: number

  constructor(
    table: CounterTable,
    clockMs: () => number,
    keyId: string,
    kind: number,
    { perSecond, burst }: BucketRates,
  ) {
    this.#table = table
    this.#clockMs = clockMs
    this.perSecond = perSecond
    this.burst = burst
    this.#id = idNumber(keyId)
    this.#kind = kind + 2 * (perSecond + 2 ** 20 * burst)
  }

  /**
   * Takes `tokens`, at most a whole bucket, and returns 0. If the bucket has fewer, takes nothing and returns the
   * milliseconds until it has enough, provided that nothing else is spent.
   */
  charge(tokens: number): number {
    const nowMs = this.#clockMs()
    const ticks = this.#ticksAt(nowMs)
    const lacking = this.#spend(ticks, tokens, this.burst) - this.burst
    if (lacking <= 0) return 0
    const thereMs = ((ticks + lacking) * 1_000) / this.perSecond
    return Math.max(Math.ceil(thereMs - nowMs), 1)
  }

  /**
   * Takes `tokens` even if the bucket has fewer, which leaves a debt; gives tokens back if negative. A debt is limited
   * to the inflow within {@link debtSecondsMax}; the rest is forgiven.
   */
  debit(tokens: number): void {
    const ticks = this.#ticksAt(this.#clockMs())
    const spentMax = this.burst + debtSecondsMax * this.perSecond
    const spent = this.#spend(ticks, tokens, spentMax)
    if (spent > spentMax) this.#spend(ticks, spentMax - spent + tokens, Number.POSITIVE_INFINITY)
  }

  /** Tokens that are spent and have not flowed in again; more than a burst if there is a debt. */
  get spent(): number {
    return this.#spend(this.#ticksAt(this.#clockMs()), 0, Number.POSITIVE_INFINITY)
  }

  /** The sum after spending `tokens`. They are spent if that sum is at most `spentMax`. */
  #spend(ticks: number, tokens: number, spentMax: number): number {
    const { numbers } = this.#table
    const at = this.#table.take(this.#id, this.#kind) as number
    const spent = Math.max((numbers[at + fullAtAt] as number) - ticks, 0) + tokens
    if (spent <= spentMax) numbers[at + fullAtAt] = ticks + spent
    numbers[at + rateAt] = this.perSecond
    this.#table.giveBack()
    return spent
  }

  #ticksAt(nowMs: number): number {
    return Math.floor((nowMs * this.perSecond) / 1_000)
  }
}
