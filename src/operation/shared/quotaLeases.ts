/**
 * Leases of units of the quotas that several processes share. Owns the leases, reports and returns of this process.
 * PostgreSQL makes the sums (`exchange_lease`), and `access/unitLeases.ts` counts spent units.
 *
 * While the database does not answer, each key gets units at the rate of its last lease. That rate is its quota,
 * divided by the processes that had a lease. Units spent meanwhile are reported afterwards.
 */

import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Connection, UnreachableError } from '../../data/postgres/connection.js'
import { waitFor } from '../../primitives/deferred.js'
import {
  type LeaseReport,
  leaseUnits,
  type UnitLeases,
  type UnitQuota,
} from '../../serving/access/unitLeases.js'
import type { SharedKeys } from './sharedKeys.js'

/** Time between two checks for keys that need units: at most 20 statements a second, for any number of keys. */
const exchangeMs = 50
/** After this long without an answer, keys continue at the rate of their last leases. */
const answerMs = 1_000
/**
 * Longest time between two reports of a key, used or not, and two heartbeats; also a third of a lease. A key without
 * use since the last report ends its lease.
 */
const reportMsMax = 5_000
/** Interval of leases for a daily quota without a rate, while the database does not answer. */
const loneLeaseMs = 15_000

/** A key with a lease, on the clock of `performance.now`. */
interface Grant {
  /** Units a second, while the database does not answer. */
  rate: number
  reportedAtMs: number
  /** The database has no more units before this time. */
  moreAtMs: number
  /** Time until which units were granted without the database. */
  aloneAtMs: number
}

interface Asked {
  readonly report: LeaseReport
  readonly quota: UnitQuota
  /** Further units requested; -1: the lease ends. */
  readonly wanted: number
}

export class QuotaLeases {
  readonly #keys: SharedKeys
  readonly #leases: UnitLeases
  readonly #quotaOf: (keyId: string) => UnitQuota
  readonly #leaseMs: number
  readonly #reportMs: number
  readonly #process = `${hostname()} ${process.pid} ${randomUUID()}`
  readonly #grants = new Map<string, Grant>()
  readonly #closing = new AbortController()
  #heardAtMs = Number.NEGATIVE_INFINITY
  #isLost = false
  #pending: Promise<void> | undefined
  readonly #running: Promise<void>

  /**
   * Begins to lease. `quotaOf` returns the quota of a key for all processes together. After `leaseMs` without a report
   * this process counts as dead, and its leases as lost.
   */
  constructor(keys: SharedKeys, leases: UnitLeases, quotaOf: (keyId: string) => UnitQuota, leaseMs: number) {
    this.#keys = keys
    this.#leases = leases
    this.#quotaOf = quotaOf
    this.#leaseMs = leaseMs
    this.#reportMs = Math.min(leaseMs / 3, reportMsMax)
    this.#running = this.#run()
  }

