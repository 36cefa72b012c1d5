/**
 * The targets of a build, and the comparison of a report with them. Targets are ratios of servers measured in the same
 * run, which are comparable between machines, as milliseconds are not. Memory is comparable too, so its bound is bytes.
 */
import { isFailed, latencyTimes, type Outcome, type Report } from './outcome.js'
import { type Percentile, percentiles } from './statistics.js'

interface RatioTarget {
  /** Name of a scenario. */
  readonly scenario: string
  /** What it is compared with, as in the scenario's `ratios`. */
  readonly rival: string
  /** How many times better than the rival, at least. */
  readonly min: number
  /** For a p99: it is also reached where it is at most so many ms more than the rival's. */
  readonly orMsMore?: number
  /** Cores that a machine must have for the target to count. */
  readonly coresMin?: number
}

interface LatencyTarget {
  readonly scenario: string
  readonly rival: string
  readonly percentile: Percentile
  /** How many times the rival's, at most. */
  readonly maxTimes: number
  /** The CPU time of so many answers is subtracted first: for jobs, whose work the rival does not do. */
  readonly plusAnswers: number
}

interface MemoryTarget {
  readonly scenario: string
  /** Highest peak of the server's resident memory, in millions of bytes. */
  readonly maxMB: number
}

interface FailuresTarget {
  readonly scenario: string
  /** Most requests without a correct answer. */
  readonly maxFailures: number
}

export type Target = RatioTarget | LatencyTarget | MemoryTarget | FailuresTarget

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
  return entries.flatMap((entry: unknown, at) => {
    const parsed = parseLatencies(entry) ?? parseTarget(entry)
    if (parsed === undefined) {
      throw new RangeError(
        `targets[${at}]: expected scenario and either rival and a positive min, perhaps with orMsMore or coresMin, ` +
          'or rival and bounds of p50, p975, p99 or p999, perhaps with plusAnswers, or a positive maxMB, or ' +
          `maxFailures; got ${JSON.stringify(entry)}`,
      )
    }
    const group = Array.isArray(parsed) ? parsed : [parsed]
    for (const target of group) {
      const id = `${target.scenario} ${measureOf(target)}`
      if (seen.has(id)) throw new RangeError(`targets[${at}]: ${id} is there twice`)
      seen.add(id)
    }
    return group
  })
}

/** A bound for each percentile that the entry names; undefined where it names none, or anything else. */
function parseLatencies(entry: unknown): LatencyTarget[] | undefined {
  const { scenario, rival, plusAnswers = 0, ...bounds } = (entry ?? {}) as Record<string, unknown>
  if (typeof scenario !== 'string' || typeof rival !== 'string') return undefined
  if (plusAnswers !== 0 && !isPositive(plusAnswers)) return undefined
  const targets = Object.entries(bounds).map(([percentile, maxTimes]) => {
    if (!(percentile in percentiles) || !isPositive(maxTimes)) return undefined
    return {
      scenario,
      rival,
      percentile: percentile as Percentile,
      maxTimes,
      plusAnswers: plusAnswers as number,
    }
  })
  if (targets.length === 0 || targets.includes(undefined)) return undefined
  return targets as LatencyTarget[]
}

function parseTarget(entry: unknown): Target | undefined {
  const { scenario, ...measure } = (entry ?? {}) as Partial<RatioTarget & MemoryTarget & FailuresTarget>
  if (typeof scenario !== 'string') return undefined
  const { rival, min, orMsMore, coresMin, maxMB, maxFailures } = measure
  switch (Object.keys(measure).sort().join()) {
    case 'min,rival':
      return typeof rival === 'string' && isPositive(min) ? { scenario, rival, min } : undefined
    case 'min,orMsMore,rival':
      return typeof rival === 'string' && isPositive(min) && isPositive(orMsMore)
        ? { scenario, rival, min, orMsMore }
        : undefined
    case 'coresMin,min,rival':
      return typeof rival === 'string' && isPositive(min) && isPositive(coresMin)
        ? { scenario, rival, min, coresMin }
        : undefined
    case 'maxMB':
      return isPositive(maxMB) ? { scenario, maxMB } : undefined
    case 'maxFailures':
      return isPositive(maxFailures) || maxFailures === 0 ? { scenario, maxFailures } : undefined
    default:
      return undefined
  }
}

function isPositive(value: unknown): value is number {
  return typeof value === 'number' && value > 0
}

/** With whom targets compare a scenario, and of these, whose latencies they speak of. */
export function rivalsIn(
  targets: readonly Target[],
  scenario: string,
): { readonly all: readonly string[]; readonly timed: readonly string[] } {
  const own = targets.filter((target) => target.scenario === scenario)
  return {
    all: own.flatMap((target) => ('rival' in target ? [target.rival] : [])),
    timed: own.flatMap((target) => ('percentile' in target ? [target.rival] : [])),
  }
}

