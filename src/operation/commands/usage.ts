/** `tidegate usage`: usage of keys, as a table, JSON or CSV. */

import { NodeStore } from '../../data/store/node/nodeStore.js'
import { UsageError } from '../../primitives/faults.js'
import { isThere } from '../../primitives/files.js'
import { listKeys } from '../../serving/access/keyChanges.js'
import { type UsageQuestion, UsageReport, type UsageRow } from '../../serving/access/usageReport.js'
import type { DataConfig } from '../config/config.js'
import type { Io } from '../process/terminal.js'
import { formatTime, layOutTable } from './tables.js'

interface UsageFlags extends UsageQuestion {
  readonly json?: boolean | undefined
  readonly csv?: boolean | undefined
}

interface NamedRow extends UsageRow {
  readonly name?: string
}

export async function showUsage(config: DataConfig, flags: UsageFlags, io: Io): Promise<number> {
  if (flags.json && flags.csv) throw new UsageError('--json and --csv exclude each other; choose one')
  const report = new UsageReport(flags, Date.now())
  const rows = isThere(config.node.store) ? await readRows(config, flags, report) : []
  if (flags.json) io.out(JSON.stringify(rows, undefined, 2))
  else if (flags.csv) for (const line of toCsv(report, rows)) io.out(line)
  else if (rows.length > 0) io.out(layOutTable(toTable(report, rows)))
  else io.err(`Nothing was used in ${config.dataDir} in that time; another one is given with --from and --to`)
  return 0
}

async function readRows(config: DataConfig, { key }: UsageFlags, report: UsageReport): Promise<NamedRow[]> {
  const store = NodeStore.open({ path: config.node.store, readOnly: true, mapBytes: config.mapBytes })
  try {
    for (const cells of store.openUsage()?.read(report.from, report.to, key) ?? []) report.add(cells)
    const names = await readNames(config, store)
    return report.rows().map(({ key, ...rest }) => ({
      ...(key !== undefined && { key, name: names.get(key) ?? '' }),
      ...rest,
    }))
  } finally {
    await store.close()
  }
}

/** Names of keys by id. For shared keys reads the copy in this data folder, since usage is that of this process. */
async function readNames(
  { node, mapBytes, shared }: DataConfig,
  store: NodeStore,
): Promise<Map<string, string>> {
  const namesOf = (keys: NodeStore) => new Map(listKeys(keys).map(({ id, name }) => [id, name]))
  if (shared === undefined) return namesOf(store)
  if (!isThere(node.sharedKeys)) return new Map()
  const copy = NodeStore.open({ path: node.sharedKeys, readOnly: true, mapBytes })
  try {
    return namesOf(copy)
  } finally {
    await copy.close()
  }
}

const amounts = ['calls', 'errors', 'units', 'bytes'] as const

function columnsOf({ groups }: UsageReport): (keyof NamedRow)[] {
  const has = (...of: readonly string[]) => groups.some((group) => of.includes(group))
  return [
    ...(has('hour', 'day') ? (['time'] as const) : []),
    ...(has('key') ? (['key', 'name'] as const) : []),
    ...(has('network') ? (['network'] as const) : []),
    ...(has('method') ? (['method'] as const) : []),
    ...amounts,
  ]
}

function toTable(report: UsageReport, rows: readonly NamedRow[]): string[][] {
  const columns = columnsOf(report)
  const cell = (row: NamedRow, column: keyof NamedRow) =>
    column === 'time' ? formatTime(Date.parse(row.time ?? '')) : String(row[column] ?? '')
  const lines = rows.map((row) => columns.map((column) => cell(row, column)))
  return [columns.map((name) => name.toUpperCase()), ...lines]
}

/** Lines in the form of RFC 4180, with a header line. */
function toCsv(report: UsageReport, rows: readonly NamedRow[]): string[] {
  const columns = columnsOf(report)
  const lines = rows.map((row) => columns.map((column) => quoted(String(row[column] ?? ''))))
  return [columns, ...lines].map((line) => line.join(','))
}

/** Prevents a cell from being read as a formula: a key's name may come from its user. */
function quoted(text: string): string {
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
