/**
 * Token buckets of API keys, filled at a steady rate. Owns the buckets and which key each belongs to; what a key has
 * buckets for is decided in `allowances.ts`, what a call costs in `rpc`.
 *
 * All state lies in one table of integers, which several threads may share: meters opened over the same memory spend
 * from the same buckets. A bucket is one integer: the time at which it will be full again, in ticks of which one
 * passes for each token that flows in (the generic cell rate algorithm of ITU-T I.371, equivalent to a token bucket).
 * So no timer fills buckets, a charge is one compare-and-exchange, and a full bucket needs no state: its place is
 * given to another key.
 */

export interface BucketRates {
  /** Tokens that flow in; at most {@link perSecondMax}. */
  readonly perSecond: number
  /** Tokens that may be spent at once: the size of the bucket. At most {@link burstMax}. */
  readonly burst: number
}

/**
 * Buckets that can be other than full at the same time: more than the key ring remembers keys. With more, a new key
 * takes the place of the bucket near its own that is full soonest, whose key begins with a full bucket again.
 */
const places = 16_384

/** Places searched for a key's bucket, beginning at the place that its id gives. */
const probesMax = 16

/** Ticks of an age, in which the time of a charge is kept beside its low bits. */
const ageTicks = 2 ** 24

/** Whole ages after which any bucket is full: more than a burst and the largest debt, and less than 31 bits of ticks. */
const staleAges = 64

/**
 * Longest delay that a debt can cause. Hosted services count their limits per minute too, and no request lasts as
 * long: a key that may spend a tenth of a core pays in full for a call that runs to its deadline, and a key that may
 * spend less can make one such call a minute.
 */
export const debtSecondsMax = 60

/** The highest rate. */
export const perSecondMax = 1_000_000

/** The largest bucket. With the largest debt it is less than {@link staleAges}. */
export const burstMax = 1_000_000_000

/** Mark of a place that a thread is giving to a bucket. Marks of buckets are odd. */
const beingTaken = 2

/**
 * Words of a place: mark of the bucket (0 where it was never used); low 32 bits of the tick at which the bucket is
 * full; the age of the last charge, by which ticks that are too old for 32 bits are known; its tokens per second.
 */
const markAt = 0
const fullAtAt = 1
const ageAt = 2
const rateAt = 3
const placeWords = 4

/** Memory of one table: 256 KiB. */
export const meterBytes = places * placeWords * Int32Array.BYTES_PER_ELEMENT

const originMs = performance.timeOrigin

/** Milliseconds on a clock that all threads of the process share; `performance.now` alone begins with the thread. */
const sharedClockMs = (): number => originMs + performance.now()

export class Meter {
  readonly #cells: Int32Array
  readonly #clockMs: () => number

  /**
   * `memory` has {@link meterBytes} bytes, all zero for a new table. `clockMs` never goes back and is the same for
   * all meters that share the memory.
   */
  constructor(memory: ArrayBufferLike = new ArrayBuffer(meterBytes), clockMs = sharedClockMs) {
    this.#cells = new Int32Array(memory, 0, meterBytes / Int32Array.BYTES_PER_ELEMENT)
    this.#clockMs = clockMs
  }

  /**
   * The bucket of this `kind` (a small integer) of the key with this id (12 hex digits). It holds no state itself, so
   * any number may be made and dropped. With other rates it is another bucket, full at first. Throws RangeError for
   * rates above {@link perSecondMax} and {@link burstMax}.
   */
  bucketOf(keyId: string, kind: number, rates: BucketRates): Bucket {
    if (rates.burst > burstMax) throw new RangeError(`a bucket has at most ${burstMax} tokens`)
    if (rates.perSecond > perSecondMax)
      throw new RangeError(`at most ${perSecondMax} tokens flow in a second`)
    return new Bucket(this.#cells, this.#clockMs, keyId, kind, rates)
  }
}

export class Bucket implements BucketRates {
  readonly perSecond: number
  readonly burst: number
  readonly #cells: Int32Array
  readonly #clockMs: () => number
  readonly #home: number
  readonly #mark: number

  /** Only {@link Meter} makes buckets. */
  constructor(
    cells: Int32Array,
    clockMs: () => number,
    keyId: string,
    kind: number,
    { perSecond, burst }: BucketRates,
  ) {
    this.#cells = cells
    this.#clockMs = clockMs
    this.perSecond = perSecond
    this.burst = burst
    this.#home = Number.parseInt(keyId.slice(0, 4), 16) % places
    const rates = Math.imul(kind + 4 * perSecond, 0x9e3779b1) ^ Math.imul(burst, 0x85ebca6b)
    // Odd, because 0 marks a free place. 45 of the id's 48 bits tell keys apart.
    this.#mark = (Number.parseInt(keyId.slice(4), 16) ^ rates) | 1
  }