export interface Verdict {
  readonly isReached: boolean
  readonly text: string
}

/** What a report says to these targets, but for those that are not demanded of its machine. */
export function verdictOf(report: Report, targets: readonly Target[]): Verdict {
  const demanded = targets.filter(
    (target) => !('min' in target) || (target.coresMin ?? 0) <= Number(report.machine.cores),
  )
  const shortfalls = findShortfalls(report, demanded)
  const spared = targets.length - demanded.length
  const rest = spared === 0 ? '' : ` ${spared} of machines with more cores were not asked for.`
  if (shortfalls.length === 0) {
    return { isReached: true, text: `All ${demanded.length} targets are reached.${rest}` }
  }
  const missed = `${shortfalls.length} of ${demanded.length} targets are not reached.${rest}`
  return { isReached: false, text: `${missed}\n\n${shortfallTable(shortfalls)}` }
}

/** Every target that a report does not reach; what was not measured is not reached. */
export function findShortfalls(report: Report, targets: readonly Target[]): Shortfall[] {
  return targets.flatMap((target) => {
    const finding = report.findings.find(({ name }) => name === target.scenario)
    if (finding === undefined || isFailed(finding)) {
      return [{ target, measured: undefined, why: finding?.failed ?? 'not part of this run' }]
    }
    const shortfall = shortfallOf(target, finding)
    return shortfall === undefined ? [] : [shortfall]
  })
}

function shortfallOf(target: Target, outcome: Outcome): Shortfall | undefined {
  if ('percentile' in target) return latencyShortfall(target, outcome)
  if ('min' in target) return ratioShortfall(target, outcome)
  return 'maxMB' in target ? memoryShortfall(target, outcome) : failuresShortfall(target, outcome)
}

function ratioShortfall(target: RatioTarget, { ratios, own, rivals }: Outcome): Shortfall | undefined {
  const ratio = ratios[target.rival]
  if (ratio === undefined) {
    return { target, measured: undefined, why: `no comparison with ${target.rival} in this run` }
  }
  if (ratio.value >= target.min) return undefined
  const [p99, rivalP99] = [own.latencies?.p99, rivals[target.rival]?.latencies?.p99]
  const isNear = p99 !== undefined && rivalP99 !== undefined && p99 - rivalP99 <= (target.orMsMore ?? 0)
  if (isNear && ratio.by === 'p99') return undefined
  const short = ((1 - ratio.value / target.min) * 100).toFixed(0)
  return { target, measured: ratio.value, why: `${short} % short, by ${ratio.by}` }
}

function latencyShortfall(target: LatencyTarget, { own, rivals }: Outcome): Shortfall | undefined {
  const { rival, percentile, maxTimes, plusAnswers } = target
  if (plusAnswers > 0 && own.cpuMicros === undefined) {
    return { target, measured: undefined, why: "this system does not tell a process' CPU time" }
  }
  const freeMs = plusAnswers * ((own.cpuMicros ?? 0) / 1000)
  const measured = latencyTimes(own, rivals[rival], percentile, freeMs)
  if (measured === undefined) {
    return { target, measured, why: `no ${percentile} to compare with ${rival}'s in this run` }
  }
  if (measured <= maxTimes) return undefined
  return { target, measured, why: `${((measured / maxTimes - 1) * 100).toFixed(0)} % over` }
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

function failuresShortfall(target: FailuresTarget, { failures }: Outcome): Shortfall | undefined {
  if (failures === undefined) return { target, measured: undefined, why: 'it does not count failures' }
  if (failures <= target.maxFailures) return undefined
  return { target, measured: failures, why: `${failures - target.maxFailures} too many` }
}

function measureOf(target: Target): string {
  if ('percentile' in target) return `${target.percentile} × ${target.rival}`
  if ('rival' in target) return target.rival
  return 'maxMB' in target ? 'RSS MB' : 'failures'
}

function boundOf(target: Target): string {
  if ('percentile' in target) {
    const { maxTimes, plusAnswers } = target
    return `≤ ${maxTimes}${plusAnswers === 0 ? '' : ` beyond the CPU time of ${plusAnswers} answers`}`
  }
  if ('rival' in target) {
    return `≥ ${target.min}${target.orMsMore === undefined ? '' : ` or ≤ ${target.orMsMore} ms more`}`
  }
  return `≤ ${'maxMB' in target ? target.maxMB : target.maxFailures}`
}

/** The shortfalls as a table for a terminal. */
export function shortfallTable(shortfalls: readonly Shortfall[]): string {
  const rows = shortfalls.map(({ target, measured, why }) => [
    target.scenario,
    measureOf(target),
    boundOf(target),
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
