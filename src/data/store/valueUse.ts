/**
 * Time of the last read of a gateway's values, nodes and code. It is kept in memory that all threads of the process
 * share, because readers cannot write to a store. Several keys share a place, so an unused row may seem used, but never
 * the reverse.
 */
import { getEnvironmentData, setEnvironmentData } from 'node:worker_threads'

/** Places, a byte each: with a million keys in use, four in five of all unused ones are recognised. */
const places = 2 ** 22
/** A period of use, in ms: the resolution of read times. */
const periodMs = 20_000
/** Periods are counted in a byte; 0 means never. */
const periodsMax = 255
/** Age in periods from which on a place is cleared, long before its number comes again. */
const forgottenAge = 180

const environmentKey = 'tidegate.valueUse'

export class ValueUse {
  readonly #periods: Uint8Array
  readonly #now: () => number
  #sweptAt = 0

  constructor(memory: SharedArrayBuffer = new SharedArrayBuffer(places), now: () => number = Date.now) {
    this.#periods = new Uint8Array(memory)
    this.#now = now
  }

  /**
   * The instance of this process: a thread shares the memory of the thread that started it. If none was shared, only
   * the thread itself knows its reads.
   */
  static shared(): ValueUse {
    const known = getEnvironmentData(environmentKey)
    const memory = known instanceof SharedArrayBuffer ? known : new SharedArrayBuffer(places)
    if (memory !== known) setEnvironmentData(environmentKey, memory as never)
    return new ValueUse(memory)
  }

  /** Notes a read: of a value by its key, of a node or code by its hash. */
  note(key: Uint8Array): void {
    const place = placeOf(key)
    const period = this.#period
    if (this.#periods[place] !== period) this.#periods[place] = period
  }

  /** Milliseconds since the last read, at most a period too many; Infinity for long ago, or never. */
  ageMs(key: Uint8Array): number {
    const period = this.#periods[placeOf(key)] as number
    return period === 0 ? Number.POSITIVE_INFINITY : this.#ageOf(period) * periodMs
  }

  /** Clears old places; call it at least every half hour. Takes some ms on few of the calls. */
  sweep(): void {
    const period = this.#period
    if ((period - this.#sweptAt + periodsMax) % periodsMax < 30 && this.#sweptAt !== 0) return
    this.#sweptAt = period
    for (let place = 0; place < this.#periods.length; place++) {
      const at = this.#periods[place] as number
      if (at !== 0 && this.#ageOf(at) >= forgottenAge) this.#periods[place] = 0
    }
  }

  get #period(): number {
    return 1 + (Math.floor(this.#now() / periodMs) % periodsMax)
  }

  #ageOf(period: number): number {
    return (this.#period - period + periodsMax) % periodsMax
  }
}

/** Keys end with a slot, an address or a hash. Some contracts number their slots, so only the last bytes differ. */
function placeOf(key: Uint8Array): number {
  let mixed = 0x811c9dc5
  for (let at = Math.max(0, key.length - 40); at < key.length; at++) {
    mixed = Math.imul(mixed ^ (key[at] as number), 0x01000193)
  }
  mixed ^= mixed >>> 15
  return (mixed >>> 0) % places
}
