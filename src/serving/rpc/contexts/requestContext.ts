/**
 * The caller of a request: its identity, its allowance, the units it spent, and whether it still waits. Owns the
 * account of one request, and the fault of a call that may not run or cannot be paid. Prices are in price.ts, the
 * limits of keys in `access`.
 */
import type { Fault } from '../../../primitives/faults.js'
import type { JobOwner } from '../../pool/jobs.js'
import type { Subscriber } from '../../streams/subscriber.js'
import { bodyUnits, bytesPerUnit, unitsMin, unitsPerMs } from './price.js'

/** The spending limits of a caller; see `access/meter.ts`. */
export interface Allowance {
  readonly unitsPerSecond: number
  /**
   * Takes `units` for `requests` requests and returns 0. If they cannot be paid, it returns the milliseconds until they
   * can.
   */
  charge(units: number, requests?: number): number
  /** The limit that refused the last charge, unless it was the units per second. */
  readonly exceededLimit?:
    | { readonly what: string; readonly limit: number; readonly isOfDay?: boolean }
    | undefined
  /** Takes `units` even if fewer are left; the debt delays the next charge. */
  debit(units: number): void
  /** The remaining allowance, as headers of an answer. */
  headers?(): readonly (readonly [name: string, value: string])[]
}

/** Limits of a key besides its allowance; the server's limits replace absent ones. */
interface HolderLimits {
  readonly sockets?: number
  readonly subscriptions?: number
  /** Share of the pool's time, relative to keys without a weight, which have 1. */
  readonly weight?: number
}

/** Identity of a caller: metering, the pool and logs distinguish callers by their key. */
export interface Identity {
  /** The id of the key has 12 hex digits; see `access/keyChecker.ts`. */
  readonly key: { readonly id: string; readonly limits?: HolderLimits }
  /** The allowance that pays for calls; if undefined, no limit. */
  readonly allowance?: Allowance | undefined
  /** The methods that the caller may call, and the same as text, for comparison; if undefined, all. */
  readonly methods?: { allows(name: string): boolean; readonly text: string } | undefined
  /**
   * The networks where the key is valid; if undefined, all. Transports have checked it for the network of the address.
   */
  readonly scope?: { allowsNetwork(name: string): boolean } | undefined
}

/** The key id of all callers if no keys are required. */
export const anonymousId = '000000000000'

/** The key id of the server's calls to itself. No key has it, because it is not hex. */
export const ownCallerId = 'the server'

const anonymous: Identity = { key: { id: anonymousId } }

/**
 * Maximum size of a body that is read although the caller cannot pay for it. Its calls are refused with their ids: on a
 * WebSocket an error without an id is useless. 1,000 calls take 1.4 ms.
 */
const unpaidBytesMax = 64 * 1024

/**
 * The caller's wait for the answer to one request, over any transport. A transport creates one per request (or extends
 * this class, which has seven fields) and calls `finish` once when the wait is over.
 */
export class RequestContext implements JobOwner {
  #isFinished = false
  /** Allocated by the first job of the request. */
  #listeners: Set<() => void> | undefined
  /** Units charged and not yet used up by measured work. */
  #paidUnits = 0
  /** Units owed for work beyond the charged units. */
  #owedUnits = 0
  #spentUnits = 0
  /** The part of {@link spentUnits} that {@link takeSpent} has returned. */
  #takenUnits = 0

  /** `subscriber` is the connection's, on a transport that can send events. */
  constructor(
    readonly subscriber: Subscriber | undefined = undefined,
    readonly identity: Identity = anonymous,
  ) {}

  /** Whether a single result may be sent in parts. */
  get takesStreams(): boolean {
    return false
  }

  get keyId(): string {
    return this.identity.key.id
  }

  get weight(): number {
    return this.identity.key.limits?.weight ?? 1
  }

