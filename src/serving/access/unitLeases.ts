/**
 * Units that this process may spend of keys whose quotas several processes share. Owns the table of leased and spent
 * units, in memory that all edges share. `shared/` gets the leases.
 *
 * A key that was not used lately has no lease. A credit pays for its first calls, so that they need not wait. The
 * credit is one lease divided by the number of processes, so that all credits together are one lease. For a key that
 * had a lease here before, the credit is at most its share of the units left then and added since. Otherwise a client
 * could wait for the end of each lease and get units beyond the quota. A process that starts knows no key. To bound its
 * credits too, the first call of each key would have to wait for a lease from the database.
 */

import { CounterTable, idNumber, keyIdOf, type TableShape } from './counterTable.js'
import { dayMs } from './dayQuotas.js'

/** The quota of one key for several processes together. If absent, there is no such limit. */
export interface UnitQuota {
  readonly perSecond: number | undefined
  /** Units at once; meaningful only with `perSecond`. */
  readonly burst: number
  readonly perDay: number | undefined
}

interface LeaseNews {
  readonly granted: number
  /** Time at which more units are available, on the clock of `Date.now`. */
  readonly moreAtMs: number
  /** Whether the quota of the day left no more. */
  readonly isDayOver: boolean
  /** Units left for all processes: of the burst, and of the day. */
  readonly burstLeft: number
  readonly dayLeft: number
}

export interface LeaseReport {
  readonly keyId: string
  /** Units spent since the last report. */
  readonly spent: number
  /** Units left of the lease, and units needed by the most expensive refused call. */
  readonly left: number
  readonly wanted: number
}

/** Keys that can have a lease; a key whose group is full of others is not limited. With 10,000 keys a group has 80. */
const shape: TableShape = { rows: 16_384, rowsPerGroup: 128, numbers: 9 }

/**
 * Indices in a row. `isOpen`: whether there is a lease. The last three are of the last exchange, whose time is 0 before
 * the first.
 */
const isOpenAt = 0
const leftAt = 1
const spentAt = 2
const wantedAt = 3
const moreAtMsAt = 4
const isDayOverAt = 5
const burstLeftAt = 6
const dayLeftAt = 7
const heardAtMsAt = 8

/** Before the table: whether a key needs a lease, and the number of processes. */
const neededAt = 0
const processesAt = 1
const headBytes = 2 * Int32Array.BYTES_PER_ELEMENT

/** 1.4 MiB. */
export const unitLeasesBytes = headBytes + CounterTable.bytesFor(shape)

/** Wait of a call that finds too few leased units: an exchange with the database, and some more. */
const leaseWaitMs = 100

/** A lease of this many units pays for the most expensive of the usual calls. */
const usualUnits = 1_000

