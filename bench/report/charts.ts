/**
 * The charts of a report as self-contained SVG. Owns the drawing and its colours, light and dark; pages and pictures
 * add titles and sizes.
 */
import { type Finding, isFailed, type Outcome, type Ratio } from './outcome.js'
import { ratioText } from './terminalReport.js'

export interface Chart {
  readonly title: string
  /** In units of which the chart is {@link chartWidth} wide. */
  readonly height: number
  /** Elements of SVG from 0, 0 on. */
  readonly content: string
}

/** Colours follow the reader's scheme. */
export const chartStyle = `
:root { color-scheme: light dark; --ink: #1b2733; --paper: #fff; --faint: #6c7985; --line: #d8dee4;
  --good: #2a7f8e; --poor: #c05f3c; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #dde5ec; --paper: #131a21; --faint: #8a97a3; --line: #33404c; --good: #4fb3c4; --poor: #e08a66; } }
svg { font: 12px system-ui, sans-serif; fill: var(--ink); }
.good { fill: var(--good); } .poor { fill: var(--poor); } .faint { fill: var(--faint); } .paper { fill: var(--paper); }
.value { paint-order: stroke; stroke: var(--paper); stroke-width: 5px; }
.title { font-size: 16px; font-weight: 600; }
.axis { stroke: var(--line); } .even { stroke: var(--ink); stroke-dasharray: 3 3; }`

export const chartWidth = 960

/** The charts for which the findings have numbers. */
export function chartsOf(findings: readonly Finding[]): Chart[] {
  const outcomes = findings.filter((finding): finding is Outcome => !isFailed(finding))
  return [bareChart(outcomes), anvilChart(outcomes), latencyChart(outcomes)].filter(
    (chart) => chart !== undefined,
  )
}

const labelWidth = 330
const rowHeight = 22
const right = 70

interface Scale {
  /** Position of a value, in units of {@link chartWidth}. */
  at(value: number): number
  readonly ticks: readonly number[]
}

/** From 0 to at least 1, in steps of a quarter. */
function linearScale(values: readonly number[]): Scale {
  const steps = Math.max(4, Math.ceil(Math.max(...values) * 4))
  const span = chartWidth - labelWidth - right
  return {
    at: (value) => labelWidth + (value / (steps / 4)) * span,
    ticks: Array.from({ length: steps + 1 }, (_, step) => step / 4),
  }
}

/** A logarithmic scale over whole powers of ten that hold every value. */
export function logScale(values: readonly number[]): Scale {
  const known = values.filter((value) => value > 0)
  const low = Math.floor(Math.log10(Math.min(...known)))
  const high = Math.max(low + 1, Math.ceil(Math.log10(Math.max(...known))))
  const span = chartWidth - labelWidth - right
  return {
    at: (value) => labelWidth + ((Math.log10(value) - low) / (high - low)) * span,
    ticks: Array.from({ length: high - low + 1 }, (_, step) => 10 ** (low + step)),
  }
}

function frame(
  title: string,
  rows: number,
  scale: Scale,
  tickText: (tick: number) => string,
  content: string,
): Chart {
  const height = rows * rowHeight + 28
  const grid = scale.ticks.map((tick) => {
    const x = scale.at(tick).toFixed(1)
    return (
      `<line class="axis" x1="${x}" x2="${x}" y1="0" y2="${height - 24}"/>` +
      `<text class="faint" x="${x}" y="${height - 8}" text-anchor="middle">${tickText(tick)}</text>`
    )
  })
  return { title, height, content: grid.join('') + content }
}

interface RatioRow {
  readonly label: string
  readonly ratio: Ratio
}

function ratioRows(rival: string, outcomes: readonly Outcome[]): RatioRow[] {
  return outcomes.flatMap(({ title: label, ratios }) => {
    const ratio = ratios[rival]
    return ratio === undefined ? [] : [{ label, ratio }]
  })
}

/** A bar per scenario, from `origin` to its ratio. */
function ratioBars(rows: readonly RatioRow[], scale: Scale, origin: number): string {
  const bars = rows.map(({ label, ratio }, at) => {
    const y = at * rowHeight
    const [from, to] = [scale.at(ratio.value), scale.at(origin)].sort((a, b) => a - b) as [number, number]
    return (
      rowLabel(label, y) +
      `<rect class="${ratio.value >= origin ? 'good' : 'poor'}" x="${from.toFixed(1)}" y="${y + 4}" ` +
      `width="${Math.max(to - from, 1).toFixed(1)}" height="${rowHeight - 8}" rx="2"/>` +
      `<text class="value" x="${(to + 6).toFixed(1)}" y="${y + 15}">${escapeText(ratioText(ratio))}</text>`
    )
  })
  const even = scale.at(1)
  // Drawn below the bars, so that it does not cross their numbers.
  return `<line class="even" x1="${even}" x2="${even}" y1="0" y2="${rows.length * rowHeight}"/>${bars.join('')}`
}

/** Ratios to the bare server; few exceed 1, so the bars begin at 0. */
function bareChart(outcomes: readonly Outcome[]): Chart | undefined {
  const rows = ratioRows('bare', outcomes)
  if (rows.length === 0) return undefined
  const scale = linearScale(rows.map(({ ratio }) => ratio.value))
  const percent = (tick: number) => `${tick * 100} %`
  const title = "Share of a bare uWebSockets.js server's speed, with the same bytes"
  return frame(title, rows.length, scale, percent, ratioBars(rows, scale, 0))
}

/** Ratios to anvil, as bars from 1. */
function anvilChart(outcomes: readonly Outcome[]): Chart | undefined {
  const rows = ratioRows('anvil', outcomes)
  if (rows.length === 0) return undefined
  const scale = logScale([1, ...rows.map(({ ratio }) => ratio.value)])
  const times = (tick: number) => `${Number(tick.toPrecision(1))}×`
  return frame('Times as fast as anvil', rows.length, scale, times, ratioBars(rows, scale, 1))
}

/** From p50 to p99.9 of each scenario, with a mark at p99. */
function latencyChart(outcomes: readonly Outcome[]): Chart | undefined {
  const rows = outcomes.flatMap(({ title, own: { latencies } }) => {
    const known = Object.values(latencies ?? {}).filter((value) => value !== undefined)
    return latencies === undefined || known.length === 0 ? [] : [{ title, latencies, known }]
  })
  if (rows.length === 0) return undefined
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
  const ms = (tick: number) => `${Number(tick.toPrecision(1))} ms`
  return frame('Latency from p50 to p99.9, dot at p99', rows.length, scale, ms, marks.join(''))
}

function rowLabel(label: string, y: number): string {
  return `<text x="${labelWidth - 10}" y="${y + 15}" text-anchor="end">${escapeText(label)}</text>`
}

export function escapeText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
}
