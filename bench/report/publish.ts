/**
 * Writes the figures of bench/README.md from a report: a table between two markers, and its charts as one picture.
 * Neither is written by hand. Owns the files of reports and the drawing.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { packageRoot } from '../../src/primitives/packageRoot.js'
import { type Finding, isFailed, type Ratio, type Report } from './outcome.js'
import { factsText, markdownTable, ratioText } from './table.js'

const pagePath = 'bench/README.md'
const pictureName = 'speed.svg'
const startMark = '<!-- figures: npm run bench -- --publish FILE -->'
const endMark = '<!-- end of figures -->'

/** Writes a report as JSON into `folder`, named after the time of the run. Returns its path. */
export function writeReport(report: Report, folder: string): string {
  mkdirSync(folder, { recursive: true })
  const path = join(folder, `${report.startedAt.slice(0, 19).replaceAll(':', '-')}.json`)
  writeFileSync(path, `${JSON.stringify(report, null, 2)}\n`)
  return path
}

/** Reads the JSON of a run. Throws RangeError that begins with `flag` for any other file. */
export function readReport(flag: string, path: string): Report {
  let report: Partial<Report>
  try {
    report = JSON.parse(readFileSync(path, 'utf8')) as Partial<Report>
  } catch (error) {
    throw new RangeError(`${flag}: ${path}: ${(error as Error).message}`)
  }
  if (!Array.isArray(report.findings)) throw new RangeError(`${flag}: ${path} is no report of a run`)
  return report as Report
}

/**
 * Puts the report in `path` into bench/README.md and its picture. Throws RangeError for a file that is not a report.
 */
export function publish(path: string): void {
  const report = readReport('--publish', path)
  const page = join(packageRoot(), pagePath)
  writeFileSync(page, withFigures(readFileSync(page, 'utf8'), report))
  writeFileSync(join(dirname(page), pictureName), picture(report.findings))
}

/** The text with the figures between its markers replaced. Throws RangeError if it has no markers. */
export function withFigures(page: string, report: Report): string {
  const start = page.indexOf(startMark)
  const end = page.indexOf(endMark)
  if (start === -1 || end < start) throw new RangeError(`${pagePath}: expected ${startMark} and ${endMark}`)
  const figures = [
    factsText(report),
    `![Charts of this table](${pictureName})`,
    markdownTable(report.findings),
  ]
  return `${page.slice(0, start + startMark.length)}\n${figures.join('\n\n')}\n${page.slice(end)}`
}

/** Colours follow the reader's scheme. */
const style = `
:root { color-scheme: light dark; --ink: #1b2733; --paper: #fff; --faint: #6c7985; --line: #d8dee4;
  --good: #2a7f8e; --poor: #c05f3c; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #dde5ec; --paper: #131a21; --faint: #8a97a3; --line: #33404c; --good: #4fb3c4; --poor: #e08a66; } }
svg { font: 12px system-ui, sans-serif; fill: var(--ink); }
.good { fill: var(--good); } .poor { fill: var(--poor); } .faint { fill: var(--faint); } .paper { fill: var(--paper); }
.value { paint-order: stroke; stroke: var(--paper); stroke-width: 5px; }
.title { font-size: 16px; font-weight: 600; }
.axis { stroke: var(--line); } .even { stroke: var(--ink); stroke-dasharray: 3 3; }`

const chartWidth = 960
const labelWidth = 330
const rowHeight = 22
const right = 70
const margin = 24
const titleHeight = 44
const axisHeight = 28

interface Scale {
  /** Position of a value, from the left. */
  at(value: number): number
  readonly ticks: readonly number[]
}

function scaleOf(share: (value: number) => number, ticks: readonly number[]): Scale {
  return { at: (value) => labelWidth + share(value) * (chartWidth - labelWidth - right), ticks }
}

/** A scale from 0 to at least 1, in steps of a quarter. */
function linearScale(values: readonly number[]): Scale {
  const steps = Math.max(4, Math.ceil(Math.max(...values) * 4))
  return scaleOf(
    (value) => (value * 4) / steps,
    Array.from({ length: steps + 1 }, (_, step) => step / 4),
  )
}

