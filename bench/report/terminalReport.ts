/** The report as a table on a terminal, row by row as it comes. */

import { gasTable } from '../gas/gasTable.js'
import { kernelTable } from '../kernel/kernelSpeed.js'
import { phaseTable } from '../neighbours/phases.js'
import {
  type Finding,
  isFailed,
  latencyTimes,
  type Ratio,
  type Report,
  type Side,
  saturatedMin,
} from './outcome.js'
import { pricesTable } from './pricesTable.js'

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
  ['warm-up', 9],
  ['core', 6],
  ['RSS MB', 8],
  ['own MB', 8],
  ['× bare', 9],
  ['× anvil', 9],
] as const

export function headLine(): string {
  return 'scenario'.padEnd(nameWidth) + columns.map(([name, width]) => name.padStart(width)).join('')
}

export function findingLine(finding: Finding): string {
  const name = `${finding.name}: ${finding.title}`.padEnd(nameWidth)
  if (isFailed(finding)) return `${name}  failed: ${finding.failed}`
  const { bare, anvil, ...others } = finding.ratios
  const { own, rivals } = finding
  const cells = [...sideCells(own, rivals.bare), ratioText(bare), ratioText(anvil)]
  const compared = Object.entries(others).map(([rival, ratio]) => `${ratioText(ratio)} × ${rival}`)
  const unit = finding.unit === 'requests' ? [] : [finding.unit]
  const remarks = [...unit, ...compared, ...(finding.note === undefined ? [] : [finding.note])].join('; ')
  const row =
    name + cells.map((cell, at) => cell.padStart((columns[at] as (typeof columns)[number])[1])).join('')
  return remarks === '' ? row : `${row}  ${remarks}`
}

/** What a scenario measured besides its row, as a table of its own. */
export function detailLines(finding: Finding): string[] {
  if (isFailed(finding)) return []
  const { phases, calls, kernel, gas } = finding
  const lines = [
    ...(phases ? phaseTable(phases) : []),
    ...(calls ? pricesTable(calls) : []),
    ...(kernel ? kernelTable(kernel) : []),
    ...(gas ? gasTable(gas) : []),
  ]
  return lines.length === 0 ? [] : ['', ...lines, '']
}

/** What stands below the table. */
export function footLines(report: Report): string[] {
  return [
    '',
    `The loader reaches ${count(report.loaderCeiling)} answers a second against a server that does nothing. Where a`,
    `server's core was less than ${saturatedMin * 100} % busy the loader was the limit, not the server, and ratios are of CPU`,
    'time per request (c) instead of rates. Percentiles over HTTP are taken by autocannon at a fixed rate, a quarter of',
    "the slower server's at most; ± is the distance between the extremes of the rounds. RSS counts the mapped pages of",
    "the stores, which are the system's file cache; what is the process' own stands beside it. CPU time and page faults",
    'are of the whole server, for each answer; the warm-up is how many requests it answered before it reached 90 % of its',
    'rate, which says most of the first scenario of a run: later ones find code that is compiled.',
  ]
}

function sideCells(side: Side, bare: Side | undefined): string[] {
  const { rate, rateSpread, latencies, cpuMicros, busy, residentBytes, anonymousBytes } = side
  const { pageFaults, answersUntilFast } = side
  const ms = (value: number | undefined) => (value === undefined ? '–' : value.toFixed(value < 10 ? 2 : 0))
  return [
    count(rate),
    `${(rateSpread * 100).toFixed(0)} %`,
    ms(latencies?.p50),
    ms(latencies?.p975),
    ms(latencies?.p99),
    ms(latencies?.p999),
    timesText(latencyTimes(side, bare, 'p99')),
    cpuMicros === undefined ? '–' : cpuMicros.toFixed(cpuMicros < 100 ? 1 : 0),
    pageFaults === undefined ? '–' : pageFaults.toFixed(pageFaults < 10 ? 2 : 0),
    answersUntilFast === undefined ? '–' : count(answersUntilFast),
    busy === undefined ? '–' : `${(busy * 100).toFixed(0)} %`,
    megabytes(residentBytes),
    megabytes(anonymousBytes),
  ]
}

/** How many times a rival's latency it is; `–` where that is not known. */
export function timesText(times: number | undefined): string {
  return times === undefined ? '–' : times.toFixed(times < 10 ? 2 : 0)
}

function megabytes(bytes: number | undefined): string {
  return bytes === undefined ? '–' : (bytes / 1e6).toFixed(0)
}

/** `1.24`; followed by what was compared, unless that was rates. */
export function ratioText(ratio: Ratio | undefined): string {
  if (ratio === undefined) return '–'
  const value = ratio.value.toFixed(ratio.value < 10 ? 2 : 0)
  return ratio.by === 'rate' ? value : `${value} ${ratio.by === 'cpu' ? 'c' : ratio.by}`
}

/** A number with separators: `12,345`. */
export function count(value: number): string {
  return value.toLocaleString('en', { maximumFractionDigits: value < 10 ? 1 : 0 })
}
