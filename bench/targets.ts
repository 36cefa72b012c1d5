/**
 * The ratios that a build has to reach, and the comparison of a report with them. Ratios of servers measured in the
 * same run say the same on every machine; milliseconds do not.
 */
import { isSkipped, type Report } from './outcome.js'

export interface Target {
  /** Name of a scenario. */
  readonly scenario: string
  /** What it is compared with, as in the scenario's `ratios`. */
  readonly rival: string
  /** How many times better than the rival, at least. */
  readonly min: number
}

export interface Shortfall extends Target {
  /** Undefined where it was not measured, and then `why` says why not. */
  readonly measured: number | undefined
  readonly why: string
}

/** Reads targets.json. Throws RangeError naming the entry at fault. */
export function parseTargets(text: string): Target[] {
  const entries: unknown = JSON.parse(text)
  if (!Array.isArray(entries)) throw new RangeError('targets: expected an array')
  const seen = new Set<string>()
  return entries.map((entry: Partial<Target>, at) => {
    const { scenario, rival, min } = entry
    if (typeof scenario !== 'string' || typeof rival !== 'string' || typeof min !== 'number' || !(min > 0)) {
      throw new RangeError(
        `targets[${at}]: expected scenario, rival and a positive min, got ${JSON.stringify(entry)}`,
      )
    }
    const id = `${scenario} ${rival}`
    if (seen.has(id)) throw new RangeError(`targets[${at}]: ${id} is there twice`)
    seen.add(id)
    return { scenario, rival, min }
  })
}

/** Every target that a report does not reach; what was not measured is not reached. */
export function findShortfalls(report: Report, targets: readonly Target[]): Shortfall[] {
  const shortfalls: Shortfall[] = []
  for (const target of targets) {
    const finding = report.findings.find(({ name }) => name === target.scenario)
    if (finding === undefined || isSkipped(finding)) {
      shortfalls.push({ ...target, measured: undefined, why: finding?.skipped ?? 'not part of this run' })
      continue
    }
    const ratio = finding.ratios[target.rival]
    if (ratio === undefined) {
      shortfalls.push({
        ...target,
        measured: undefined,
        why: `no comparison with ${target.rival} in this run`,
      })
    } else if (!(ratio.value >= target.min)) {
      const short = ((1 - ratio.value / target.min) * 100).toFixed(0)
      shortfalls.push({ ...target, measured: ratio.value, why: `${short} % short, by ${ratio.by}` })
    }
  }
  return shortfalls
}

/** The shortfalls as a table for a terminal. */
export function shortfallTable(shortfalls: readonly Shortfall[]): string {
  const rows = shortfalls.map(({ scenario, rival, min, measured, why }) => [
    scenario,
    rival,
    String(min),
    measured === undefined ? '–' : measured.toFixed(2),
    why,
  ])
  const header = ['scenario', 'rival', 'target', 'got', '']
  const widths = header.map((_, at) =>
    Math.max(...[header, ...rows].map((row) => (row[at] as string).length)),
  )
  const line = (row: readonly string[]) =>
    row
      .map((cell, at) => cell.padEnd(widths[at] as number))
      .join('  ')
      .trimEnd()
  return [header, ...rows].map(line).join('\n')
}
