/**
 * What every API key may spend: a bucket of compute units for each, filled at a steady rate. Owns the buckets and
 * whose they are; what a call costs is decided in `rpc`.
 *
 * All state lies in one table of integers, which threads that answer for the same keys may share: whoever opens a
 * meter over the same memory spends from the same buckets. A bucket is one integer: the moment at which it will be
 * full again, on a clock that ticks once for every unit the rate gives (the generic cell rate algorithm of ITU-T
 * I.371, which equals a token bucket). So nothing has to be filled up, a charge is one compare-and-exchange, and a
 * bucket that is full again is no state at all: its place goes to whichever key needs one.
 */

export interface MeterRates {
  readonly unitsPerSecond: number
  /** What may be spent at once: the size of a bucket. At most {@link burstMax}. */
  readonly unitsBurst: number
}

/** What one key may spend. */
export interface KeyAllowance {
  readonly unitsPerSecond: number
  /**
   * Takes `units`, at most a whole bucket, and returns 0; or takes nothing and returns after how many milliseconds
   * they will be there if nothing else is spent.
   */
  charge(units: number): number
  /**
   * Takes `units`, whatever is left. The bucket may go below empty by what flows into it in {@link debtSecondsMax};
   * more is forgiven.
   */
  owe(units: number): void
}

/**
 * Buckets that are not full at the same time: more than keys are remembered. Beyond, the fullest bucket near a
 * newcomer's place is forgotten, and its key begins with a full one.
 */
const places = 16_384

/** Places looked at for a bucket, from the one that follows from its key on. */
const probesMax = 16

/**
 * Ticks after which the clock begins a new era. Moments are 32 bits of the clock, so what is older than two eras
 * would seem to lie ahead; see {@link Meter.#beginEra}.
 */
const eraTicks = 2 ** 30

/**
 * How long a debt delays the next call at most. A minute is what users of hosted services know as the window of their
 * limits, and longer than any request: a call that takes all of its time is paid for where a key may spend a tenth of
 * a core, and where it may spend less, such calls come once a minute.
 */
export const debtSecondsMax = 60

/** The most that flows into a bucket. */
export const unitsPerSecondMax = 1_000_000

/** The largest bucket. It and the largest debt are less than an era, so what was spent in one is there in the next but one. */
export const burstMax = 1_000_000_000

/**
 * The table: cell 0 → number of the era; cells 2 + 2 × place and 3 + 2 × place → mark of the key whose bucket it is
 * (0 for nobody's), and the moment at which the bucket is full, 32 bits of ticks.
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

  /** `memory` has {@link meterBytes} bytes, zero at first, and one set of rates. `clockMs` must not go back. */
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
   * The allowance of the key with this id, 12 hex digits of its digest. It holds no state, so any number may be made
   * and dropped.
   */
  allowanceOf(keyId: string): KeyAllowance {
    const home = Number.parseInt(keyId.slice(0, 4), 16) % places
    // Odd, so that it is never nobody's. 45 of the id's 48 bits tell keys apart.
    const mark = Number.parseInt(keyId.slice(4), 16) | 1
    return {
      unitsPerSecond: this.#unitsPerSecond,
      charge: (units) => this.#charge(home, mark, units),
      owe: (units) => this.#owe(home, mark, units),
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

  #owe(home: number, mark: number, units: number): void {
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

  /** The time in ticks, of which the table holds 32 bits. */
  #ticksAt(nowMs: number): number {
    const ticks = Math.floor((nowMs * this.#unitsPerSecond) / 1000)
    const era = Math.floor(ticks / eraTicks)
    if (era > Atomics.load(this.#cells, eraCell)) this.#beginEra(era, ticks | 0)
    return ticks
  }

  /**
   * The cell of a key's mark. A key that has no place gets the nearest one that is nobody's or whose bucket is full,
   * or else the fullest. Two threads that move in at the same instant may give a key two places, or charge one key
   * for the other, once: that is all that can come of it.
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
        // Places are never given back, so nothing of this key lies behind one that nobody ever had.
        if (found === 0) break
      }
      if (Atomics.compareExchange(cells, best, bestMark, mark) === bestMark) {
        Atomics.store(cells, best + 1, now)
        return best
      }
    }
  }

  /**
   * Brings moments that are past up to `now`, before they are so old that they seem to lie ahead. Where an era was
   * left out, all are past.
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
