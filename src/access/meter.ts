/**
 * What every API key may spend: a token bucket of compute units for each, filled at a steady rate. Owns the buckets
 * and which key each belongs to; what a call costs is decided in `rpc`.
 *
 * All state lies in one table of integers, which several threads may share: meters opened over the same memory spend
 * from the same buckets. A bucket is one integer: the time at which it will be full again, in ticks of which one
 * passes for each unit that flows in (the generic cell rate algorithm of ITU-T I.371, equivalent to a token bucket).
 * So no timer fills buckets, a charge is one compare-and-exchange, and a full bucket needs no state: its place is
 * given to another key.
 */

export interface MeterRates {
  readonly unitsPerSecond: number
  /** Units that may be spent at once: the size of a bucket. At most {@link burstMax}. */
  readonly unitsBurst: number
}

/** What one key may spend. */
export interface KeyAllowance {
  readonly unitsPerSecond: number
  /**
   * Takes `units`, at most a whole bucket, and returns 0. Where the bucket holds fewer, takes nothing and returns the
   * milliseconds until it will hold them if nothing else is spent.
   */
  charge(units: number): number
  /**
   * Takes `units` even where the bucket holds fewer, which leaves a debt. A debt is at most what flows in within
   * {@link debtSecondsMax}; the rest is forgiven.
   */
  debit(units: number): void
}

/**
 * Buckets that can be other than full at the same time: more than the key ring remembers keys. With more, a new key
 * takes the place of the fullest bucket near its own, whose key begins with a full bucket again.
 */
const places = 16_384

/** Places searched for a key's bucket, beginning at the place that its id gives. */
const probesMax = 16

/**
 * Ticks after which the clock begins a new era. The table holds the low 32 bits of times, so a time more than two
 * eras old would read as one in the future; see {@link Meter.#beginEra}.
 */
const eraTicks = 2 ** 30

/**
 * Longest delay that a debt can cause. Hosted services count their limits per minute too, and no request lasts as
 * long: a key that may spend a tenth of a core pays in full for a call that runs to its deadline, and a key that may
 * spend less can make one such call a minute.
 */
export const debtSecondsMax = 60

/** The highest rate. */
export const unitsPerSecondMax = 1_000_000

/** The largest bucket, in units. Bucket and debt are each less than an era, so two eras later any bucket is full. */
export const burstMax = 1_000_000_000

/**
 * The table: cell 0 → number of the era; cells 2 + 2 × place and 3 + 2 × place → mark of the key whose bucket it is
 * (0 where no key has it), and the low 32 bits of the tick at which the bucket is full.
 */
const eraCell = 0
const placesCell = 2

/** Memory of one table: 128 KiB. */
export const meterBytes = (placesCell + 2 * places) * Int32Array.BYTES_PER_ELEMENT

const originMs = performance.timeOrigin

/** Milliseconds on a clock that all threads of the process share; `performance.now` alone begins with the thread. */
const sharedClockMs = (): number => originMs + performance.now()

export class Meter {
  readonly #cells: Int32Array
  readonly #unitsPerSecond: number
  readonly #burst: number
  readonly #clockMs: () => number

  /**
   * `memory` has {@link meterBytes} bytes, all zero for a new table; meters that share it have the same rates.
   * `clockMs` never goes back. Throws RangeError for rates above {@link unitsPerSecondMax} and {@link burstMax}.
   */
  constructor(
    { unitsPerSecond, unitsBurst }: MeterRates,
    memory: ArrayBufferLike = new ArrayBuffer(meterBytes),
    clockMs = sharedClockMs,
  ) {
    if (unitsBurst > burstMax) throw new RangeError(`a burst has at most ${burstMax} units`)
    if (unitsPerSecond > unitsPerSecondMax) {
      throw new RangeError(`at most ${unitsPerSecondMax} units flow in a second`)
    }
    this.#cells = new Int32Array(memory, 0, meterBytes / Int32Array.BYTES_PER_ELEMENT)
    this.#unitsPerSecond = unitsPerSecond
    this.#burst = unitsBurst
    this.#clockMs = clockMs
  }

