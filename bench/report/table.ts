/** A run as a table: row by row on a terminal, and as a whole in Markdown. */
import {
  type Failed,
  type Finding,
  isFailed,
  latencyTimes,
  type Ratio,
  type Report,
  saturatedMin,
} from './outcome.js'

const nameWidth = 64
const columns = [
  ['a second', 10],
  ['±', 6],
  ['p50 ms', 9],
  ['p97.5', 9],
  ['p99', 9],
  ['p99.9', 9],
  ['p99 × bare', 12],
  ['CPU µs', 10],
  ['faults', 8],
  ['core', 6],
  ['RSS MB', 8],
  ['own MB', 8],
  ['× bare', 14],
  ['× anvil', 14],
  ['× geth', 14],
] as const

export function headLine(): string {
  return 'scenario'.padEnd(nameWidth) + columns.map(([name, width]) => name.padStart(width)).join('')
}

export function findingLine(finding: Finding): string {
  const name = `${finding.name}: ${finding.title}`.padEnd(nameWidth)
  if (isFailed(finding)) return `${name}  ${failureText(finding)}`
  const cells = cellsOf(finding).map((cell, at) => cell.padStart(columns[at]?.[1] ?? 0))
  return `${name}${cells.join('')}  ${remarksOf(finding)}`.trimEnd()
}

/** Further measurements of a scenario, as a table of its own. */
export function detailLines(finding: Finding): string[] {
  if (isFailed(finding) || finding.details === undefined) return []
  return ['', ...finding.details, '']
}

export function markdownTable(findings: readonly Finding[]): string {
  const rows = findings.map((finding) =>
    isFailed(finding)
      ? [finding.title, ...columns.map(() => '–'), failureText(finding)]
      : [finding.title, ...cellsOf(finding), remarksOf(finding)],
  )
  const alignment = ['---', ...columns.map(() => '--:'), '---']
  return [['', ...columns.map(([name]) => name), ''], alignment, ...rows]
    .map((cells) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`)
    .join('\n')
}

/** Time, machine and settings of the measurement, as one sentence. */
export function factsText({ startedAt, machine, settings, loaderCeiling }: Report): string {
  const facts = Object.entries({ ...machine, ...settings }).map((pair) => pair.join(' '))
  const at = startedAt.slice(0, 16).replace('T', ' ')
  return `${at} UTC; ${facts.join(', ')}. The loader's ceiling: ${count(loaderCeiling)} answers a second.`
}

/** Lines below the table. */
export function footLines(report: Report): string[] {
  return [
    '',
    `The loader reaches ${count(report.loaderCeiling)} answers a second against a server that does nothing. Where a`,
    `server's core was less than ${saturatedMin * 100} % busy the loader was the limit, not the server, and ratios are of CPU`,
    'time per request (c) instead of rates. Percentiles over HTTP are taken by autocannon at a fixed rate, a quarter of',
    "the slower server's at most; ± is the distance between the extremes of the rounds. RSS counts the mapped pages of",
    "the stores, which are the system's file cache; what is the process' own stands beside it. CPU time and page faults",
    'are of the whole server, for each answer.',
  ]
}

function failureText({ failed, isSkipped }: Failed): string {
  return `${isSkipped ? 'skipped' : 'failed'}: ${failed}`
}

type Measured = Exclude<Finding, { readonly failed: string }>

/** Cells in the order of the columns. */
function cellsOf({ own, rivals, ratios: { bare, anvil, geth } }: Measured): string[] {
  const { p50, p975, p99, p999 } = own.latencies ?? {}
  const megabytes = (bytes: number | undefined) => shown(bytes && bytes / 1e6, 0)
  return [
    count(own.rate),
    `${(own.rateSpread * 100).toFixed(0)} %`,
    ...[p50, p975, p99, p999, latencyTimes(own, rivals.bare, 'p99')].map((value) => shown(value, 2)),
    shown(own.cpuMicros, 1),
    shown(own.pageFaults, 2),
    own.busy === undefined ? '–' : `${(own.busy * 100).toFixed(0)} %`,
    megabytes(own.residentBytes),
    megabytes(own.anonymousBytes),
    spreadText(bare),
    spreadText(anvil),
    spreadText(geth),
  ]
}

function remarksOf({ unit, note, ratios: { bare, anvil, geth, ...others } }: Measured): string {
  const compared = Object.entries(others).map(([rival, ratio]) => `${spreadText(ratio)} × ${rival}`)
  return [unit === 'requests' ? undefined : unit, ...compared, note]
    .filter((text) => text !== undefined)
    .join('; ')
}

/** `1.24`; followed by the compared quantity, unless that is rates. */
export function ratioText(ratio: Ratio | undefined): string {
  if (ratio === undefined) return '–'
  const value = shown(ratio.value, 2)
  return ratio.by === 'rate' ? value : `${value} ${ratio.by === 'cpu' ? 'c' : ratio.by}`
}

/** {@link ratioText} with the spread of the rounds. */
function spreadText(ratio: Ratio | undefined): string {
  const spread = ratio?.spread === undefined ? '' : ` ±${(ratio.spread * 100).toFixed(0)} %`
  return `${ratioText(ratio)}${spread}`
}

/** A number; small ones get more digits after the point; `–` for unknown. */
function shown(value: number | undefined, digits: number): string {
  return value === undefined ? '–' : value.toFixed(value < 10 ** (3 - digits) ? digits : 0)
}

/** A number with separators: `12,345`. */
function count(value: number): string {
  return value.toLocaleString('en', { maximumFractionDigits: value < 10 ? 1 : 0 })
}