/** A logarithmic scale over whole powers of ten that includes every value, and 1. */
export function logScale(values: readonly number[]): Scale {
  const known = [1, ...values.filter((value) => value > 0)]
  const low = Math.floor(Math.log10(Math.min(...known)))
  const high = Math.max(low + 1, Math.ceil(Math.log10(Math.max(...known))))
  return scaleOf(
    (value) => (Math.log10(value) - low) / (high - low),
    Array.from({ length: high - low + 1 }, (_, step) => 10 ** (low + step)),
  )
}

/** Scenarios with work of their own, for which a bare server's rate is no measure: they are compared with anvil. */
const isWork = (name: string) => /^(call|estimate|proof|trace)/.test(name)

/** The charts, shown if the findings have numbers. Few ratios to `bare` exceed 1, so those bars begin at 0. */
const charts = [
  {
    rival: 'bare',
    shows: (name: string) => !isWork(name),
    title: "Reads: share of a bare uWebSockets.js server's speed, with the same bytes",
    scaleOf: linearScale,
    origin: 0,
    tickText: (tick: number) => `${tick * 100} %`,
  },
  {
    rival: 'anvil',
    shows: isWork,
    title: 'Calls, estimates and proofs: times as fast as anvil',
    scaleOf: logScale,
    origin: 1,
    tickText: (tick: number) => `${Number(tick.toPrecision(1))}×`,
  },
] as const

/** A bar for each ratio from the chart's origin, above an axis. Drawn from 0, 0 on. */
function drawBars(
  { scaleOf, origin, tickText }: (typeof charts)[number],
  rows: readonly (readonly [label: string, ratio: Ratio])[],
): string {
  const scale = scaleOf(rows.map(([, { value }]) => value))
  const height = rows.length * rowHeight + axisHeight
  const grid = scale.ticks.map((tick) => {
    const x = scale.at(tick).toFixed(1)
    return (
      `<line class="axis" x1="${x}" x2="${x}" y1="0" y2="${height - 24}"/>` +
      `<text class="faint" x="${x}" y="${height - 8}" text-anchor="middle">${tickText(tick)}</text>`
    )
  })
  const bars = rows.map(([label, ratio], at) => {
    const y = at * rowHeight
    const [from, to] = [scale.at(ratio.value), scale.at(origin)].sort((a, b) => a - b) as [number, number]
    return (
      `<text x="${labelWidth - 10}" y="${y + 15}" text-anchor="end">${escapeText(label)}</text>` +
      `<rect class="${ratio.value >= origin ? 'good' : 'poor'}" x="${from.toFixed(1)}" y="${y + 4}" ` +
      `width="${Math.max(to - from, 1).toFixed(1)}" height="${rowHeight - 8}" rx="2"/>` +
      `<text class="value" x="${(to + 6).toFixed(1)}" y="${y + 15}">${escapeText(ratioText(ratio))}</text>`
    )
  })
  const even = scale.at(1)
  // Drawn below the bars, so that it does not cross their numbers.
  const evenLine = `<line class="even" x1="${even}" x2="${even}" y1="0" y2="${rows.length * rowHeight}"/>`
  return grid.join('') + evenLine + bars.join('')
}

/** All charts in a column, on their own background, since a picture does not know the page's colours. */
export function picture(findings: readonly Finding[]): string {
  let y = margin / 2
  const drawn = charts.flatMap((chart) => {
    const rows = findings.flatMap((finding) => {
      const ratio = isFailed(finding) || !chart.shows(finding.name) ? undefined : finding.ratios[chart.rival]
      return ratio === undefined ? [] : [[finding.title, ratio] as const]
    })
    if (rows.length === 0) return []
    const top = y + titleHeight
    y = top + rows.length * rowHeight + axisHeight
    return [
      `<text class="title" x="0" y="${top - 16}">${escapeText(chart.title)}</text>` +
        `<g transform="translate(0 ${top})">${drawBars(chart, rows)}</g>`,
    ]
  })
  const width = chartWidth + 2 * margin
  const height = y + margin
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="${-margin} 0 ${width} ${height}" width="${width}" height="${height}">
<title>Speed of Tidegate beside a bare server and anvil</title>
<style>${style}</style>
<rect class="paper" x="${-margin}" width="${width}" height="${height}"/>
${drawn.join('\n')}
</svg>
`
}

function escapeText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
}
