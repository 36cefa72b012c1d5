/**
 * The targets of a build, and the comparison of a report with them. Targets are ratios of servers measured in the same
 * run, which are comparable between machines, as milliseconds are not. Memory is comparable too, so its bound is bytes.
 */
import { z } from 'zod'
import { isFailed, latencyTimes, type Outcome, type Report } from './outcome.js'
import { inColumns, type Percentile, percentiles } from './statistics.js'

const positive = z.number().positive()
/** A scenario, and its rival, as in its `ratios`. */
const pair = { scenario: z.string(), rival: z.string() }
/** Minimum for how many times better than the rival it is. */
const ratio = z.strictObject({ ...pair, min: positive })
const entrySchema = z.union([
  ratio,
  // For a p99: it is also met if the p99 is at most this many ms above the rival's.
  ratio.extend({ orMsMore: positive }),
  // Cores that a machine must have for the target to count.
  ratio.extend({ coresMin: positive }),
  // Maximum for how many times the rival's percentiles.
  z
    .strictObject({
      ...pair,
      p50: positive.optional(),
      p975: positive.optional(),
      p99: positive.optional(),
      p999: positive.optional(),
    })
    .refine((entry) => Object.keys(entry).some((key) => key in percentiles)),
  // Highest peak of the server's resident memory, in millions of bytes.
  z.strictObject({ scenario: z.string(), maxMB: positive }),
  // Most requests without a correct answer.
  z.strictObject({ scenario: z.string(), maxFailures: z.number().nonnegative() }),
])

interface LatencyTarget {
  readonly scenario: string
  readonly rival: string
  readonly percentile: Percentile
  readonly maxTimes: number
}

type RatioTarget = z.infer<typeof ratio> & { readonly orMsMore?: number; readonly coresMin?: number }

export type Target =
  | RatioTarget
  | LatencyTarget
  | { readonly scenario: string; readonly maxMB: number }
  | { readonly scenario: string; readonly maxFailures: number }

/** A ratio whose rounds lie further apart, as a share of their median, is no measurement: it decides nothing. */
export const spreadMax = 0.4

export interface Shortfall {
  readonly target: Target
  /** Whether the rounds spread too much to decide whether the target is met. */
  readonly isOpen?: true
  /** Undefined if it was not measured; `why` is then the reason. */
  readonly measured: number | undefined
  readonly why: string
}

/** Reads targets.json. Throws RangeError naming the entry at fault. */
export function parseTargets(text: string): Target[] {
  const entries: unknown = JSON.parse(text)
  if (!Array.isArray(entries)) throw new RangeError('targets: expected an array')
  const seen = new Set<string>()
  return entries.flatMap((entry: unknown, at) => {
    const { data } = entrySchema.safeParse(entry)
    if (data === undefined) {
      throw new RangeError(
        `targets[${at}]: expected scenario and either rival and a positive min, perhaps with orMsMore or coresMin, ` +
          'or rival and bounds of p50, p975, p99 or p999, or a positive maxMB, or ' +
          `maxFailures; got ${JSON.stringify(entry)}`,
      )
    }
    const targets = targetsOf(data)
    for (const target of targets) {
      const id = `${target.scenario} ${measureOf(target)}`
      if (seen.has(id)) throw new RangeError(`targets[${at}]: ${id} is there twice`)
      seen.add(id)
    }
    return targets
  })
}

/** One target for each percentile in the entry, or one for the entry. */
function targetsOf(entry: z.infer<typeof entrySchema>): Target[] {
  if (!('rival' in entry) || 'min' in entry) return [entry]
  const { scenario, rival, ...bounds } = entry
  return Object.entries(bounds as Record<Percentile, number>).map(([percentile, maxTimes]) => ({
    scenario,
    rival,
    maxTimes,
    percentile: percentile as Percentile,
  }))
}

/** The rivals in the targets of a scenario, and those whose latencies are compared. */
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

/** Whether a target counts on a machine with this number of cores. */
export function isOf(target: Target, cores: number): boolean {
  return !('min' in target) || (target.coresMin ?? 0) <= cores
}

