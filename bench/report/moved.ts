/** Compares two builds: scenarios that became faster or slower, as a Markdown table for a pull request. */
import { type Finding, isFailed, type Outcome, ratiosOfRounds } from './outcome.js'
import { median } from './statistics.js'

/** With fewer rounds on one side, chance alone moves some of forty scenarios. Of nine it moves one in 256. */
const roundsMin = 5

interface Moved {
  readonly title: string
  /** Base divided by this build, by CPU time: above 1 this build takes less. */
  readonly low: number
  readonly median: number
  readonly high: number
  readonly micros: readonly (number | undefined)[]
}

/**
 * A scenario moved where this build was better in each round, or worse in each: the spread of the rounds does not
 * explain that. Undefined if no other build was measured.
 */
export function movedTable(findings: readonly Finding[]): string | undefined {
  const compared = findings.filter(
    (finding): finding is Outcome => !isFailed(finding) && finding.rivals.base !== undefined,
  )
  const failed = findings.filter(isFailed).filter(({ isSkipped }) => !isSkipped)
  if (compared.length === 0) return undefined
  const moved = compared
    .map(movedOf)
    .filter(({ low, high }) => low > 1 || high < 1)
    .sort((a, b) => a.median - b.median)
  const head = `${moved.length} of ${compared.length} scenarios moved against the base: each round lies on one side of it.`
  const more = failed.map(({ name, failed }) => `Not measured: ${name}: ${failed}`)
  if (moved.length === 0) return [head, ...more].join('\n\n')
  const micros = (value: number | undefined) => value?.toFixed(1) ?? '–'
  const rows = [
    ['', 'base, µs of CPU', 'here', 'times as fast', 'rounds'],
    ['---', '--:', '--:', '--:', '--:'],
    ...moved.map(({ title, low, median, high, micros: [own, base] }) => [
      title.replaceAll('|', '\\|'),
      micros(base),
      micros(own),
      median.toFixed(2),
      `${low.toFixed(2)} to ${high.toFixed(2)}`,
    ]),
  ]
  return [head, rows.map((cells) => `| ${cells.join(' | ')} |`).join('\n'), ...more].join('\n\n')
}

function movedOf({ title, own, rivals: { base } }: Outcome): Moved {
  const ratios = base === undefined ? [] : ratiosOfRounds(own, base, true)
  const micros = [own.cpuMicros, base?.cpuMicros]
  if (ratios.length < roundsMin) return { title, low: 1, median: 1, high: 1, micros }
  return { title, low: Math.min(...ratios), median: median(ratios) ?? 1, high: Math.max(...ratios), micros }
}
