/** What each API key may spend: its own limits, or those of the configuration. Owns which limit refuses, and why. */
import type { KeyLimits } from '../store/keyRows.js'
import { DayQuotas, quotaBytes } from './dayQuotas.js'
import { type Bucket, Meter, meterBytes } from './meter.js'

/** Units per second and at once, of keys without limits of their own. */
export interface UnitRates {
  readonly unitsPerSecond: number
  readonly unitsBurst: number
}

/** What keys have spent, in memory that all edges share. */
export interface SpentMemory {
  readonly meter: SharedArrayBuffer
  readonly quotas: SharedArrayBuffer
}

export function allotSpentMemory(): SpentMemory {
  return { meter: new SharedArrayBuffer(meterBytes), quotas: new SharedArrayBuffer(quotaBytes) }
}

const unitsKind = 0
const requestsKind = 1

/** Least burst: of units, more than the dearest call; of requests, what a page asks when it loads. */
export const unitsBurstMin = 25_000
const requestsBurstMin = 10

/** Default burst of units, in seconds of the rate, as in the configuration. */
const burstSeconds = 10

export class Allowances {
  readonly #meter: Meter
  readonly #defaults: UnitRates | undefined
  readonly quotas: DayQuotas

  /** `defaults` absent: keys without limits of their own have none. */
  constructor(meter: Meter, defaults?: UnitRates, quotas = new DayQuotas()) {
    this.#meter = meter
    this.#defaults = defaults
    this.quotas = quotas
  }

  /** Over memory that other threads may use as well. */
  static over({ meter, quotas }: SpentMemory, defaults: UnitRates | undefined): Allowances {
    return new Allowances(new Meter(meter), defaults, new DayQuotas(quotas))
  }

  /** The allowance of a key; undefined where nothing limits what it spends. */
  of(keyId: string, limits: KeyLimits = {}): KeyAllowance | undefined {
    const unitsPerSecond = limits.unitsPerSecond ?? this.#defaults?.unitsPerSecond
    const { requestsPerSecond, unitsPerDay } = limits
    if (unitsPerSecond === undefined && requestsPerSecond === undefined && unitsPerDay === undefined) {
      return undefined
    }
    const ownBurst = limits.unitsPerSecond && Math.max(burstSeconds * limits.unitsPerSecond, unitsBurstMin)
    const units = unitsPerSecond && {
      perSecond: unitsPerSecond,
      burst: limits.unitsBurst ?? ownBurst ?? this.#defaults?.unitsBurst ?? 0,
    }
    const requests = requestsPerSecond && {
      perSecond: requestsPerSecond,
      burst: limits.requestsBurst ?? Math.max(requestsPerSecond, requestsBurstMin),
    }
    return new KeyAllowance(
      units ? this.#meter.bucketOf(keyId, unitsKind, units) : undefined,
      requests ? this.#meter.bucketOf(keyId, requestsKind, requests) : undefined,
      unitsPerDay === undefined ? undefined : { quotas: this.quotas, keyId, unitsPerDay },
    )
  }
}

interface DayQuota {
  readonly quotas: DayQuotas
  readonly keyId: string
  readonly unitsPerDay: number
}

/** What one key may spend. */
export class KeyAllowance {
  /** Which limit refused the last charge, if that was not the one of units per second. */
  lack: { readonly what: string; readonly limit: number } | undefined
  readonly #units: Bucket | undefined
  readonly #requests: Bucket | undefined
  readonly #day: DayQuota | undefined

  constructor(units: Bucket | undefined, requests: Bucket | undefined, day: DayQuota | undefined) {
    this.#units = units
    this.#requests = requests
    this.#day = day
  }

  get unitsPerSecond(): number {
    return this.#units?.perSecond ?? Number.POSITIVE_INFINITY
  }

  /**
   * Takes `units` for so many requests and returns 0. Where any limit leaves fewer, takes nothing and returns the
   * milliseconds until they are there if nothing else is spent. About 0.1 µs for each limit.
   */
  charge(units: number, requests = 1): number {
    this.lack = undefined
    const ofRequests = this.#requests
    if (ofRequests !== undefined && requests > 0) {
      const waitMs = ofRequests.charge(requests)
      if (waitMs > 0) {
        const { perSecond, burst } = ofRequests
        this.lack = {
          what: `this API key may make ${perSecond} requests a second, ${burst} at once`,
          limit: perSecond,
        }
        return waitMs
      }
    }
    const waitMs = this.#units?.charge(units) ?? 0
    const day = this.#day
    if (waitMs === 0 && (day === undefined || day.quotas.charge(day.keyId, units, day.unitsPerDay))) return 0
    if (requests > 0) ofRequests?.debit(-requests)
    if (waitMs > 0 || day === undefined) return waitMs
    this.#units?.debit(-units)
    this.lack = {
      what: `this API key may spend ${day.unitsPerDay} compute units a day`,
      limit: day.unitsPerDay,
    }
    return day.quotas.msToMidnight
  }

  /** Takes `units` even where fewer are left; see {@link Bucket.debit}. */
  debit(units: number): void {
    this.#units?.debit(units)
    if (this.#day !== undefined) this.#day.quotas.debit(this.#day.keyId, units)
  }

  /**
   * The headers RateLimit-Policy and RateLimit of draft-ietf-httpapi-ratelimit-headers-10: of each limit its name,
   * what may be spent at once (`q`), the seconds in which that flows in (`w`), what is left (`r`), and the seconds
   * until all of it is there again (`t`).
   */
  headers(): readonly (readonly [name: string, value: string])[] {
    const policies: string[] = []
    const states: string[] = []
    const add = (name: string, unit: string, bucket: Bucket | undefined) => {
      if (bucket === undefined) return
      const { perSecond, burst, spent } = bucket
      policies.push(`"${name}";q=${burst};w=${Math.ceil(burst / perSecond)}${unit}`)
      states.push(`"${name}";r=${Math.max(burst - spent, 0)};t=${Math.ceil(spent / perSecond)}`)
    }
    add('requests', '', this.#requests)
    add('units', ';qu="compute-units"', this.#units)
    if (this.#day !== undefined) {
      const { quotas, keyId, unitsPerDay } = this.#day
      policies.push(`"day";q=${unitsPerDay};w=86400;qu="compute-units"`)
      const left = Math.max(unitsPerDay - quotas.spent(keyId), 0)
      states.push(`"day";r=${left};t=${Math.ceil(quotas.msToMidnight / 1_000)}`)
    }
    return [
      ['ratelimit-policy', policies.join(', ')],
      ['ratelimit', states.join(', ')],
    ]
  }
}