  /** Gives all leases back, if the database answers. */
  async close(): Promise<void> {
    this.#closing.abort()
    await this.#running
    await this.#pending
    await this.#exchange(this.#leases.readReports().map((report) => this.#ending(report)))
    await this.#keys
      .use((connection) => connection.query('delete from process where name = $1', [this.#process]))
      .catch(() => undefined)
  }

  async #run(): Promise<void> {
    const { signal } = this.#closing
    while (!signal.aborted) {
      const nowMs = performance.now()
      const isDue = nowMs - this.#heardAtMs > this.#reportMs
      if (this.#leases.takeNeeded() || isDue) {
        const reports = this.#leases.readReports()
        if (this.#pending === undefined) {
          const asked = reports.flatMap((report) => this.#ask(report, nowMs))
          if (asked.length > 0 || isDue) this.#begin(asked)
        }
        await waitFor(this.#pending, answerMs)
        if (this.#isLost || this.#pending !== undefined) this.#goOnAlone(reports)
      }
      await sleep(exchangeMs, undefined, { signal }).catch(() => undefined)
    }
  }

  #begin(asked: readonly Asked[]): void {
    this.#pending = this.#exchange(asked).finally(() => {
      this.#pending = undefined
    })
  }

  /** The request for a key; none if it has enough, or the database has no more. */
  #ask(report: LeaseReport, nowMs: number): Asked[] {
    const { keyId, spent, left, wanted } = report
    const quota = this.#quotaOf(keyId)
    const units = leaseUnits(quota)
    const grant = this.#grants.get(keyId)
    const isDue = grant !== undefined && nowMs - grant.reportedAtMs > this.#reportMs
    if (isDue && spent === 0 && wanted === 0) return [this.#ending(report)]
    const lacking = left < units / 2 || left < wanted ? Math.max(units, wanted) - left : 0
    if (lacking > 0 && nowMs >= (grant?.moreAtMs ?? 0)) return [{ report, quota, wanted: lacking }]
    return isDue || grant === undefined ? [{ report, quota, wanted: 0 }] : []
  }

  #ending(report: LeaseReport): Asked {
    this.#grants.delete(report.keyId)
    return { report: this.#leases.end(report), quota: this.#quotaOf(report.keyId), wanted: -1 }
  }

  /** Reports usage and requests units; never rejects. */
  async #exchange(asked: readonly Asked[]): Promise<void> {
    try {
      await this.#keys.use((connection) => this.#exchangeOver(connection, asked))
      this.#isLost = false
    } catch (error) {
      if (!(error instanceof UnreachableError)) throw error
      this.#isLost = true
    }
  }

  async #exchangeOver(connection: Connection, asked: readonly Asked[]): Promise<void> {
    // In the order of ids, so that two processes never wait for each other.
    const sorted = [...asked].sort((a, b) => (a.report.keyId < b.report.keyId ? -1 : 1))
    const rows = await connection.query(
      `select exchanged.* from
        unnest($3::text[], $4::bigint[], $5::bigint[], $6::float8[], $7::float8[], $8::bigint[])
          with ordinality as asked (key_id, spent, wanted, per_second, burst, per_day, at),
        lateral exchange_lease(asked.key_id, $1, asked.spent, asked.wanted, $2, asked.per_second, asked.burst, asked.per_day)
          as exchanged
       order by asked.at`,
      [
        this.#process,
        this.#leaseMs,
        sorted.map(({ report }) => report.keyId),
        sorted.map(({ report }) => report.spent),
        sorted.map(({ wanted }) => wanted),
        sorted.map(({ quota }) => quota.perSecond ?? null),
        sorted.map(({ quota }) => quota.burst),
        sorted.map(({ quota }) => quota.perDay ?? null),
      ],
    )
    const nowMs = performance.now()
    for (const [index, { report, quota, wanted }] of sorted.entries()) {
      const row = rows[index]
      if (row === undefined) throw new Error('expected one answer for each question')
      const waitMs = Number(row.wait_ms)
      this.#leases.renew(report, {
        granted: Number(row.granted),
        moreAtMs: Date.now() + waitMs,
        isDayOver: row.is_day_over,
        burstLeft: Number(row.burst_left ?? 0),
        dayLeft: Number(row.day_left ?? 0),
      })
      if (wanted < 0) continue
      const rate = rateOf(quota, Number(row.holders))
      // With an upper limit, so that a raised daily quota is noticed.
      const moreAtMs = nowMs + Math.min(waitMs, this.#reportMs)
      this.#grants.set(report.keyId, { rate, reportedAtMs: nowMs, moreAtMs, aloneAtMs: nowMs })
    }
    await this.#showLife(connection, nowMs)
  }

  async #showLife(connection: Connection, nowMs: number): Promise<void> {
    if (nowMs - this.#heardAtMs < this.#reportMs && this.#heardAtMs > 0) return
    await connection.query(
      `insert into process (name, until) values ($1, clock_timestamp() + $2 * interval '1 ms')
       on conflict (name) do update set until = excluded.until`,
      [this.#process, this.#leaseMs],
    )
    await connection.query('delete from process where until < clock_timestamp()')
    const [row] = await connection.query('select count(*) as count from process')
    this.#leases.processes = Number(row?.count)
    this.#heardAtMs = nowMs
  }

  /** Gives the keys the units that flowed in at the rates of their last leases, at most a lease. */
  #goOnAlone(reports: readonly LeaseReport[]): void {
    const nowMs = performance.now()
    for (const { keyId, left, wanted } of reports) {
      const quota = this.#quotaOf(keyId)
      let grant = this.#grants.get(keyId)
      if (grant === undefined) {
        const rate = rateOf(quota, this.#leases.processes)
        grant = { rate, reportedAtMs: nowMs, moreAtMs: 0, aloneAtMs: nowMs }
        this.#grants.set(keyId, grant)
      }
      const room = Math.max(leaseUnits(quota), wanted) - left
      const flowed = Math.floor((grant.rate * (nowMs - grant.aloneAtMs)) / 1_000)
      if (flowed < 1) continue
      this.#leases.grant(keyId, Math.max(Math.min(flowed, room), 0))
      grant.aloneAtMs = flowed > room ? nowMs : grant.aloneAtMs + (flowed * 1_000) / grant.rate
    }
  }
}

/** Units a second for one of `holders` processes with a lease. */
function rateOf(quota: UnitQuota, holders: number): number {
  const perSecond = quota.perSecond ?? (leaseUnits(quota) * 1_000) / loneLeaseMs
  return perSecond / Math.max(holders, 1)
}
