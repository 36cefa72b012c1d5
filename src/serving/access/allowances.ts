/** The allowance of each API key: its own limits, or those of the configuration. Owns which limit refuses, and why. */
import type { KeyLimits } from '../../data/store/node/keyRows.js'
import { DayQuotas, quotaBytes } from './dayQuotas.js'
import { type Bucket, Meter, meterBytes } from './meter.js'
import { UnitLeases, type UnitQuota, unitLeasesBytes } from './unitLeases.js'

/** Units per second and at once, for keys without limits of their own. */
export interface UnitRates {
  readonly unitsPerSecond: number
  readonly unitsBurst: number
}

export interface SpentMemory {
  readonly meter: SharedArrayBuffer
  readonly quotas: SharedArrayBuffer
  /** Memory of {@link UnitLeases}; absent if units are not shared with other processes. */
  readonly leases?: SharedArrayBuffer
}

export function allotSpentMemory(areUnitsShared = false): SpentMemory {
  return {
    meter: new SharedArrayBuffer(meterBytes),
    quotas: new SharedArrayBuffer(quotaBytes),
    ...(areUnitsShared && { leases: new SharedArrayBuffer(unitLeasesBytes) }),
  }
}

const unitsKind = 0
const requestsKind = 1

/** Least burst. Of units: more than the most expensive call. Of requests: as many as a page makes when it loads. */
export const unitsBurstMin = 25_000
const requestsBurstMin = 10

/** Default burst of units, in seconds of the rate, as in the configuration. */
const burstSeconds = 10

export class Allowances {
  readonly #meter: Meter
  readonly #defaults: UnitRates | undefined
  readonly quotas: DayQuotas
  readonly leases: UnitLeases | undefined

  /**
   * Without `defaults`, keys without limits of their own are unlimited. With `leases`, units are shared with other
   * processes; requests per second never are.
   */
  constructor(meter: Meter, defaults?: UnitRates, quotas = new DayQuotas(), leases?: UnitLeases) {
    this.#meter = meter
    this.#defaults = defaults
    this.quotas = quotas
    this.leases = leases
  }

  static over({ meter, quotas, leases }: SpentMemory, defaults: UnitRates | undefined): Allowances {
    const shared = leases && new UnitLeases(leases)
    return new Allowances(new Meter(meter), defaults, new DayQuotas(quotas), shared)
  }

  quotaOf(limits: KeyLimits = {}): UnitQuota {
    const perSecond = limits.unitsPerSecond ?? this.#defaults?.unitsPerSecond
    const ownBurst = limits.unitsPerSecond && Math.max(burstSeconds * limits.unitsPerSecond, unitsBurstMin)
    const burst = limits.unitsBurst ?? ownBurst ?? this.#defaults?.unitsBurst ?? 0
    return { perSecond, burst, perDay: limits.unitsPerDay }
  }

  /** The allowance of a key; undefined if the key has no limit. */
  of(keyId: string, limits: KeyLimits = {}): KeyAllowance | undefined {
    const quota = this.quotaOf(limits)
    const { perSecond, burst, perDay } = quota
    const { requestsPerSecond } = limits
    const hasUnits = perSecond !== undefined || perDay !== undefined
    if (!hasUnits && requestsPerSecond === undefined) return undefined
    const requests =
      requestsPerSecond === undefined
        ? undefined
        : this.#meter.bucketOf(keyId, requestsKind, {
            perSecond: requestsPerSecond,
            burst: limits.requestsBurst ?? Math.max(requestsPerSecond, requestsBurstMin),
          })
    const msToMidnight = () => this.quotas.msToMidnight
    if (hasUnits && this.leases !== undefined && isKey(keyId)) {
      const leased = this.leases.of(keyId, quota)
      return new KeyAllowance(leased, requests, perDay === undefined ? undefined : leased, msToMidnight)
    }
    return new KeyAllowance(
      perSecond === undefined ? undefined : this.#meter.bucketOf(keyId, unitsKind, { perSecond, burst }),
      requests,
      perDay === undefined ? undefined : ownDayUnits(this.quotas, keyId, perDay),
      msToMidnight,
    )
  }
}

/** Whether this is the id of a key, and not the one of all callers when no keys are needed. */
function isKey(keyId: string): boolean {
  return /[^0]/.test(keyId)
}

/** Units at a rate: a bucket of this process, or a lease. */
type Units = Pick<Bucket, 'perSecond' | 'burst' | 'spent' | 'charge' | 'debit'>

