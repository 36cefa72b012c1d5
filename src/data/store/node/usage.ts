/**
 * Usage of API keys by network, method and hour, in the node store. Owns the tables and the retention.
 *
 *   table        key → value
 *   usageHours   hour (4 bytes, since 1970), key id (6 bytes) → block of that hour, of the current day
 *   usageMonths  month (2 bytes, since January 1970), key id (6 bytes) → block of that month's earlier days, raw
 *                deflate; hours since the month began
 *
 * Blocks are described in `usageBlock.ts`. A row of an hour is written again every few seconds, so it must be short.
 * Rows of a month are changed once a day, and are so large that their names and unused page space do not matter.
 */
import { deflateRawSync, inflateRawSync } from 'node:zlib'
import type { RootDatabase } from 'lmdb'
import { openTable, type Table } from '../lmdb/environment.js'
import type { GroupCommit } from '../lmdb/groupCommit.js'
import { decodeUsage, encodeUsage, type UsageCell } from './usageBlock.js'

export const usageTableNames = { hours: 'usageHours', months: 'usageMonths' } as const

/** A cell with its key: 12 hex digits. */
export interface KeyUsage extends UsageCell {
  readonly keyId: string
}

/** Least number of days that usage is kept: a year, and the time to settle its last bill. */
export const usageDays = 400

export const hourMs = 3_600_000
const hoursPerDay = 24
const hourBytes = 4
const monthBytes = 2

export interface UsageTables {
  readonly hours: Table
  readonly months: Table
}

/** Undefined for a reader if no writer has made them yet. */
export function openUsageTables(environment: RootDatabase): UsageTables | undefined {
  const hours = openTable(environment, usageTableNames.hours)
  const months = openTable(environment, usageTableNames.months)
  return hours && months && { hours, months }
}

export class UsageStore {
  readonly #environment: RootDatabase
  readonly #tables: UsageTables
  readonly #commits: GroupCommit

  constructor(environment: RootDatabase, tables: UsageTables, commits: GroupCommit) {
    this.#environment = environment
    this.#tables = tables
    this.#commits = commits
  }

  /** Adds to the stored usage; on disk when this resolves. Rejects with the fault NotStored on failure. */
  add(cells: readonly KeyUsage[]): Promise<void> {
    const rows = new Map<string, KeyUsage[]>()
    for (const cell of cells) {
      const key = hourKey(cell.hour, cell.keyId).toString('hex')
      const row = rows.get(key)
      if (row === undefined) rows.set(key, [cell])
      else row.push(cell)
    }
    const { hours } = this.#tables
    return this.#commits.run(() => {
      for (const [hex, row] of rows) {
        const key = Buffer.from(hex, 'hex')
        const stored = hours.get(key)
        const before = stored === undefined ? [] : decodeUsage(stored)
        hours.putSync(key, encodeUsage([...before, ...row.map((cell) => ({ ...cell, hour: 0 }))]))
      }
    })
  }

  /**
   * Usage of the hours `from` to `to` (exclusive), of one key or all, in no order, one list per row. The set of rows is
   * that of this moment, but each row is read only on its turn. So {@link pack} must not run meanwhile.
   */
  *read(from: number, to: number, keyId?: string): Generator<KeyUsage[]> {
    this.#environment.resetReadTxn()
    const { hours, months } = this.#tables
    const isWanted = (key: Uint8Array) => keyId === undefined || idOf(key) === keyId
    const monthRows = [
      ...months.getKeys({ start: monthKey(monthOf(from), ''), end: monthKey(monthOf(to - 1) + 1, '') }),
    ]
    const hourRows = [...hours.getKeys({ start: hourKey(from, ''), end: hourKey(to, '') })]
    for (const key of monthRows.filter(isWanted)) {
      const stored = months.get(key)
      const first = firstHour(Buffer.from(key).readUInt16BE())
      if (stored === undefined) continue
      yield decodeMonth(stored)
        .map((cell) => ({ ...cell, hour: first + cell.hour, keyId: idOf(key) }))
        .filter(({ hour }) => hour >= from && hour < to)
    }
    for (const key of hourRows.filter(isWanted)) {
      const stored = hours.get(key)
      const hour = Buffer.from(key).readUInt32BE()
      if (stored !== undefined) yield decodeUsage(stored).map((cell) => ({ ...cell, hour, keyId: idOf(key) }))
    }
  }

  /**
   * Moves the hours of days that ended before `nowMs` into rows of months. Removes months that ended {@link usageDays}
   * ago. One key per transaction, each of some milliseconds.
   */
  async pack(nowMs: number): Promise<void> {
    const today = Math.floor(nowMs / hourMs / hoursPerDay) * hoursPerDay
    while (await this.#commits.run(() => this.#packOne(today)));
    const oldest = monthOf(today - usageDays * hoursPerDay)
    const { months } = this.#tables
    const isOld = [...months.getKeys({ end: monthKey(oldest, '') })].length > 0
    if (!isOld) return
    await this.#commits.run(() => {
      for (const key of [...months.getKeys({ end: monthKey(oldest, '') })]) months.removeSync(key)
    })
  }

  /** Moves one key's hours of its oldest month. Returns false if there were none. */
  #packOne(today: number): boolean {
    const { hours, months } = this.#tables
    const [oldest] = [...hours.getKeys({ end: hourKey(today, ''), limit: 1 })]
    if (oldest === undefined) return false
    const keyId = idOf(oldest)
    const month = monthOf(Buffer.from(oldest).readUInt32BE())
    const first = firstHour(month)
    const stored = months.get(monthKey(month, keyId))
    const cells = stored === undefined ? [] : decodeMonth(stored)
    for (let hour = first; hour < Math.min(today, firstHour(month + 1)); hour++) {
      const key = hourKey(hour, keyId)
      const row = hours.get(key)
      if (row === undefined) continue
      for (const cell of decodeUsage(row)) cells.push({ ...cell, hour: hour - first })
      hours.removeSync(key)
    }
    months.putSync(monthKey(month, keyId), deflateRawSync(encodeUsage(cells)))
    return true
  }
}

function decodeMonth(stored: Uint8Array): UsageCell[] {
  return decodeUsage(inflateRawSync(stored))
}

function hourKey(hour: number, keyId: string): Buffer {
  const key = Buffer.alloc(hourBytes)
  key.writeUInt32BE(Math.max(hour, 0))
  return Buffer.concat([key, Buffer.from(keyId, 'hex')])
}

function monthKey(month: number, keyId: string): Buffer {
  const key = Buffer.alloc(monthBytes)
  key.writeUInt16BE(Math.max(month, 0))
  return Buffer.concat([key, Buffer.from(keyId, 'hex')])
}

/** The key id, which ends both kinds of keys. */
function idOf(key: Uint8Array): string {
  return Buffer.from(key.subarray(-6)).toString('hex')
}

/** The month of an hour, since January 1970. */
function monthOf(hour: number): number {
  const date = new Date(hour * hourMs)
  return (date.getUTCFullYear() - 1970) * 12 + date.getUTCMonth()
}

/** The first hour of a month. */
function firstHour(month: number): number {
  return Date.UTC(1970, month) / hourMs
}