  /**
   * Charges for a call that is about to start. Returns the fault if the caller cannot pay, or may not call `method`. A
   * method that is not allowed costs the same as an invalid call.
   */
  pay(units: number, method?: string): Fault | undefined {
    if (method !== undefined && !this.#allows(method)) return this.notAllowed(method)
    const waitMs = this.identity.allowance?.charge(units) ?? 0
    if (waitMs > 0) return this.#limitExceeded('this call', units, waitMs)
    this.#paidUnits += units
    this.#spentUnits += units
    return undefined
  }

  /** Charges for a call of a method outside the scope of the key, and returns its fault; undefined if it is within. */
  notAllowed(method: string): Fault | undefined {
    if (this.#allows(method)) return undefined
    return this.pay(unitsMin) ?? { kind: 'MethodNotAllowed', method }
  }

  #allows(method: string): boolean {
    const { methods } = this.identity
    return methods === undefined || methods.allows(method)
  }

  /** Charges for reading a request of `bytes` bytes; returns the fault if the request must not be read. */
  payReading(bytes: number): Fault | undefined {
    const units = bodyUnits(bytes)
    const waitMs = this.chargeReading(units)
    if (waitMs === 0) return undefined
    if (bytes > unpaidBytesMax) return this.#limitExceeded('this request', units, waitMs)
    this.oweReading(units)
    return undefined
  }

  /** The fault of work that costs `units` and could be paid for in `retryAfterMs` milliseconds. */
  #limitExceeded(subject: string, units: number, retryAfterMs: number): Fault {
    const { allowance } = this.identity
    const lack = allowance?.exceededLimit
    if (lack !== undefined) return { kind: 'LimitExceeded', ...lack, retryAfterMs }
    const limit = allowance?.unitsPerSecond ?? 0
    const left = Math.max(Math.floor(units - (retryAfterMs * limit) / 1_000), 0)
    const what = `${subject} costs ${units} compute units, ${left} are left, and ${limit} come in a second`
    return { kind: 'LimitExceeded', what, limit, retryAfterMs }
  }

  get spentUnits(): number {
    return this.#spentUnits
  }

  /**
   * Like {@link Allowance.charge}, but for reading the request. The CPU time of reading is not measured, so these units
   * pay for no other work.
   */
  chargeReading(units: number): number {
    const waitMs = this.identity.allowance?.charge(units, 0) ?? 0
    if (waitMs === 0) this.#spentUnits += units
    return waitMs
  }

  /** Charges as a debt for a request that is read although {@link chargeReading} failed. */
  oweReading(units: number): void {
    this.#spentUnits += units
    this.identity.allowance?.debit(units)
  }

  /** The units spent since the last call of this function, whether or not they are limited. */
  takeSpent(): number {
    const units = this.#spentUnits - this.#takenUnits
    this.#takenUnits = this.#spentUnits
    return units
  }

  /** Counts CPU time of work for this request; time beyond the charged units is owed. */
  ran(cpuMs: number): void {
    this.#use(Math.round(cpuMs * unitsPerMs))
  }

  /** Like {@link ran}, but for the bytes of an answer that was rendered or repeated. */
  answered(bytes: number): void {
    if (bytes >= bytesPerUnit) this.#use(Math.floor(bytes / bytesPerUnit))
  }

  #use(units: number): void {
    const owed = units - this.#paidUnits
    this.#paidUnits = Math.max(-owed, 0)
    if (owed <= 0) return
    this.#owedUnits += owed
    this.#spentUnits += owed
    this.identity.allowance?.debit(owed)
  }

  /** Whether the wait is over: the client left, or its answer was sent. */
  get isFinished(): boolean {
    return this.#isFinished
  }

  /** Calls `listener` at the end; at once if the end has passed. */
  onFinished(listener: () => void): void {
    if (this.#isFinished) return listener()
    this.#listeners ??= new Set()
    this.#listeners.add(listener)
  }

  forget(listener: () => void): void {
    this.#listeners?.delete(listener)
  }

  /** False if too many calls of its connection wait; {@link release} frees each place that was admitted. */
  admit(): boolean {
    return true
  }

  /** Frees the place of an admitted call. */
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