/** Units for a day: counted by this process, or leased together with units at a rate. */
interface DayUnits {
  readonly perDay: number
  readonly dayLeft: number
  /** Whether units at a rate were refused because of the day. */
  readonly isDayOver: boolean
  chargeDay(units: number): boolean
  debitDay(units: number): void
}

function ownDayUnits(quotas: DayQuotas, keyId: string, perDay: number): DayUnits {
  return {
    perDay,
    isDayOver: false,
    get dayLeft() {
      return Math.max(perDay - quotas.spent(keyId), 0)
    },
    chargeDay: (units) => quotas.charge(keyId, units, perDay),
    debitDay: (units) => quotas.debit(keyId, units),
  }
}

export class KeyAllowance {
  /** The limit that refused the last charge, unless it was the units per second. */
  exceededLimit: { readonly what: string; readonly limit: number; readonly isOfDay?: boolean } | undefined
  readonly #units: Units | undefined
  readonly #requests: Bucket | undefined
  readonly #day: DayUnits | undefined
  readonly #msToMidnight: () => number

  constructor(
    units: Units | undefined,
    requests: Bucket | undefined,
    day: DayUnits | undefined,
    msToMidnight: () => number,
  ) {
    this.#units = units
    this.#requests = requests
    this.#day = day
    this.#msToMidnight = msToMidnight
  }

  /** Units of the current day, and when it ends; undefined without a daily quota. */
  get day(): { readonly units: number; readonly spent: number; readonly msToEnd: number } | undefined {
    if (this.#day === undefined) return undefined
    const { perDay, dayLeft } = this.#day
    return { units: perDay, spent: perDay - dayLeft, msToEnd: this.#msToMidnight() }
  }

  get unitsPerSecond(): number {
    return this.#units?.perSecond ?? Number.POSITIVE_INFINITY
  }

  /**
   * Takes `units` for this many requests and returns 0. If any limit has too few left, takes nothing and returns the
   * milliseconds until it has enough, provided that nothing else is spent.
   */
  charge(units: number, requests = 1): number {
    this.exceededLimit = undefined
    const ofRequests = this.#requests
    if (ofRequests !== undefined && requests > 0) {
      const waitMs = ofRequests.charge(requests)
      if (waitMs > 0) {
        const { perSecond, burst } = ofRequests
        this.exceededLimit = {
          what: `this API key may make ${perSecond} requests a second, ${burst} at once`,
          limit: perSecond,
        }
        return waitMs
      }
    }
    const waitMs = this.#units?.charge(units) ?? 0
    const day = this.#day
    if (waitMs === 0 && (day === undefined || day.chargeDay(units))) return 0
    if (requests > 0) ofRequests?.debit(-requests)
    if (waitMs === 0) this.#units?.debit(-units)
    const isOfDay = waitMs === 0 || day?.isDayOver || this.unitsPerSecond === Number.POSITIVE_INFINITY
    if (day === undefined || !isOfDay) return waitMs
    this.exceededLimit = {
      what: `this API key may spend ${day.perDay} compute units a day`,
      limit: day.perDay,
      isOfDay: true,
    }
    return waitMs === 0 ? this.#msToMidnight() : waitMs
  }

  /** Takes `units` even if fewer are left; see {@link Bucket.debit}. */
  debit(units: number): void {
    this.#units?.debit(units)
    this.#day?.debitDay(units)
  }

  /**
   * The headers RateLimit-Policy and RateLimit of draft-ietf-httpapi-ratelimit-headers-10. For each limit they give its
   * name, the burst (`q`) and the seconds of a refill (`w`). Then follow the rest (`r`), and the seconds until the rest
   * is full (`t`).
   */
  headers(): readonly (readonly [name: string, value: string])[] {
    const policies: string[] = []
    const states: string[] = []
    const add = (name: string, unit: string, bucket: Units | undefined) => {
      if (bucket === undefined || bucket.perSecond === Number.POSITIVE_INFINITY) return
      const { perSecond, burst, spent } = bucket
      policies.push(`"${name}";q=${burst};w=${Math.ceil(burst / perSecond)}${unit}`)
      states.push(`"${name}";r=${Math.max(burst - spent, 0)};t=${Math.ceil(spent / perSecond)}`)
    }
    add('requests', '', this.#requests)
    add('units', ';qu="compute-units"', this.#units)
    if (this.#day !== undefined) {
      const { perDay, dayLeft } = this.#day
      policies.push(`"day";q=${perDay};w=86400;qu="compute-units"`)
      states.push(`"day";r=${dayLeft};t=${Math.ceil(this.#msToMidnight() / 1_000)}`)
    }
    return [
      ['ratelimit-policy', policies.join(', ')],
      ['ratelimit', states.join(', ')],
    ]
  }
}
