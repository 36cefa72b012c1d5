/**
 * Writes the figures of bench/README.md from a report: a table between two marks, and the charts as pictures. Neither
 * is written by hand.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { packageRoot } from '../../src/primitives/packageRoot.js'
import { type Chart, chartStyle, chartsOf, chartWidth, escapeText } from './charts.js'
import { factsText } from './htmlReport.js'
import { type Finding, isFailed, latencyTimes, type Report } from './outcome.js'
import { readReport } from './reportFile.js'
import { count, ratioText, timesText } from './terminalReport.js'

const pagePath = 'bench/README.md'
const pictureName = 'speed.svg'
/** The first chart alone, for README.md. */
const shortPictureName = 'share.svg'
const startMark = '<!-- figures: npm run bench -- --publish FILE -->'
const endMark = '<!-- end of figures -->'

/** Puts the report in `path` into bench/README.md and its pictures. Throws RangeError for a file that is no report. */
export function publish(path: string): void {
  const report = readReport('--publish', path)
  const page = join(packageRoot(), pagePath)
  writeFileSync(page, withFigures(readFileSync(page, 'utf8'), report))
  const charts = chartsOf(report.findings)
  writeFileSync(join(dirname(page), pictureName), picture(charts))
  writeFileSync(join(dirname(page), shortPictureName), picture(charts.slice(0, 1)))
}

/** The text with the figures between its marks replaced. Throws RangeError where it has no marks. */
export function withFigures(page: string, report: Report): string {
  const start = page.indexOf(startMark)
  const end = page.indexOf(endMark)
  if (start === -1 || end < start) throw new RangeError(`${pagePath}: expected ${startMark} and ${endMark}`)
  const figures = [
    `${factsText(report)} The loader's ceiling: ${count(report.loaderCeiling)} answers a second.`,
    `![Charts of this table](${pictureName})`,
    speedTable(report.findings),
  ]
  return `${page.slice(0, start + startMark.length)}\n${figures.join('\n\n')}\n${page.slice(end)}`
}

function speedTable(findings: readonly Finding[]): string {
  const header = [
    '',
    'a second',
    'p50 ms',
    'p97.5 ms',
    'p99 ms',
    'p99 × bare',
    'CPU µs',
    'faults',
    'warm-up',
    'RSS MB',
    '× bare uWS',
    '× anvil',
    '',
  ]
  const rows = findings.map((finding) => {
    if (isFailed(finding)) return [finding.title, ...Array<string>(11).fill('–'), `failed: ${finding.failed}`]
    const { title, unit, own, rivals, ratios, note } = finding
    const { bare, anvil, ...others } = ratios
    const { p50, p975, p99 } = own.latencies ?? {}
    const remarks = [
      ...(unit === 'requests' ? [] : [unit]),
      ...Object.entries(others).map(([rival, ratio]) => `${ratioText(ratio)} × ${rival}`),
      ...(note === undefined ? [] : [note]),
    ]
    return [
      title,
      count(own.rate),
      ...[p50, p975, p99].map((ms) => rounded(ms, 2)),
      timesText(latencyTimes(own, rivals.bare, 'p99')),
      rounded(own.cpuMicros, 1),
      rounded(own.pageFaults, 2),
      own.answersUntilFast === undefined ? '–' : count(own.answersUntilFast),
      rounded(own.residentBytes === undefined ? undefined : own.residentBytes / 1e6, 0),
      ratioText(bare),
      ratioText(anvil),
      remarks.join('; '),
    ]
  })
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
  const alignment = ['---', ...Array<string>(9).fill('--:'), '---']
  return [header, alignment, ...rows].map(line).join('\n')
}

function rounded(value: number | undefined, digits: number): string {
  return value === undefined ? '–' : value.toFixed(digits)
}

const margin = 24
const titleHeight = 44

/** Every chart below the other, on paper of their own, since a picture does not know the page's colours. */
export function picture(charts: readonly Chart[]): string {
  let y = margin / 2
  const drawn = charts.map(({ title, height, content }) => {
    const top = y + titleHeight
    y = top + height
    return (
      `<text class="title" x="0" y="${top - 16}">${escapeText(title)}</text>` +
      `<g transform="translate(0 ${top})">${content}</g>`
    )
  })
  const [width, height] = [chartWidth + 2 * margin, y + margin]
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="${-margin} 0 ${width} ${height}" width="${width}" height="${height}">
<title>Speed of Tidegate beside a bare server and anvil</title>
<style>${chartStyle}</style>
<rect class="paper" x="${-margin}" width="${width}" height="${height}"/>
${drawn.join('\n')}
</svg>
`
}
