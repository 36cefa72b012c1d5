/**
 * What a build has to reach, and the comparison of a report with it. Ratios of servers measured in the same run say
 * the same on every machine, milliseconds do not; memory does too, and has a bound of its own.
 */
import { isFailed, type Outcome, type Report } from './outcome.js'

interface RatioTarget {
  /** Name of a scenario. */
  readonly scenario: string
  /** What it is compared with, as in the scenario's `ratios`. */
  readonly rival: string
  /** How many times better than the rival, at least. */
  readonly min: number
}

interface MemoryTarget {
  readonly scenario: string
  /** Resident memory of the server at its highest, in millions of bytes, at most. */
  readonly maxMB: number
}

export type Target = RatioTarget | MemoryTarget

export interface Shortfall {
  readonly target: Target
  /** Undefined where it was not measured, and then `why` says why not. */
  readonly measured: number | undefined
  readonly why: string
}

/** Reads targets.json. Throws RangeError naming the entry at fault. */
export function parseTargets(text: string): Target[] {
  const entries: unknown = JSON.parse(text)
  if (!Array.isArray(entries)) throw new RangeError('targets: expected an array')
  const seen = new Set<string>()
  return entries.map((entry: unknown, at) => {
    const target = parseTarget(entry)
    if (target === undefined) {
      throw new RangeError(
        `targets[${at}]: expected scenario, rival and a positive min, or scenario and a positive maxMB, ` +
          `got ${JSON.stringify(entry)}`,
      )
    }
    const id = `${target.scenario} ${measureOf(target)}`
    if (seen.has(id)) throw new RangeError(`targets[${at}]: ${id} is there twice`)
    seen.add(id)
    return target
  })
}

function parseTarget(entry: Partial<RatioTarget & MemoryTarget> | unknown): Target | undefined {
  const { scenario, rival, min, maxMB } = (entry ?? {}) as Partial<RatioTarget & MemoryTarget>
  if (typeof scenario !== 'string') return undefined
  if (typeof rival === 'string' && isPositive(min) && maxMB === undefined) return { scenario, rival, min }
  if (isPositive(maxMB) && rival === undefined && min === undefined) return { scenario, maxMB }
  return undefined
}

function isPositive(value: unknown): value is number {
  return typeof value === 'number' && value > 0
}

/** Every target that a report does not reach; what was not measured is not reached. */
export function findShortfalls(report: Report, targets: readonly Target[]): Shortfall[] {
  return targets.flatMap((target) => {
    const finding = report.findings.find(({ name }) => name === target.scenario)
    if (finding === undefined || isFailed(finding)) {
      return [{ target, measured: undefined, why: finding?.failed ?? 'not part of this run' }]
    }
    const shortfall = 'rival' in target ? ratioShortfall(target, finding) : memoryShortfall(target, finding)
    return shortfall === undefined ? [] : [shortfall]
  })
}

function ratioShortfall(target: RatioTarget, { ratios }: Outcome): Shortfall | undefined {
  const ratio = ratios[target.rival]
  if (ratio === undefined) {
    return { target, measured: undefined, why: `no comparison with ${target.rival} in this run` }
  }
  if (ratio.value >= target.min) return undefined
  const short = ((1 - ratio.value / target.min) * 100).toFixed(0)
  return { target, measured: ratio.value, why: `${short} % short, by ${ratio.by}` }
}

function memoryShortfall(target: MemoryTarget, { own }: Outcome): Shortfall | undefined {
  const { peakResidentBytes } = own
  if (peakResidentBytes === undefined) {
    return { target, measured: undefined, why: "this system does not tell a process' memory" }
  }
  const measured = peakResidentBytes / 1e6
  if (measured <= target.maxMB) return undefined
  return { target, measured, why: `${((measured / target.maxMB - 1) * 100).toFixed(0)} % over` }
}

function measureOf(target: Target): string {
  return 'rival' in target ? target.rival : 'RSS MB'
}

/** The shortfalls as a table for a terminal. */
export function shortfallTable(shortfalls: readonly Shortfall[]): string {
  const rows = shortfalls.map(({ target, measured, why }) => [
    target.scenario,
    measureOf(target),
    'rival' in target ? `≥ ${target.min}` : `≤ ${target.maxMB}`,
    measured === undefined ? '–' : measured.toFixed(2),
    why,
  ])
  const header = ['scenario', 'measure', 'target', 'got', '']
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
