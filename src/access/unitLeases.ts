/**
 * Units that this process may spend of keys whose quotas several processes share. Owns the table of what is leased and
 * spent, in memory that all edges share; where leases come from, `shared/` owns. A charge is one compare-and-exchange.
 *
 * A key that was not used lately has no lease. Its first calls are paid from a credit, so that they need not wait: one
 * lease, divided by the number of processes, so that all credits together are one lease. Of a key that had a lease here
 * before, it is no more than its share of what was left then and has come in since; otherwise whoever waits for the end
 * of a lease would get units beyond the quota each time. A process that starts knows no key: a bound that holds for it as
 * well would need a lease for the first call of each key, which would have to wait for the database.
 */

/** What several processes together may spend of one key. Absent: no such limit. */
export interface UnitQuota {
  readonly perSecond: number | undefined
  /** Units at once; has a meaning with `perSecond` alone. */
  readonly burst: number
  readonly perDay: number | undefined
}

/** What an exchange of leases says of a key. */
export interface LeaseNews {
  readonly granted: number
  /** When there is more, on the clock of `Date.now`. */
  readonly moreAtMs: number
  /** Whether it is the quota of the day that left no more. */
  readonly isDayOver: boolean
  /** What is left for all processes: of the burst, and of the day. */
  readonly burstLeft: number
  readonly dayLeft: number
}

/** What a process tells of a key. */
export interface LeaseReport {
  readonly keyId: string
  /** Units spent since the last report. */
  readonly spent: number
  /** Units that it has left, and those that the dearest call needs that was refused. */
  readonly left: number
  readonly wanted: number
}

const places = 16_384
const probesMax = 64

const stirredAt = 0
const processesAt = 1
const headWords = 2

/**
 * Words of a place: the key's id (0 where it was never used); whether there is a lease (below); then as their names
 * say. The last three are of the last exchange, whose time is 0 before the first.
 */
const markAt = 0
const stateAt = 1
const leftAt = 2
const spentAt = 3
const wantedAt = 4
const moreAtMsAt = 5
const isDayOverAt = 6
const burstLeftAt = 7
const dayLeftAt = 8
const heardAtMsAt = 9
const placeWords = 10

/** Without a lease. */
const closed = 0n
/** With one. */
const open = 1n
/** One thread opens it, or gives it to another key; others wait, for some microseconds at most. */
const held = 2n

/** 1.3 MiB. */
export const unitLeasesBytes = (headWords + places * placeWords) * BigInt64Array.BYTES_PER_ELEMENT

/** Wait of a call that finds too little leased: an exchange with the database, and a bit. */
const leaseWaitMs = 100

/** Quotas of a day begin at midnight, UTC. */
const dayMs = 86_400_000

/** A lease of this many units pays for the dearest of the usual calls. */
const usualUnits = 1_000

/**
 * Units of one lease: a tenth of the burst, or one second's; of a quota for the day at most a thousandth, or
 * {@link usualUnits} where those are less than a tenth. So all processes together have little more leased than they soon
 * spend.
 */
export function leaseUnits({ perSecond, burst, perDay }: UnitQuota): number {
  const ofRate = perSecond === undefined ? Number.POSITIVE_INFINITY : Math.max(perSecond, burst / 10)
  const ofDay =
    perDay === undefined
      ? Number.POSITIVE_INFINITY
      : Math.max(perDay / 1_000, Math.min(usualUnits, perDay / 10))
  return Math.max(Math.floor(Math.min(ofRate, ofDay)), 1)
}

export class UnitLeases {
  readonly #words: BigInt64Array

  /** `memory` has {@link unitLeasesBytes} bytes, all zero at first. */
  constructor(memory: SharedArrayBuffer) {
    this.#words = new BigInt64Array(memory)
  }

