/** What a run finds out, as it stands in the JSON report. */
import type { KernelFigures } from './kernelSpeed.js'
import type { Memory } from './serverProcess.js'
import { type Latencies, median, type Percentile } from './statistics.js'

/** What one server did in one round under saturation; members as in {@link Side}. */
export interface Round {
  readonly rate: number
  readonly cpuMicros?: number | undefined
}

/** One server under one scenario: medians over the rounds. */
export interface Side extends Memory {
  /** In their order; those of two servers that stand at the same place were taken one right after the other. */
  readonly rounds?: readonly Round[]
  /** Answers a second under saturation; of work that is no requests, units of {@link Outcome.unit} a second. */
  readonly rate: number
  /** Distance between the extremes of the rounds' rates, as a share of the median. */
  readonly rateSpread: number
  /** CPU time of the server process per answer. */
  readonly cpuMicros?: number | undefined
  /** Share of one core that the server took under saturation. */
  readonly busy?: number | undefined
  /** Under a fixed rate; a stall counts for every question that was due in it. */
  readonly latencies?: Latencies | undefined
  /** Of the single rounds at that rate; where two servers have some they took turns. */
  readonly latencyRounds?: readonly Latencies[]
  /** That rate, a second. */
  readonly latencyRate?: number | undefined
}

/**
 * How many times better than a rival: of rates, of CPU time per answer, or of a latency. Above 1 the measured server
 * is the better one.
 */
export interface Ratio {
  readonly value: number
  readonly by: 'rate' | 'cpu' | 'p99'
}

/** How often what was told: a status, an error code, how a connection ended. */
export type Told = Readonly<Record<string, number>>

/** One kind of question in one phase. */
export interface Served {
  readonly asked: number
  readonly latencies: Latencies
  readonly longestMs: number
  /** The 99th percentile of how long after they were due questions were sent, ms. */
  readonly sentAfterDueMs: number | undefined
  readonly failed: number
  /** Why. */
  readonly failures: Told
}

/** Victims alone, or beside one attack or several. */
export interface Phase {
  readonly title: string
  readonly reads: Served
  readonly proofs: Served
  /** Of the server while the phase lasted. */
  readonly peakResidentBytes: number | undefined
  readonly hasServerEnded: boolean
  /** From the end of the attack until victims were served as if alone; undefined where that took too long. */
  readonly recoverySeconds: number | undefined
  /** What the attackers were told, of all of them. */
  readonly told: Told
}

/** A kind of call, what it was charged and what it took. */
export interface PricedCall {
  readonly name: string
  readonly answers: number
  /** Charged for one. */
  readonly units: number
  /** Of the server, all threads together, for one; undefined where the system does not tell. */
  readonly cpuMicros: number | undefined
}

export interface Outcome {
  readonly name: string
  readonly title: string
  readonly unit: string
  readonly answerBytes?: number | undefined
  /** The measured server. */
  readonly own: Side
  /** By name: `bare`, `anvil`, or what a scenario compares with. */
  readonly rivals: Readonly<Record<string, Side>>
  readonly ratios: Readonly<Record<string, Ratio>>
  readonly note?: string | undefined
  /** Where every question has to come to a right answer: how many did not. */
  readonly failures?: number
  /** Parts of the scenario, in their order. */
  readonly phases?: readonly Phase[]
  /** Calls beside their prices. */
  readonly calls?: readonly PricedCall[]
  /** Of the scenario `kernel`. */
  readonly kernel?: KernelFigures
}

/** A scenario that could not be measured, and why. */
export interface Failed {
  readonly name: string
  readonly title: string
  readonly failed: string
}

export type Finding = Outcome | Failed

export interface Report {
  readonly startedAt: string
  readonly machine: Readonly<Record<string, string | number>>
  readonly settings: Readonly<Record<string, string | number>>
  /** Answers a second that the loader reaches against a server that does nothing. */
  readonly loaderCeiling: number
  readonly findings: readonly Finding[]
}

/** A server that took more of its core than this was saturated; one that took less waited for the loader. */
export const saturatedMin = 0.9

/**
 * Where both servers were saturated, their rates say which is faster. Where the loader was the limit, rates say
 * nothing and CPU time per answer decides; without knowledge of it, rates have to do. Sides that took turns are
 * compared round by round, and the median counts: what a busy machine does for a second it does to both.
 */
export function compareSides(own: Side, rival: Side): Ratio {
  const isSaturated = (own.busy ?? 0) >= saturatedMin && (rival.busy ?? 0) >= saturatedMin
  const byRate = isSaturated || own.cpuMicros === undefined || rival.cpuMicros === undefined
  const compare = (a: Round, b: Round): number =>
    byRate ? a.rate / b.rate : (b.cpuMicros as number) / (a.cpuMicros as number)
  const pairs = own.rounds?.flatMap((round, at) => {
    const other = rival.rounds?.[at]
    return other === undefined ? [] : [compare(round, other)]
  })
  return { value: median(pairs ?? []) ?? compare(own, rival), by: byRate ? 'rate' : 'cpu' }
}

/**
 * How many times a rival's percentile the measured server's is, once `freeMs` are taken from its own: the median of
 * the rounds, or of all answers where a round is too short to tell. Undefined where neither tells.
 */
export function latencyTimes(
  own: Side,
  rival: Side | undefined,
  percentile: Percentile,
  freeMs = 0,
): number | undefined {
  const compare = (a: Latencies | undefined, b: Latencies | undefined): number | undefined => {
    const [ownMs, rivalMs] = [a?.[percentile], b?.[percentile]]
    return ownMs === undefined || rivalMs === undefined ? undefined : Math.max(0, ownMs - freeMs) / rivalMs
  }
  const rounds = own.latencyRounds?.map((round, at) => compare(round, rival?.latencyRounds?.[at]))
  return median(rounds ?? []) ?? compare(own.latencies, rival?.latencies)
}

export function isFailed(finding: Finding): finding is Failed {
  return 'failed' in finding
}
