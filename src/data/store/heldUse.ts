/**
 * When values, nodes and code of gateways were read last, in memory that all threads of the process share: readers cannot
 * write to a store. Keys share places, so something may seem used that is not; never the other way round.
 */
import { getEnvironmentData, setEnvironmentData } from 'node:worker_threads'

/** Places, a byte each: with a million keys in use four in five of all others are known as unused. */
const places = 2 ** 22
/** A period of use, in ms: how exactly it is known when something was read. */
const periodMs = 20_000
/** Periods are counted in a byte; 0 is never. */
const periodsMax = 255
/** Age from which on a place is forgotten, long before its period comes again. */
const forgottenAge = 180

const environmentKey = 'tidegate.heldUse'

export class HeldUse {
  readonly #periods: Uint8Array
  readonly #now: () => number
  #sweptAt = 0

  constructor(memory: SharedArrayBuffer = new SharedArrayBuffer(places), now: () => number = Date.now) {
    this.#periods = new Uint8Array(memory)
    this.#now = now
  }

  /**
   * That of this process: threads have what the thread had that started them. Where none was shared, a thread's reads are
   * known to itself alone.
   */
  static shared(): HeldUse {
    const known = getEnvironmentData(environmentKey)
    const memory = known instanceof SharedArrayBuffer ? known : new SharedArrayBuffer(places)
    if (memory !== known) setEnvironmentData(environmentKey, memory as never)
    return new HeldUse(memory)
  }

  /** Says that something is read now: a value by its key, a node or code by its hash. */
  note(key: Uint8Array): void {
    const place = placeOf(key)
    const period = this.#period
    if (this.#periods[place] !== period) this.#periods[place] = period
  }

  /** Milliseconds since something was read, at most a period more than there were; Infinity for long ago, or never. */
  ageMs(key: Uint8Array): number {
    const period = this.#periods[placeOf(key)] as number
    return period === 0 ? Number.POSITIVE_INFINITY : this.#ageOf(period) * periodMs
  }

  /** Forgets what is old; call it at least every half hour. Takes some ms, seldom. */
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

/** Keys end with a slot, an address or a hash; in contracts that count slots up only the last bytes differ. */
function placeOf(key: Uint8Array): number {
  let mixed = 0x811c9dc5
  for (let at = Math.max(0, key.length - 40); at < key.length; at++) {
    mixed = Math.imul(mixed ^ (key[at] as number), 0x01000193)
  }
  mixed ^= mixed >>> 15
  return (mixed >>> 0) % places
}