/** The verdict of a report on these targets, without those not required on its machine. */
export function verdictOf(report: Report, targets: readonly Target[]): Verdict {
  const skipped = new Set(
    report.findings.filter((finding) => isFailed(finding) && finding.isSkipped).map(({ name }) => name),
  )
  const measurable = targets.filter(({ scenario }) => !skipped.has(scenario))
  const demanded = measurable.filter((target) => isOf(target, Number(report.machine.cores)))
  const found = findShortfalls(report, demanded)
  const open = found.filter(({ isOpen }) => isOpen)
  const missed = found.filter(({ isOpen }) => !isOpen)
  const spared = measurable.length - demanded.length
  const judged = demanded.length - open.length
  const sentences = [
    missed.length > 0
      ? `${missed.length} of ${demanded.length} targets are not reached.`
      : open.length > 0
        ? `${judged} of ${demanded.length} targets are reached.`
        : `All ${demanded.length} targets are reached.`,
    open.length > 0 &&
      `${open.length} are not measured: their rounds spread by more than ${spreadMax * 100} %.`,
    skipped.size > 0 && `Skipped: ${[...skipped].join(', ')}.`,
    spared > 0 && `${spared} of machines with more cores were not asked for.`,
  ]
  const text = sentences.filter((sentence) => sentence !== false).join(' ')
  const table = found.length === 0 ? '' : `\n\n${shortfallTable([...missed, ...open])}`
  // A run without measurements meets no target.
  return { isReached: missed.length === 0 && judged > 0, text: text + table }
}

/** Every target that a report misses, and those that its rounds do not decide; absent parts count as missed. */
export function findShortfalls(report: Report, targets: readonly Target[]): Shortfall[] {
  return targets.flatMap((target) => {
    const finding = report.findings.find(({ name }) => name === target.scenario)
    if (finding === undefined || isFailed(finding)) {
      return [{ target, measured: undefined, why: finding?.failed ?? 'not part of this run' }]
    }
    const found = 'min' in target ? ratioShortfall(target, finding) : boundShortfall(target, finding)
    return found === undefined ? [] : [{ target, ...found }]
  })
}

type Found = Omit<Shortfall, 'target'> | undefined

const unknown = (why: string): Found => ({ measured: undefined, why })

function ratioShortfall(target: RatioTarget, { ratios, own, rivals }: Outcome): Found {
  const ratio = ratios[target.rival]
  if (ratio === undefined) return unknown(`no comparison with ${target.rival} in this run`)
  if ((ratio.spread ?? 0) > spreadMax) {
    return {
      measured: undefined,
      isOpen: true,
      why: `not measured: ${ratio.value.toFixed(2)} ±${(100 * (ratio.spread as number)).toFixed(0)} %`,
    }
  }
  if (ratio.value >= target.min) return undefined
  const p99 = own.latencies?.p99
  const rivalP99 = rivals[target.rival]?.latencies?.p99
  const isNear = p99 !== undefined && rivalP99 !== undefined && p99 - rivalP99 <= (target.orMsMore ?? 0)
  if (isNear && ratio.by === 'p99') return undefined
  const short = ((1 - ratio.value / target.min) * 100).toFixed(0)
  return { measured: ratio.value, why: `${short} % short, by ${ratio.by}` }
}

function boundShortfall(target: Exclude<Target, RatioTarget>, outcome: Outcome): Found {
  const { own, rivals, failures } = outcome
  if ('maxFailures' in target) {
    if (failures === undefined) return unknown('it does not count failures')
    if (failures <= target.maxFailures) return undefined
    return { measured: failures, why: `${failures - target.maxFailures} too many` }
  }
  if ('maxMB' in target) {
    if (own.peakResidentBytes === undefined) return unknown("this system does not tell a process' memory")
    return over(own.peakResidentBytes / 1e6, target.maxMB)
  }
  const { rival, percentile, maxTimes } = target
  const times = latencyTimes(own, rivals[rival], percentile)
  if (times === undefined) return unknown(`no ${percentile} to compare with ${rival}'s in this run`)
  return over(times, maxTimes)
}

function over(measured: number, bound: number): Found {
  if (measured <= bound) return undefined
  return { measured, why: `${((measured / bound - 1) * 100).toFixed(0)} % over` }
}

function measureOf(target: Target): string {
  if ('percentile' in target) return `${target.percentile} × ${target.rival}`
  if ('rival' in target) return target.rival
  return 'maxMB' in target ? 'RSS MB' : 'failures'
}

function boundOf(target: Target): string {
  if ('percentile' in target) return `≤ ${target.maxTimes}`
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
  return inColumns([['scenario', 'measure', 'target', 'got', ''], ...rows], Infinity).join('\n')
}