  /**
   * The allowance of the key with this id (12 hex digits). It holds no state itself, so any number may be made and
   * dropped.
   */
  allowanceOf(keyId: string): KeyAllowance {
    const home = Number.parseInt(keyId.slice(0, 4), 16) % places
    // Odd, because 0 marks a free place. 45 of the id's 48 bits tell keys apart.
    const mark = Number.parseInt(keyId.slice(4), 16) | 1
    return {
      unitsPerSecond: this.#unitsPerSecond,
      charge: (units) => this.#charge(home, mark, units),
      debit: (units) => this.#debit(home, mark, units),
    }
  }

  #charge(home: number, mark: number, units: number): number {
    const cells = this.#cells
    const nowMs = this.#clockMs()
    const ticks = this.#ticksAt(nowMs)
    const now = ticks | 0
    const cell = this.#find(home, mark, now) + 1
    for (;;) {
      const fullAt = Atomics.load(cells, cell)
      const spent = Math.max((fullAt - now) | 0, 0) + units
      const lacking = spent - this.#burst
      if (lacking > 0) {
        const thereMs = ((ticks + lacking) * 1000) / this.#unitsPerSecond
        return Math.max(Math.ceil(thereMs - nowMs), 1)
      }
      if (Atomics.compareExchange(cells, cell, fullAt, (now + spent) | 0) === fullAt) return 0
    }
  }

  #debit(home: number, mark: number, units: number): void {
    const cells = this.#cells
    const now = this.#ticksAt(this.#clockMs()) | 0
    const spentMax = this.#burst + debtSecondsMax * this.#unitsPerSecond
    const cell = this.#find(home, mark, now) + 1
    for (;;) {
      const fullAt = Atomics.load(cells, cell)
      const spent = Math.min(Math.max((fullAt - now) | 0, 0) + units, spentMax)
      if (Atomics.compareExchange(cells, cell, fullAt, (now + spent) | 0) === fullAt) return
    }
  }

  /** The time in ticks, all bits of it. */
  #ticksAt(nowMs: number): number {
    const ticks = Math.floor((nowMs * this.#unitsPerSecond) / 1000)
    const era = Math.floor(ticks / eraTicks)
    if (era > Atomics.load(this.#cells, eraCell)) this.#beginEra(era, ticks | 0)
    return ticks
  }

  /**
   * The cell of a key's mark. A key without a place gets the nearest one that is free or whose bucket is full, or
   * else that of the fullest bucket. Two threads that do this at the same instant may give one key two places, or
   * charge one key once for the other; nothing worse can happen.
   */
  #find(home: number, mark: number, now: number): number {
    const cells = this.#cells
    for (;;) {
      let best = -1
      let bestMark = 0
      let least = Number.POSITIVE_INFINITY
      for (let probe = 0; probe < probesMax; probe++) {
        const cell = placesCell + 2 * ((home + probe) % places)
        const found = Atomics.load(cells, cell)
        if (found === mark) return cell
        const spent = found === 0 ? -1 : Math.max((Atomics.load(cells, cell + 1) - now) | 0, 0)
        if (spent < least) {
          best = cell
          bestMark = found
          least = spent
        }
        // Places are never freed, so a key's place cannot lie behind one that was never taken.
        if (found === 0) break
      }
      if (Atomics.compareExchange(cells, best, bestMark, mark) === bestMark) {
        Atomics.store(cells, best + 1, now)
        return best
      }
    }
  }

  /**
   * Sets times that have passed to `now`, before they are so old that they read as the future. Where a whole era was
   * skipped, all times have passed.
   */
  #beginEra(era: number, now: number): void {
    const cells = this.#cells
    const last = Atomics.exchange(cells, eraCell, era)
    if (last >= era) return
    for (let cell = placesCell + 1; cell < cells.length; cell += 2) {
      const fullAt = Atomics.load(cells, cell)
      const isPast = era - last > 1 || ((fullAt - now) | 0) < 0
      if (isPast) Atomics.compareExchange(cells, cell, fullAt, now)
    }
  }
}
