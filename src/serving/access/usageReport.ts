/** Sums of usage by key, network, method and time, for an operator's question. */
import * as z from 'zod'
import { hourMs, type KeyUsage } from '../../data/store/node/usage.js'
import { UsageError } from '../../primitives/faults.js'
import type { UsedAmounts } from './usageCounter.js'

export const usageGroups = ['key', 'network', 'method', 'hour', 'day'] as const
type UsageGroup = (typeof usageGroups)[number]

/** An operator's question; times as ISO 8601. */
export interface UsageQuestion {
  readonly key?: string | undefined
  readonly network?: string | undefined
  readonly method?: string | undefined
  /** From the hour that contains this time; if absent, a day before `to`. */
  readonly from?: string | undefined
  /**
   * To the end of the hour that contains this time; a full hour is exclusive. At most now, which is also the default.
   */
  readonly to?: string | undefined
  /** Groups, separated by commas; if absent, key and method. */
  readonly by?: string | undefined
}

/** A group and its usage; has the members by which the rows are grouped. */
export interface UsageRow extends UsedAmounts {
  readonly key?: string
  readonly network?: string
  readonly method?: string
  /** Start of the hour or day. */
  readonly time?: string
}

const hoursPerDay = 24
const groupsDefault: readonly UsageGroup[] = ['key', 'method']

export class UsageReport {
  readonly groups: readonly UsageGroup[]
  /** Hours since 1970; `to` is exclusive. */
  readonly from: number
  readonly to: number
  readonly #question: UsageQuestion
  readonly #rowsMax: number
  readonly #rows = new Map<string, { -readonly [N in keyof UsageRow]: UsageRow[N] }>()

  /** Throws UsageError for an invalid time or group. */
  constructor(question: UsageQuestion, nowMs: number, rowsMax = Number.POSITIVE_INFINITY) {
    this.#question = question
    this.#rowsMax = rowsMax
    this.groups = question.by === undefined ? groupsDefault : parseGroups(question.by)
    const toMs = question.to === undefined ? Number.POSITIVE_INFINITY : parseTime(question.to)
    this.to = Math.ceil(Math.min(toMs, nowMs + 1) / hourMs)
    const from = question.from === undefined ? undefined : parseTime(question.from) / hourMs
    this.from = Math.max(Math.floor(from ?? this.to - hoursPerDay), 0)
    if (this.from >= this.to)
      throw new UsageError('the time begins after its end, or after now; correct "from" or "to"')
  }

  /** Adds the usage that the question selects. Throws UsageError if there are too many rows. */
  add(cells: readonly KeyUsage[]): void {
    const { key, network, method } = this.#question
    for (const cell of cells) {
      if (key !== undefined && cell.keyId !== key) continue
      if (network !== undefined && cell.network !== network) continue
      if (method !== undefined && cell.method !== method) continue
      const group = this.#groupOf(cell)
      const name = Object.values(group).join('\n')
      const row = this.#rows.get(name) ?? { ...group, calls: 0, errors: 0, units: 0, bytes: 0 }
      row.calls += cell.calls
      row.errors += cell.errors
      row.units += cell.units
      row.bytes += cell.bytes
      this.#rows.set(name, row)
    }
    if (this.#rows.size > this.#rowsMax) {
      throw new UsageError(`more than ${this.#rowsMax} rows; ask for a shorter time, one key or fewer groups`)
    }
  }

  /** Rows by time; rows of one time by units, most first. */
  rows(): UsageRow[] {
    return [...this.#rows.values()].sort(
      (a, b) => (a.time ?? '').localeCompare(b.time ?? '') || b.units - a.units || b.calls - a.calls,
    )
  }

  #groupOf({
    keyId,
    network,
    method,
    hour,
  }: KeyUsage): Pick<UsageRow, 'key' | 'network' | 'method' | 'time'> {
    const by = (group: UsageGroup) => this.groups.includes(group)
    const begins = by('hour') ? hour : hour - (hour % hoursPerDay)
    return {
      ...(by('key') && { key: keyId }),
      ...(by('network') && { network }),
      ...(by('method') && { method }),
      ...((by('hour') || by('day')) && { time: new Date(begins * hourMs).toISOString() }),
    }
  }
}

function parseGroups(text: string): UsageGroup[] {
  return text.split(',').map((group) => {
    const known = usageGroups.find((name) => name === group.trim())
    if (known !== undefined) return known
    throw new UsageError(`usage is grouped by ${usageGroups.join(', ')}, and not by ${JSON.stringify(group)}`)
  })
}

const timeSchema = z.union([
  z.iso.date(),
  z.iso.datetime({ offset: true }),
  // Minutes without seconds.
  z.iso.datetime({ offset: true, precision: -1 }),
])

function parseTime(text: string): number {
  if (timeSchema.safeParse(text).success) return Date.parse(text)
  throw new UsageError(
    `expected a day such as 2026-11-22 (in UTC) or a time such as 2026-11-22T18:00Z, got ${JSON.stringify(text)}`,
  )
}
