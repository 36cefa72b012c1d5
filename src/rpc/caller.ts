import type { JobOwner } from '../pool/jobs.js'
import type { Subscriber } from '../streams/subscriber.js'
import { bytesPerUnit, unitsPerMs } from './price.js'

/** What a caller may spend; see `access/meter.ts`. */
export interface Allowance {
  readonly unitsPerSecond: number
  /** Takes `units` and returns 0, or takes nothing and returns after how many milliseconds they will be there. */
  charge(units: number): number
  /** Takes `units`, whatever is left: what is owed delays the next charge. */
  owe(units: number): void
}

/** Who asks: metering, the pool and logs tell callers apart by their key. */
export interface Identity {
  /** Its id has 12 hex digits; see `access/keyRing.ts`. */
  readonly key: { readonly id: string }
  /** What each call is charged to; undefined for a caller who may ask as much as they like. */
  readonly allowance?: Allowance | undefined
}

/** The id that everybody shares where no key is asked for. */
export const anonymousId = '000000000000'

const anonymous: Identity = { key: { id: anonymousId } }

/**
 * Whoever waits for the answer to one request, whatever transport it came by. A transport makes one for each
 * request (or is one: it costs four fields) and says once when nobody waits any more.
 */
export class Caller implements JobOwner {
  #isGone = false
  /** Made by the first job of the request; answers that need no job never allocate it. */
  #listeners: Set<() => void> | undefined
  /** Charged, and not used up by work that was measured. */
  #paidUnits = 0
  /** For work beyond what was charged. */
  #owedUnits = 0

  /** `subscriber` is the connection's, where the transport can carry events. */
  constructor(
    readonly subscriber: Subscriber | undefined = undefined,
    readonly identity: Identity = anonymous,
  ) {}

  get keyId(): string {
    return this.identity.key.id
  }

  /**
   * Charges for a call that is about to begin: returns 0, or takes nothing and returns after how many milliseconds it
   * could be paid.
   */
  charge(units: number): number {
    const { allowance } = this.identity
    if (allowance === undefined) return 0
    const waitMs = allowance.charge(units)
    if (waitMs === 0) this.#paidUnits += units
    return waitMs
  }

  /** As {@link charge}, for reading the request, which is not measured. */
  chargeReading(units: number): number {
    return this.identity.allowance?.charge(units) ?? 0
  }

  /** As {@link charge}, once the work is done: what is owed for that counts towards its price. */
  chargeLate(units: number): void {
    const covered = Math.min(units, this.#owedUnits)
    this.#owedUnits -= covered
    if (units === covered) return
    this.#paidUnits += units - covered
    this.identity.allowance?.owe(units - covered)
  }

  /** What the work for this request takes beyond what its calls were charged is owed. */
  ran(cpuMs: number): void {
    this.#use(Math.round(cpuMs * unitsPerMs))
  }

  /** As {@link ran}, for an answer of so many bytes that was made or sent again. */
  answered(bytes: number): void {
    this.#use(Math.floor(bytes / bytesPerUnit))
  }

  #use(units: number): void {
    const owed = units - this.#paidUnits
    this.#paidUnits = Math.max(-owed, 0)
    if (owed <= 0) return
    this.#owedUnits += owed
    this.identity.allowance?.owe(owed)
  }

  /** Nobody waits any more: the client went away, or its answer is sent. */
  get isGone(): boolean {
    return this.#isGone
  }

  onGone(listener: () => void): void {
    this.#listeners ??= new Set()
    this.#listeners.add(listener)
  }

  forget(listener: () => void): void {
    this.#listeners?.delete(listener)
  }

  /**
   * Asked before a call is begun that may wait for a job. False where its connection has too much waiting already;
   * each true is given back with {@link release}.
   */
  admit(): boolean {
    return true
  }

  /** A call that was admitted waits no more. */
  release(): void {}

  /** To be called when the client goes away and when its answer is sent; what still runs for it is then cancelled. */
  leave(): void {
    this.#isGone = true
    const listeners = this.#listeners
    if (listeners === undefined) return
    this.#listeners = undefined
    for (const listener of listeners) listener()
  }
}