  /** Processes that share the quotas, as far as this one knows. */
  get processes(): number {
    return Math.max(Number(Atomics.load(this.#words, processesAt)), 1)
  }

  set processes(count: number) {
    Atomics.store(this.#words, processesAt, BigInt(count))
  }

  /** What a key may spend here. `keyId` has 12 hex digits. */
  of(keyId: string, quota: UnitQuota): LeasedUnits {
    return new LeasedUnits(this.#words, keyId, quota, () => this.processes)
  }

  /** Whether any key needs a lease since this was asked last. */
  takeStirred(): boolean {
    return Atomics.exchange(this.#words, stirredAt, 0n) === 1n
  }

  /** Keys with a lease, and what is not reported yet of them; looks at the whole table. */
  readReports(): LeaseReport[] {
    const words = this.#words
    const reports: LeaseReport[] = []
    for (let place = headWords; place < words.length; place += placeWords) {
      if (Atomics.load(words, place + stateAt) === open) reports.push(reportOf(words, place))
    }
    return reports
  }

  /** Takes in what the database says to a report. */
  renew({ keyId, spent, wanted }: LeaseReport, news: LeaseNews): void {
    const words = this.#words
    const place = findPlace(words, keyId)
    if (place === undefined) return
    Atomics.sub(words, place + spentAt, BigInt(spent))
    Atomics.compareExchange(words, place + wantedAt, BigInt(wanted), 0n)
    Atomics.store(words, place + moreAtMsAt, BigInt(Math.ceil(news.moreAtMs)))
    Atomics.store(words, place + isDayOverAt, news.isDayOver ? 1n : 0n)
    Atomics.store(words, place + burstLeftAt, BigInt(Math.floor(news.burstLeft)))
    Atomics.store(words, place + dayLeftAt, BigInt(Math.floor(news.dayLeft)))
    Atomics.store(words, place + heardAtMsAt, BigInt(Date.now()))
    this.grant(keyId, news.granted)
  }

  /** Adds to what is left of a key. */
  grant(keyId: string, units: number): void {
    const place = findPlace(this.#words, keyId)
    if (place !== undefined) Atomics.add(this.#words, place + leftAt, BigInt(Math.floor(units)))
  }

  /** Ends the lease of a key here; what is to be reported of it. */
  end({ keyId }: LeaseReport): LeaseReport {
    const words = this.#words
    const place = findPlace(words, keyId)
    if (place === undefined) return { keyId, spent: 0, left: 0, wanted: 0 }
    Atomics.store(words, place + leftAt, 0n)
    Atomics.store(words, place + stateAt, closed)
    return reportOf(words, place)
  }
}

/** What a process may spend of one key; used as a bucket of the meter is. */
export class LeasedUnits {
  readonly perSecond: number
  readonly burst: number
  readonly perDay: number
  readonly #words: BigInt64Array
  readonly #keyId: string
  readonly #leaseUnits: number
  readonly #processes: () => number

  /** Only {@link UnitLeases} makes these. */
  constructor(words: BigInt64Array, keyId: string, quota: UnitQuota, processes: () => number) {
    this.#words = words
    this.#keyId = keyId
    this.perDay = quota.perDay ?? Number.POSITIVE_INFINITY
    this.perSecond = quota.perSecond ?? Number.POSITIVE_INFINITY
    this.burst = quota.perSecond === undefined ? Number.POSITIVE_INFINITY : quota.burst
    this.#leaseUnits = leaseUnits(quota)
    this.#processes = processes
  }

  /** As {@link Bucket.charge}. */
  charge(units: number): number {
    const words = this.#words
    const place = this.#open()
    // More keys than places; see `places`.
    if (place === undefined) return 0
    const price = BigInt(Math.ceil(units))
    for (;;) {
      const left = Atomics.load(words, place + leftAt)
      if (left < price) {
        if (Atomics.load(words, place + wantedAt) < price) Atomics.store(words, place + wantedAt, price)
        this.#stir()
        return Math.max(Number(Atomics.load(words, place + moreAtMsAt)) - Date.now(), leaseWaitMs)
      }
      if (Atomics.compareExchange(words, place + leftAt, left, left - price) === left) {
        Atomics.add(words, place + spentAt, price)
        if (Number(left - price) < this.#leaseUnits / 2) this.#stir()
        return 0
      }
    }
  }

  /** As {@link Bucket.debit}. */
  debit(units: number): void {
    const place = this.#open()
    if (place === undefined) return
    Atomics.sub(this.#words, place + leftAt, BigInt(Math.round(units)))
    Atomics.add(this.#words, place + spentAt, BigInt(Math.round(units)))
    this.#stir()
  }

  /** Units of the burst that are spent or leased elsewhere, as of the last exchange. */
  get spent(): number {
    return this.burst - this.#left(burstLeftAt, this.burst)
  }

  /** Units of the day that all processes have left, as of the last exchange. */
  get dayLeft(): number {
    return this.#left(dayLeftAt, this.perDay)
  }

  /** Whether it is the quota of the day that leaves no more. */
  get isDayOver(): boolean {
    const place = findPlace(this.#words, this.#keyId)
    return place !== undefined && Atomics.load(this.#words, place + isDayOverAt) === 1n
  }

  /** Nothing: the day is part of {@link charge}. */
  chargeDay(): boolean {
    return true
  }

  /** Nothing: the day is part of {@link debit}. */
  debitDay(): void {}

  #left(at: number, otherwise: number): number {
    const place = findPlace(this.#words, this.#keyId)
    if (place === undefined || Atomics.load(this.#words, place + moreAtMsAt) === 0n) return otherwise
    const own = Math.max(Number(Atomics.load(this.#words, place + leftAt)), 0)
    return Math.min(Number(Atomics.load(this.#words, place + at)) + own, otherwise)
  }

  /** The place of the key, with its credit where it has no lease. */
  #open(): number | undefined {
    const words = this.#words
    const claimed = claimPlace(words, this.#keyId)
    if (claimed === undefined || claimed.isOpen) return claimed?.place
    const { place } = claimed
    for (const at of [moreAtMsAt, isDayOverAt, wantedAt]) Atomics.store(words, place + at, 0n)
    const credit = Math.min(this.#leaseUnits, this.#leftSince(place)) / this.#processes()
    Atomics.add(words, place + leftAt, BigInt(Math.floor(credit)))
    Atomics.store(words, place + stateAt, open)
    this.#stir()
    return place
  }

  /** What all processes have left if none but this one spent since the last exchange. */
  #leftSince(place: number): number {
    const read = (at: number) => Number(Atomics.load(this.#words, place + at))
    const heardAtMs = read(heardAtMsAt)
    if (heardAtMs === 0) return Number.POSITIVE_INFINITY
    const nowMs = Date.now()
    const ofRate =
      this.burst === Number.POSITIVE_INFINITY
        ? this.burst
        : read(burstLeftAt) + (this.perSecond * (nowMs - heardAtMs)) / 1_000
    const isSameDay = Math.floor(nowMs / dayMs) === Math.floor(heardAtMs / dayMs)
    const ofDay = isSameDay && this.perDay !== Number.POSITIVE_INFINITY ? read(dayLeftAt) : this.perDay
    return Math.max(Math.min(ofRate, ofDay), 0)
  }

  #stir(): void {
    if (Atomics.load(this.#words, stirredAt) === 0n) Atomics.store(this.#words, stirredAt, 1n)
  }
}

function reportOf(words: BigInt64Array, place: number): LeaseReport {
  return {
    keyId: Atomics.load(words, place + markAt)
      .toString(16)
      .padStart(12, '0'),
    spent: Number(Atomics.load(words, place + spentAt)),
    left: Number(Atomics.load(words, place + leftAt)),
    wanted: Number(Atomics.load(words, place + wantedAt)),
  }
}

/** The place of a key; undefined where it has none. */
function findPlace(words: BigInt64Array, keyId: string): number | undefined {
  const mark = markOf(keyId)
  const { place, found } = searchPlace(words, keyId, mark)
  return found === mark ? place : undefined
}

/** The place of a key with a lease; or one that this thread holds, to open the lease. Undefined where there is no room. */
function claimPlace(
  words: BigInt64Array,
  keyId: string,
): { readonly place: number; readonly isOpen: boolean } | undefined {
  const mark = markOf(keyId)
  for (;;) {
    const { place, found } = searchPlace(words, keyId, mark)
    if (place === undefined) return undefined
    const state = Atomics.compareExchange(words, place + stateAt, closed, held)
    if (state === open && found === mark) return { place, isOpen: true }
    if (state !== closed) continue
    if (Atomics.load(words, place + markAt) !== found) {
      // It was given to another key since it was found.
      Atomics.store(words, place + stateAt, closed)
      continue
    }
    if (found !== mark) {
      for (const at of [leftAt, spentAt, heardAtMsAt]) Atomics.store(words, place + at, 0n)
      Atomics.store(words, place + markAt, mark)
    }
    return { place, isOpen: false }
  }
}

/**
 * The place of a key, or else the one that it may be given: one that was never used, or one whose key has no lease.
 * `found` is the key that has it.
 */
function searchPlace(
  words: BigInt64Array,
  keyId: string,
  mark: bigint,
): { readonly place: number | undefined; readonly found: bigint } {
  const home = Number.parseInt(keyId.slice(0, 4), 16)
  let place: number | undefined
  let found = 0n
  for (let probe = 0; probe < probesMax; probe++) {
    const at = headWords + placeWords * ((home + probe) % places)
    const key = Atomics.load(words, at + markAt)
    const state = Atomics.load(words, at + stateAt)
    // Whose it will be is not known yet.
    if (state === held) {
      probe = -1
      place = undefined
    } else if (key === mark || key === 0n) return { place: at, found: key }
    else if (state === closed && place === undefined) {
      place = at
      found = key
    }
  }
  return { place, found }
}

function markOf(keyId: string): bigint {
  return BigInt(`0x${keyId}`)
}
