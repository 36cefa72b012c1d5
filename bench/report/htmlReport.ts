/** The report as one self-contained HTML page: charts in SVG, and below them a table with every number. */
import { type Chart, chartStyle, chartsOf, chartWidth, escapeText } from './charts.js'
import { type Finding, isFailed, latencyTimes, type Report, type Side } from './outcome.js'
import { count, detailLines, ratioText, timesText } from './terminalReport.js'

export function htmlReport(report: Report): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Tidegate benchmarks, ${escapeText(report.startedAt)}</title>
<style>${chartStyle}${pageStyle}</style>
<h1>Tidegate benchmarks</h1>
<p>${escapeText(factsText(report))}</p>
${chartsOf(report.findings).map(figure).join('\n')}
<h2>All numbers</h2>
<p>Percentiles in ms, over HTTP taken by autocannon at a fixed rate, a quarter of the slower server's at most; × p50 and
the like are how many times a rival's those of Tidegate are. Ratios marked c are of CPU time per request, because the loader and not the server was the limit; the loader reaches ${count(report.loaderCeiling)} answers a
second. RSS counts the mapped pages of the stores, which are the system's file cache; own is without these.</p>
${table(report.findings)}
${report.findings.map(details).join('')}</html>
`
}

const pageStyle = `
body { font: 15px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem;
  color: var(--ink); background: var(--paper); }
h1, h2 { line-height: 1.2; }
h2 { margin: 2.5rem 0 .6rem; font-size: 1.2rem; }
svg { display: block; width: 100%; height: auto; }
.scroll, pre { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; white-space: nowrap; font-size: 13px; }
td, th { padding: .2rem .6rem; text-align: right; border-bottom: 1px solid var(--line); }
td:first-child, th:first-child { text-align: left; }
td:first-child { max-width: 26rem; white-space: normal; }
td.failed { text-align: left; white-space: normal; color: var(--poor); }
tr.rival td { color: var(--faint); border-bottom-style: dotted; }`

function figure({ title, height, content }: Chart): string {
  return `<h2>${escapeText(title)}</h2>
<svg viewBox="0 0 ${chartWidth} ${height}" role="img" aria-label="${escapeText(title)}">${content}</svg>`
}

function details(finding: Finding): string {
  const lines = detailLines(finding)
  return lines.length === 0 ? '' : `<pre>${escapeText(lines.join('\n'))}</pre>\n`
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
  '× p50',
  '× p97.5',
  '× p99',
  'CPU µs',
  'faults',
  'warm-up',
  'core',
  'RSS MB',
  'own MB',
  'ratio',
]

function table(findings: readonly Finding[]): string {
  const rows = findings.flatMap((finding) => {
    if (isFailed(finding)) {
      const { title, failed } = finding
      return [
        `<tr><td>${escapeText(title)}</td><td class="failed" colspan="${headings.length - 1}">${escapeText(failed)}</td></tr>`,
      ]
    }
    const { title, unit, note, own, rivals, ratios } = finding
    const remarks = [...(unit === 'requests' ? [] : [unit]), ...(note === undefined ? [] : [note])]
    const label = remarks.length === 0 ? title : `${title} (${remarks.join('; ')})`
    return [
      sideRow(label, own, undefined, ''),
      ...Object.entries(rivals).map(([rival, side]) =>
        sideRow(`— ${rival}`, side, own, ratioText(ratios[rival])),
      ),
    ]
  })
  const head = headings.map((heading) => `<th>${heading}</th>`).join('')
  return `<div class="scroll"><table><thead><tr>${head}</tr></thead><tbody>\n${rows.join('\n')}\n</tbody></table></div>`
}

/** For a rival, `own` is the side that it is compared with. */
function sideRow(label: string, side: Side, own: Side | undefined, ratio: string): string {
  const { rate, rateSpread, latencies, latencyRate, cpuMicros, busy, residentBytes, anonymousBytes } = side
  const { pageFaults, answersUntilFast } = side
  const shown = (value: number | undefined, digits: number, factor = 1) =>
    value === undefined ? '–' : (value * factor).toFixed(digits)
  const cells = [
    escapeText(label),
    count(rate),
    `${(rateSpread * 100).toFixed(0)} %`,
    ...[latencies?.p50, latencies?.p975, latencies?.p99, latencies?.p999].map((value) => shown(value, 2)),
    latencyRate === undefined ? '–' : count(latencyRate),
    ...(['p50', 'p975', 'p99'] as const).map((percentile) =>
      own === undefined ? '' : timesText(latencyTimes(own, side, percentile)),
    ),
    shown(cpuMicros, 1),
    shown(pageFaults, 2),
    answersUntilFast === undefined ? '–' : count(answersUntilFast),
    busy === undefined ? '–' : `${shown(busy, 0, 100)} %`,
    shown(residentBytes, 0, 1e-6),
    shown(anonymousBytes, 0, 1e-6),
    escapeText(ratio),
  ]
  return `<tr${own === undefined ? '' : ' class="rival"'}>${cells.map((cell) => `<td>${cell}</td>`).join('')}</tr>`
}

/** When, on what and how it was measured, as one sentence. */
export function factsText({ startedAt, machine, settings }: Report): string {
  const list = (members: Readonly<Record<string, string | number>>) =>
    Object.entries(members)
      .map(([name, value]) => `${name} ${value}`)
      .join(', ')
  return `${startedAt.slice(0, 16).replace('T', ' ')} UTC; ${list(machine)}; ${list(settings)}.`
}