  /**
   * Takes `tokens`, at most a whole bucket, and returns 0. Where it holds fewer, takes nothing and returns the
   * milliseconds until it will hold them if nothing else is spent.
   */
  charge(tokens: number): number {
    const nowMs = this.#clockMs()
    const ticks = ticksAt(nowMs, this.perSecond)
    const place = this.#find(nowMs, ticks)
    for (;;) {
      const fullAt = Atomics.load(this.#cells, place + fullAtAt)
      const spent = spentOf(this.#cells, place, fullAt, ticks) + tokens
      const lacking = spent - this.burst
      if (lacking > 0) {
        const thereMs = ((ticks + lacking) * 1_000) / this.perSecond
        return Math.max(Math.ceil(thereMs - nowMs), 1)
      }
      if (this.#exchange(place, fullAt, spent, ticks)) return 0
    }
  }

  /**
   * Takes `tokens` even where it holds fewer, which leaves a debt; gives back where they are negative. A debt is at
   * most what flows in within {@link debtSecondsMax}; the rest is forgiven.
   */
  debit(tokens: number): void {
    const nowMs = this.#clockMs()
    const ticks = ticksAt(nowMs, this.perSecond)
    const spentMax = this.burst + debtSecondsMax * this.perSecond
    const place = this.#find(nowMs, ticks)
    for (;;) {
      const fullAt = Atomics.load(this.#cells, place + fullAtAt)
      const spent = Math.min(spentOf(this.#cells, place, fullAt, ticks) + tokens, spentMax)
      if (this.#exchange(place, fullAt, spent, ticks)) return
    }
  }

  /** Tokens that are spent and have not flowed in again; more than a burst where there is a debt. */
  get spent(): number {
    const nowMs = this.#clockMs()
    const ticks = ticksAt(nowMs, this.perSecond)
    const place = this.#find(nowMs, ticks)
    return spentOf(this.#cells, place, Atomics.load(this.#cells, place + fullAtAt), ticks)
  }

  #exchange(place: number, fullAt: number, spent: number, ticks: number): boolean {
    const after = (ticks + spent) | 0
    if (Atomics.compareExchange(this.#cells, place + fullAtAt, fullAt, after) !== fullAt) return false
    const age = ageOf(ticks)
    if (Atomics.load(this.#cells, place + ageAt) !== age) Atomics.store(this.#cells, place + ageAt, age)
    return true
  }

  /**
   * The place of this bucket. A bucket without a place gets the nearest one that is free or full, or else the one that
   * is full soonest. Two threads that evict for one bucket at the same instant may give it two places, or charge one
   * key once for the other; nothing worse can happen.
   */
  #find(nowMs: number, ticks: number): number {
    const cells = this.#cells
    const mark = this.#mark
    search: for (;;) {
      let best = -1
      let bestMark = 0
      let least = Number.POSITIVE_INFINITY
      for (let probe = 0; probe < probesMax; probe++) {
        const place = placeWords * ((this.#home + probe) % places)
        const found = Atomics.load(cells, place + markAt)
        if (found === mark) return place
        if (found === beingTaken) continue search
        const left = found === 0 ? -1 : secondsLeft(cells, place, nowMs)
        if (left < least) {
          best = place
          bestMark = found
          least = left
        }
        // Places are never freed, so a bucket's place cannot lie behind one that was never taken.
        if (found === 0) break
      }
      if (Atomics.compareExchange(cells, best + markAt, bestMark, beingTaken) === bestMark) {
        Atomics.store(cells, best + rateAt, this.perSecond)
        Atomics.store(cells, best + ageAt, ageOf(ticks))
        Atomics.store(cells, best + fullAtAt, ticks | 0)
        // Last: whoever finds the mark charges at once, and a charge must not be overwritten.
        Atomics.store(cells, best + markAt, mark)
        return best
      }
    }
  }
}

/** Seconds until the bucket of a place is full. */
function secondsLeft(cells: Int32Array, place: number, nowMs: number): number {
  const perSecond = Atomics.load(cells, place + rateAt)
  if (perSecond === 0) return 0
  const fullAt = Atomics.load(cells, place + fullAtAt)
  return spentOf(cells, place, fullAt, ticksAt(nowMs, perSecond)) / perSecond
}

/** Tokens spent of the bucket of a place, which is full at `fullAt`. */
function spentOf(cells: Int32Array, place: number, fullAt: number, ticks: number): number {
  const ages = (ageOf(ticks) - Atomics.load(cells, place + ageAt)) | 0
  return ages > staleAges ? 0 : Math.max((fullAt - (ticks | 0)) | 0, 0)
}

/** All bits of the time in ticks. */
function ticksAt(nowMs: number, perSecond: number): number {
  return Math.floor((nowMs * perSecond) / 1_000)
}

function ageOf(ticks: number): number {
  return Math.floor(ticks / ageTicks) | 0
}