/**
 * Units of one lease: a tenth of the burst or the units of one second, whichever is more. With a daily quota, a lease
 * is at most a thousandth of it, or {@link usualUnits} if that is more. It is never more than a tenth of the quota. So
 * all processes together lease little more than they soon spend.
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
  readonly #head: Int32Array
  readonly #table: CounterTable

  /** `memory` has {@link unitLeasesBytes} bytes, all zero at first. */
  constructor(memory: SharedArrayBuffer) {
    this.#head = new Int32Array(memory, 0, 2)
    const keptFor = (at: number) => (this.#table.numbers[at + isOpenAt] === 1 ? Number.POSITIVE_INFINITY : 0)
    this.#table = new CounterTable(shape, keptFor, memory, headBytes)
  }

  /** Processes that share the quotas, as far as this one knows. */
  get processes(): number {
    return Math.max(Atomics.load(this.#head, processesAt), 1)
  }

  set processes(count: number) {
    Atomics.store(this.#head, processesAt, count)
  }

  /** The units of a key that this process may spend. `keyId` has 12 hex digits. */
  of(keyId: string, quota: UnitQuota): LeasedUnits {
    return new LeasedUnits(this, this.#table, keyId, quota)
  }

  /** Makes the next {@link takeNeeded} report that a key needs a lease. */
  noteNeed(): void {
    if (Atomics.load(this.#head, neededAt) === 0) Atomics.store(this.#head, neededAt, 1)
  }

  /** Whether any key needed a lease since the last call. */
  takeNeeded(): boolean {
    return Atomics.exchange(this.#head, neededAt, 0) === 1
  }

  /** Keys with a lease, and their unreported units; reads the whole table. */
  readReports(): LeaseReport[] {
    const reports: LeaseReport[] = []
    this.#table.visit((id, at) => {
      if (this.#table.numbers[at + isOpenAt] === 1) reports.push(this.#reportOf(keyIdOf(id), at))
    })
    return reports
  }

  /** Applies the database's answer to a report. */
  renew({ keyId, spent, wanted }: LeaseReport, news: LeaseNews): void {
    const { numbers } = this.#table
    const at = this.#table.take(idNumber(keyId), 0, false)
    if (at === undefined) return
    numbers[at + leftAt] = (numbers[at + leftAt] as number) + Math.floor(news.granted)
    numbers[at + spentAt] = (numbers[at + spentAt] as number) - spent
    if (numbers[at + wantedAt] === wanted) numbers[at + wantedAt] = 0
    numbers[at + moreAtMsAt] = Math.ceil(news.moreAtMs)
    numbers[at + isDayOverAt] = Number(news.isDayOver)
    numbers[at + burstLeftAt] = Math.floor(news.burstLeft)
    numbers[at + dayLeftAt] = Math.floor(news.dayLeft)
    numbers[at + heardAtMsAt] = Date.now()
    this.#table.giveBack()
  }

  grant(keyId: string, units: number): void {
    const { numbers } = this.#table
    const at = this.#table.take(idNumber(keyId), 0, false)
    if (at === undefined) return
    numbers[at + leftAt] = (numbers[at + leftAt] as number) + Math.floor(units)
    this.#table.giveBack()
  }

  /** Ends the lease of a key here. Returns the final report of it. */
  end({ keyId }: LeaseReport): LeaseReport {
    const { numbers } = this.#table
    const at = this.#table.take(idNumber(keyId), 0, false)
    if (at === undefined) return { keyId, spent: 0, left: 0, wanted: 0 }
    numbers[at + leftAt] = 0
    numbers[at + isOpenAt] = 0
    const report = this.#reportOf(keyId, at)
    this.#table.giveBack()
    return report
  }

  #reportOf(keyId: string, at: number): LeaseReport {
    const read = (of: number) => this.#table.numbers[at + of] as number
    return { keyId, spent: read(spentAt), left: read(leftAt), wanted: read(wantedAt) }
  }
}

/** The units of one key that this process may spend; used like a bucket of the meter. */
class LeasedUnits {
  readonly perSecond: number
  readonly burst: number
  readonly perDay: number
  readonly #leases: UnitLeases
  readonly #table: CounterTable
  readonly #id: number
  readonly #leaseUnits: number

  constructor(leases: UnitLeases, table: CounterTable, keyId: string, quota: UnitQuota) {
    this.#leases = leases
    this.#table = table
    this.#id = idNumber(keyId)
    this.perDay = quota.perDay ?? Number.POSITIVE_INFINITY
    this.perSecond = quota.perSecond ?? Number.POSITIVE_INFINITY
    this.burst = quota.perSecond === undefined ? Number.POSITIVE_INFINITY : quota.burst
    this.#leaseUnits = leaseUnits(quota)
  }

  charge(units: number): number {
    const { numbers } = this.#table
    const at = this.#open()
    if (at === undefined) return 0
    const price = Math.ceil(units)
    const left = (numbers[at + leftAt] as number) - price
    const moreAtMs = numbers[at + moreAtMsAt] as number
    if (left >= 0) this.#take(at, price)
    else numbers[at + wantedAt] = Math.max(numbers[at + wantedAt] as number, price)
    this.#table.giveBack()
    if (left < this.#leaseUnits / 2) this.#leases.noteNeed()
    return left >= 0 ? 0 : Math.max(moreAtMs - Date.now(), leaseWaitMs)
  }

  debit(units: number): void {
    const at = this.#open()
    if (at === undefined) return
    this.#take(at, Math.round(units))
    this.#table.giveBack()
    this.#leases.noteNeed()
  }

  /** Units of the burst that are spent or leased elsewhere, as of the last exchange. */
  get spent(): number {
    return this.burst - this.#left(burstLeftAt, this.burst)
  }

  /** Units of the day that all processes have left, as of the last exchange. */
  get dayLeft(): number {
    return this.#left(dayLeftAt, this.perDay)
  }

  /** Whether the daily quota leaves no more units. */
  get isDayOver(): boolean {
    const at = this.#table.take(this.#id, 0, false)
    if (at === undefined) return false
    const isOver = this.#table.numbers[at + isDayOverAt] === 1
    this.#table.giveBack()
    return isOver
  }

  /** Does nothing: the day is part of {@link charge}. */
  chargeDay(): boolean {
    return true
  }

  /** Does nothing: the day is part of {@link debit}. */
  debitDay(): void {}

  #take(at: number, units: number): void {
    const { numbers } = this.#table
    numbers[at + leftAt] = (numbers[at + leftAt] as number) - units
    numbers[at + spentAt] = (numbers[at + spentAt] as number) + units
  }

  #left(of: number, otherwise: number): number {
    const { numbers } = this.#table
    const at = this.#table.take(this.#id, 0, false)
    if (at === undefined) return otherwise
    const isHeard = numbers[at + moreAtMsAt] !== 0
    const left = Math.max(numbers[at + leftAt] as number, 0) + (numbers[at + of] as number)
    this.#table.giveBack()
    return isHeard ? Math.min(left, otherwise) : otherwise
  }

  /** Takes the row of the key, and adds its credit if it had no lease. */
  #open(): number | undefined {
    const { numbers } = this.#table
    const at = this.#table.take(this.#id)
    if (at === undefined || numbers[at + isOpenAt] === 1) return at
    for (const of of [moreAtMsAt, isDayOverAt, wantedAt]) numbers[at + of] = 0
    const credit = Math.min(this.#leaseUnits, this.#leftSince(at)) / this.#leases.processes
    numbers[at + leftAt] = (numbers[at + leftAt] as number) + Math.floor(credit)
    numbers[at + isOpenAt] = 1
    this.#leases.noteNeed()
    return at
  }

  /** Units left for all processes, if only this one spent units since the last exchange. */
  #leftSince(at: number): number {
    const read = (of: number) => this.#table.numbers[at + of] as number
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
}
