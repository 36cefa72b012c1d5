/**
 * Who asks: identity, what it may spend, what it spent on a request, and whether it still waits. Owns the account of one
 * request; prices are in price.ts, what keys may spend in `access`.
 */
import type { JobOwner } from '../../pool/jobs.js'
import type { Subscriber } from '../../streams/subscriber.js'
import { bytesPerUnit, unitsPerMs } from './price.js'

/** What a caller may spend; see `access/meter.ts`. */
export interface Allowance {
  readonly unitsPerSecond: number
  /** Takes `units` for so many requests and returns 0; or returns the milliseconds until it could. */
  charge(units: number, requests?: number): number
  /** Which limit refused the last charge, if that was not the one of units per second. */
  readonly exceededLimit?: { readonly what: string; readonly limit: number } | undefined
  /** Takes `units` even where fewer are left; the debt delays the next charge. */
  debit(units: number): void
  /** What is left, as headers of an answer. */
  headers?(): readonly (readonly [name: string, value: string])[]
}

/** Limits of a key that are no allowance; absent ones are those of the server. */
interface HolderLimits {
  readonly sockets?: number
  readonly subscriptions?: number
  /** Share of the pool's time, relative to keys without a weight, which have 1. */
  readonly weight?: number
}

/** Identity of a caller: metering, the pool and logs tell callers apart by their key. */
export interface Identity {
  /** Its id has 12 hex digits; see `access/keyChecker.ts`. */
  readonly key: { readonly id: string; readonly limits?: HolderLimits }
  /** The allowance to which calls are charged; undefined: no limit. */
  readonly allowance?: Allowance | undefined
  /** The methods that it may call, and the same as text, to compare; undefined: all. */
  readonly methods?: { allows(name: string): boolean; readonly text: string } | undefined
  /** Where it may be used; undefined: anywhere. Transports have checked it for the network of the address. */
  readonly scope?: { allowsNetwork(name: string): boolean } | undefined
}

/** The key id of all callers where no keys are needed. */
export const anonymousId = '000000000000'

const anonymous: Identity = { key: { id: anonymousId } }

/**
 * Waits for the answer to one request, over any transport. A transport makes one per request (or extends this class,
 * which has seven fields) and calls `leave` once when nobody waits any more.
 */
export class RequestContext implements JobOwner {
  #isFinished = false
  /** Allocated by the first job of the request. */
  #listeners: Set<() => void> | undefined
  /** Units charged and not yet used up by measured work. */
  #paidUnits = 0
  /** Units owed for work beyond what was charged. */
  #owedUnits = 0
  #spentUnits = 0
  /** Those of them that {@link takeSpent} returned. */
  #takenUnits = 0

  /** `subscriber` is the connection's, on a transport that can send events. */
  constructor(
    readonly subscriber: Subscriber | undefined = undefined,
    readonly identity: Identity = anonymous,
  ) {}

  /** Whether a single result may come to it in parts. */
  get takesStreams(): boolean {
    return false
  }

  get keyId(): string {
    return this.identity.key.id
  }

  get weight(): number {
    return this.identity.key.limits?.weight ?? 1
  }

  /** Charges for a call that is about to begin; as {@link Allowance.charge}. */
  charge(units: number): number {
    const waitMs = this.identity.allowance?.charge(units) ?? 0
    if (waitMs === 0) {
      this.#paidUnits += units
      this.#spentUnits += units
    }
    return waitMs
  }

  get spentUnits(): number {
    return this.#spentUnits
  }

  /** As {@link charge}, for reading the request, whose CPU time is not measured. */
  chargeReading(units: number): number {
    const waitMs = this.identity.allowance?.charge(units, 0) ?? 0
    if (waitMs === 0) this.#spentUnits += units
    return waitMs
  }

  /** Charges for reading a request that is read although {@link chargeReading} could not: a debt. */
  oweReading(units: number): void {
    this.#spentUnits += units
    this.identity.allowance?.debit(units)
  }

  /** The units that were spent since the last call of this, whether or not they are limited. */
  takeSpent(): number {
    const units = this.#spentUnits - this.#takenUnits
    this.#takenUnits = this.#spentUnits
    return units
  }

  /** Counts CPU time of work for this request; time beyond what was charged is owed. */
  ran(cpuMs: number): void {
    this.#use(Math.round(cpuMs * unitsPerMs))
  }

  /** As {@link ran}, for the bytes of an answer that was rendered or repeated. */
  answered(bytes: number): void {
    this.#use(Math.floor(bytes / bytesPerUnit))
  }

  #use(units: number): void {
    const owed = units - this.#paidUnits
    this.#paidUnits = Math.max(-owed, 0)
    if (owed <= 0) return
    this.#owedUnits += owed
    this.#spentUnits += owed
    this.identity.allowance?.debit(owed)
  }

  /** Whether nobody waits any more: the client left, or its answer was sent. */
  get isFinished(): boolean {
    return this.#isFinished
  }

  /** Calls `listener` at the end; at once where that has come. */
  onFinished(listener: () => void): void {
    if (this.#isFinished) return listener()
    this.#listeners ??= new Set()
    this.#listeners.add(listener)
  }

  forget(listener: () => void): void {
    this.#listeners?.delete(listener)
  }

  /** False where too many calls of its connection wait; each true is returned by {@link release}. */
  admit(): boolean {
    return true
  }

  /** An admitted call no longer waits. */
  release(): void {}

  /** Call it when the client leaves and when its answer is sent; jobs that still run for it are cancelled. */
  finish(): void {
    this.#isFinished = true
    const listeners = this.#listeners
    if (listeners === undefined) return
    this.#listeners = undefined
    for (const listener of listeners) listener()
  }
}
