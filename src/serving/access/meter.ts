/**
 * Token buckets of API keys, filled at a steady rate. Owns the buckets and which key each belongs to; what a key has
 * buckets for is decided in `allowances.ts`, what a call costs in `rpc`.
 *
 * Meters over the same memory spend from the same buckets, also on other threads. A bucket is one number: the time at
 * which it will be full again, in ticks of which one passes for each token that flows in (the generic cell rate
 * algorithm of ITU-T I.371, equivalent to a token bucket). So no timer fills buckets, and a full bucket needs no state:
 * its row is given to another key.
 */
import { CounterTable, idNumber, type TableShape } from './counterTable.js'

export interface BucketRates {
  /** Tokens that flow in; at most {@link perSecondMax}. */
  readonly perSecond: number
  /** Tokens that may be spent at once: the size of the bucket. At most {@link burstMax}. */
  readonly burst: number
}

/**
 * Buckets that can be other than full at the same time, in 1 MiB: three for each key that the key ring remembers. Where
 * a group has no more, a new key takes the place of the bucket that is full soonest, whose key begins with a full one.
 */
const shape: TableShape = { rows: 32_768, rowsPerGroup: 16, numbers: 2 }

/** Of a row: the tick at which the bucket is full, and its tokens per second. */
const fullAtAt = 0
const rateAt = 1

export const meterBytes = CounterTable.bytesFor(shape)

/**
 * Longest delay that a debt can cause. Hosted services count their limits per minute too, and no request lasts as
 * long: a key that may spend a tenth of a core pays in full for a call that runs to its deadline, and a key that may
 * spend less can make one such call a minute.
 */
export const debtSecondsMax = 60

/** The highest rate, and the largest bucket: together 50 bits, by which buckets of one key are told apart. */
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
   * The bucket of this `kind` (0 or 1) of the key with this id (12 hex digits). It holds no state itself, so any number
   * may be made and dropped. With other rates it is another bucket, full at first. Throws RangeError for rates above
   * {@link perSecondMax} and {@link burstMax}.
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
   * Takes `tokens`, at most a whole bucket, and returns 0. Where it holds fewer, takes nothing and returns the
   * milliseconds until it will hold them if nothing else is spent.
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
   * Takes `tokens` even where it holds fewer, which leaves a debt; gives back where they are negative. A debt is at
   * most what flows in within {@link debtSecondsMax}; the rest is forgiven.
   */
  debit(tokens: number): void {
    const ticks = this.#ticksAt(this.#clockMs())
    const spentMax = this.burst + debtSecondsMax * this.perSecond
    const spent = this.#spend(ticks, tokens, spentMax)
    if (spent > spentMax) this.#spend(ticks, spentMax - spent + tokens, Number.POSITIVE_INFINITY)
  }

  /** Tokens that are spent and have not flowed in again; more than a burst where there is a debt. */
  get spent(): number {
    return this.#spend(this.#ticksAt(this.#clockMs()), 0, Number.POSITIVE_INFINITY)
  }

  /** What would be spent with `tokens`; they are taken where that is at most `spentMax`. */
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
