/** The report as one HTML page that needs nothing else: charts in SVG, every number in a table below them. */
import { type Finding, isSkipped, type Outcome, type Report, type Side } from './outcome.js'
import { count, ratioText } from './terminalReport.js'

export function htmlReport(report: Report): string {
  const outcomes = report.findings.filter((finding): finding is Outcome => !isSkipped(finding))
  const charts = [
    ratioChart('Beside a bare uWebSockets.js server', 'bare', outcomes),
    ratioChart('Beside anvil', 'anvil', outcomes),
    latencyChart(outcomes),
  ]
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Tidegate benchmarks, ${escapeHtml(report.startedAt)}</title>
<style>${style}</style>
<h1>Tidegate benchmarks</h1>
<p>${escapeHtml(facts(report))}</p>
${charts.filter((chart) => chart !== '').join('\n')}
<h2>All numbers</h2>
<p>Percentiles in ms at half the highest rate, each from when its request was due. Ratios marked c are of CPU time per
request, because the loader and not the server was the limit; the loader reaches ${count(report.loaderCeiling)} answers a
second.</p>
${table(report.findings)}
</html>
`
}

const style = `
:root { color-scheme: light dark; --ink: #1b2733; --paper: #fff; --faint: #8a97a3; --line: #d8dee4;
  --good: #2a7f8e; --poor: #c05f3c; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #dde5ec; --paper: #131a21; --line: #33404c; --good: #4fb3c4; --poor: #e08a66; } }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 68rem; margin: 2rem auto; padding: 0 1rem;
  color: var(--ink); background: var(--paper); }
svg { width: 100%; height: auto; font: 12px system-ui, sans-serif; fill: var(--ink); }
.good { fill: var(--good); } .poor { fill: var(--poor); } .faint { fill: var(--faint); }
.axis { stroke: var(--line); } .even { stroke: var(--ink); stroke-dasharray: 3 3; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; white-space: nowrap; font-size: 13px; }
td, th { padding: .2rem .6rem; text-align: right; border-bottom: 1px solid var(--line); }
td:first-child, th:first-child { text-align: left; }
tr.rival td { color: var(--faint); border-bottom-style: dotted; }`

const width = 960
const labelWidth = 330
const rowHeight = 22
const right = 70

interface Scale {
  /** Position of a value in pixels. */
  at(value: number): number
  readonly ticks: readonly number[]
}

/** A logarithmic scale over whole powers of ten that hold every value. */
export function logScale(values: readonly number[]): Scale {
  const known = values.filter((value) => value > 0)
  const low = Math.floor(Math.log10(Math.min(...known)))
  const high = Math.max(low + 1, Math.ceil(Math.log10(Math.max(...known))))
  const span = width - labelWidth - right
  return {
    at: (value) => labelWidth + ((Math.log10(value) - low) / (high - low)) * span,
    ticks: Array.from({ length: high - low + 1 }, (_, step) => 10 ** (low + step)),
  }
}

function frame(title: string, rows: number, scale: Scale, unit: string, content: string): string {
  const height = rows * rowHeight + 28
  const grid = scale.ticks.map((tick) => {
    const x = scale.at(tick).toFixed(1)
    return (
      `<line class="axis" x1="${x}" x2="${x}" y1="0" y2="${height - 24}"/>` +
      `<text class="faint" x="${x}" y="${height - 8}" text-anchor="middle">${Number(tick.toPrecision(1))}${unit}</text>`
    )
  })
  return `<h2>${escapeHtml(title)}</h2>
<svg viewBox="0 0 ${width} ${height}" role="img" aria-label="${escapeHtml(title)}">${grid.join('')}${content}</svg>`
}

/** A bar a scenario, from even to how many times better or worse than the rival; empty without any. */
function ratioChart(title: string, rival: string, outcomes: readonly Outcome[]): string {
  const rows = outcomes.flatMap(({ title: label, ratios }) => {
    const ratio = ratios[rival]
    return ratio === undefined ? [] : [{ label, ratio }]
  })
  if (rows.length === 0) return ''
  const scale = logScale([1, ...rows.map(({ ratio }) => ratio.value)])
  const even = scale.at(1)
  const bars = rows.map(({ label, ratio }, at) => {
    const x = scale.at(ratio.value)
    const y = at * rowHeight
    const [from, to] = [Math.min(x, even), Math.max(x, even)]
    return (
      rowLabel(label, y) +
      `<rect class="${ratio.value >= 1 ? 'good' : 'poor'}" x="${from.toFixed(1)}" y="${y + 4}" ` +
      `width="${Math.max(to - from, 1).toFixed(1)}" height="${rowHeight - 8}" rx="2"/>` +
      `<text x="${(to + 6).toFixed(1)}" y="${y + 15}">${escapeHtml(ratioText(ratio))}</text>`
    )
  })
  const line = `<line class="even" x1="${even}" x2="${even}" y1="0" y2="${rows.length * rowHeight}"/>`
  return frame(`${title}, times as fast`, rows.length, scale, '×', bars.join('') + line)
}

/** From p50 to p99.9 of each scenario, with a mark at p99; empty without any. */
function latencyChart(outcomes: readonly Outcome[]): string {
  const rows = outcomes.flatMap(({ title, own: { latencies } }) => {
    const known = Object.values(latencies ?? {}).filter((value) => value !== undefined)
    return latencies === undefined || known.length === 0 ? [] : [{ title, latencies, known }]
  })
  if (rows.length === 0) return ''
  const scale = logScale(rows.flatMap(({ known }) => known))
  const marks = rows.map(({ title, latencies, known }, at) => {
    const y = at * rowHeight
    const [from, to] = [scale.at(Math.min(...known)), scale.at(Math.max(...known))]
    const p99 =
      latencies.p99 === undefined
        ? ''
        : `<circle class="poor" cx="${scale.at(latencies.p99).toFixed(1)}" cy="${y + 11}" r="4"/>`
    return (
      rowLabel(title, y) +
      `<rect class="good" x="${from.toFixed(1)}" y="${y + 8}" width="${Math.max(to - from, 1).toFixed(1)}" height="6" rx="3"/>${p99}`
    )
  })
  return frame('Latency from p50 to p99.9, dot at p99', rows.length, scale, ' ms', marks.join(''))
}

function rowLabel(label: string, y: number): string {
  return `<text x="${labelWidth - 10}" y="${y + 15}" text-anchor="end">${escapeHtml(label)}</text>`
}

const headings = [
  'scenario',
  'a second',
  '±',
  'p50',
  'p97.5',
  'p99',
  'p99.9',
  'at a second',
  'CPU µs',
  'core',
  'RSS MB',
  'ratio',
]

function table(findings: readonly Finding[]): string {
  const rows = findings.flatMap((finding) => {
    if (isSkipped(finding)) {
      const { title, skipped } = finding
      return [
        `<tr><td>${escapeHtml(title)}</td><td colspan="${headings.length - 1}">${escapeHtml(skipped)}</td></tr>`,
      ]
    }
    const { title, unit, note, own, rivals, ratios } = finding
    const remarks = [...(unit === 'requests' ? [] : [unit]), ...(note === undefined ? [] : [note])]
    const label = remarks.length === 0 ? title : `${title} (${remarks.join('; ')})`
    return [
      sideRow(label, own, '', ''),
      ...Object.entries(rivals).map(([rival, side]) =>
        sideRow(`— ${rival}`, side, ratioText(ratios[rival]), 'rival'),
      ),
    ]
  })
  const head = headings.map((heading) => `<th>${heading}</th>`).join('')
  return `<div class="scroll"><table><thead><tr>${head}</tr></thead><tbody>\n${rows.join('\n')}\n</tbody></table></div>`
}

function sideRow(label: string, side: Side, ratio: string, rowClass: string): string {
  const { rate, rateSpread, latencies, latencyRate, cpuMicros, busy, residentBytes } = side
  const shown = (value: number | undefined, digits: number, factor = 1) =>
    value === undefined ? '–' : (value * factor).toFixed(digits)
  const cells = [
    escapeHtml(label),
    count(rate),
    `${(rateSpread * 100).toFixed(0)} %`,
    ...[latencies?.p50, latencies?.p975, latencies?.p99, latencies?.p999].map((value) => shown(value, 2)),
    latencyRate === undefined ? '–' : count(latencyRate),
    shown(cpuMicros, 1),
    busy === undefined ? '–' : `${shown(busy, 0, 100)} %`,
    shown(residentBytes, 0, 1e-6),
    escapeHtml(ratio),
  ]
  return `<tr${rowClass === '' ? '' : ` class="${rowClass}"`}>${cells.map((cell) => `<td>${cell}</td>`).join('')}</tr>`
}

function facts({ startedAt, machine, settings }: Report): string {
  const list = (members: Readonly<Record<string, string | number>>) =>
    Object.entries(members)
      .map(([name, value]) => `${name} ${value}`)
      .join(', ')
  return `${startedAt}; ${list(machine)}; ${list(settings)}.`
}

function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
}
