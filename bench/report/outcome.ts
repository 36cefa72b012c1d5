/** Results of a run, as in the JSON report. */
import type { Memory } from '../servers/serverProcess.js'
import { type Latencies, median, type Percentile, spread } from './statistics.js'

/** Results of one server in one round under saturation; members as in {@link Side}. */
export interface Round {
  readonly rate: number
  readonly cpuMicros?: number | undefined
}

/** One server under one scenario: medians over the rounds. */
export interface Side extends Memory {
  /** Rounds in order; rounds of two servers with the same index were measured one right after the other. */
  readonly rounds?: readonly Round[]
  /** Answers per second under saturation; for other work, units of {@link Outcome.unit} per second. */
  readonly rate: number
  /** Distance between the extremes of the rounds' rates, as a share of the median. */
  readonly rateSpread: number
  /** CPU time of the server process per answer. */
  readonly cpuMicros?: number | undefined
  /** Page faults of the server process per answer. */
  readonly pageFaults?: number | undefined
  /** Share of one core that the server took under saturation. */
  readonly busy?: number | undefined
  /** Latencies at a fixed rate; a stall counts for every request due in it. */
  readonly latencies?: Latencies | undefined
  /** Latencies of each round at that rate; servers alternate. */
  readonly latencyRounds?: readonly Latencies[]
}

/**
 * How many times better the measured server is than a rival: by rates, by CPU time per answer, or by a latency. Above 1
 * the measured server is better.
 */
export interface Ratio {
  readonly value: number
  readonly by: 'rate' | 'cpu' | 'p99'
  /**
   * Distance between the extremes of the rounds' ratios as a share of their median; absent if rounds are not compared.
   */
  readonly spread?: number
}

export interface Outcome {
  readonly name: string
  readonly title: string
  readonly unit: string
  /** The measured server. */
  readonly own: Side
  /** By name: `bare`, `anvil`, `geth`, or the rival of a scenario. */
  readonly rivals: Readonly<Record<string, Side>>
  readonly ratios: Readonly<Record<string, Ratio>>
  readonly note?: string | undefined
  /** Number of requests without a right answer, if every answer is checked. */
  readonly failures?: number
  /** Lines of a table of its own. */
  readonly details?: readonly string[]
  /** Missed goals of the scenario. */
  readonly missed?: readonly string[]
}

/** A scenario that could not be measured, with the reason. */
export interface Failed {
  readonly name: string
  readonly title: string
  readonly failed: string
  /** Whether the machine lacks a program or resource that it needs. */
  readonly isSkipped?: true
}

export type Finding = Outcome | Failed

export interface Report {
  readonly startedAt: string
  readonly machine: Readonly<Record<string, string | number>>
  readonly settings: Readonly<Record<string, string | number>>
  /** Highest rate of the loader, in answers per second, against a bare server. */
  readonly loaderCeiling: number
  readonly findings: readonly Finding[]
}

/** A side by its rates in the rounds. */
export function sideOf(rates: readonly number[]): Side {
  return { rate: median(rates) ?? 0, rateSpread: spread(rates), rounds: rates.map((rate) => ({ rate })) }
}

/** A side by its rounds, of which each has the CPU time of a server of its own. */
export function sideOfRounds(rounds: readonly Round[]): Side {
  const rates = rounds.map(({ rate }) => rate)
  const cpuMicros = median(rounds.map(({ cpuMicros }) => cpuMicros))
  return { rounds, rate: median(rates) ?? 0, rateSpread: spread(rates), cpuMicros }
}

/** Rate and CPU time of a round, from the server's CPU seconds and the number of answers. */
export function roundOf(answers: number, seconds: number, cpuSeconds: number | undefined): Round {
  return { rate: answers / seconds, cpuMicros: cpuSeconds && (cpuSeconds * 1e6) / answers }
}

/** A server that used more of its core than this was saturated; otherwise the loader was the limit. */
export const saturatedMin = 0.9

/**
 * If both servers were saturated, the ratio is of rates, except with `isByCpu`. If the loader was the limit, it is of
 * CPU time per answer, or of rates if that is unknown. Sides measured in turns are compared round by round, and the
 * median counts, because a busy machine affects both.
 */
export function compareSides(own: Side, rival: Side, isByCpu = false): Ratio {
  const { by, compare } = measureOf(own, rival, isByCpu)
  const pairs = pairsOf(own, rival, compare)
  const value = median(pairs ?? [])
  return value === undefined ? { value: compare(own, rival), by } : { value, by, spread: spread(pairs ?? []) }
}

/** The ratio of each round, if sides were measured in turns. */
export function ratiosOfRounds(own: Side, rival: Side, isByCpu: boolean): readonly number[] {
  return pairsOf(own, rival, measureOf(own, rival, isByCpu).compare) ?? []
}

function pairsOf(own: Side, rival: Side, compare: (a: Round, b: Round) => number) {
  return own.rounds?.flatMap((round, at) => {
    const other = rival.rounds?.[at]
    return other === undefined ? [] : [compare(round, other)]
  })
}

function measureOf(own: Side, rival: Side, isByCpu: boolean) {
  const isSaturated = (own.busy ?? 0) >= saturatedMin && (rival.busy ?? 0) >= saturatedMin
  const byRate = (isSaturated && !isByCpu) || own.cpuMicros === undefined || rival.cpuMicros === undefined
  const compare = (a: Round, b: Round): number =>
    byRate ? a.rate / b.rate : (b.cpuMicros as number) / (a.cpuMicros as number)
  const by: Ratio['by'] = byRate ? 'rate' : 'cpu'
  return { by, compare }
}

/**
 * The measured server's percentile divided by the rival's: the median of the rounds, or of all answers if a round is
 * too short. Undefined if both are too short.
 */
export function latencyTimes(own: Side, rival: Side | undefined, percentile: Percentile): number | undefined {
  const compare = (a: Latencies | undefined, b: Latencies | undefined): number | undefined => {
    const ownMs = a?.[percentile]
    const rivalMs = b?.[percentile]
    return ownMs === undefined || rivalMs === undefined ? undefined : ownMs / rivalMs
  }
  const rounds = own.latencyRounds?.map((round, at) => compare(round, rival?.latencyRounds?.[at]))
  return median(rounds ?? []) ?? compare(own.latencies, rival?.latencies)
}

export function isFailed(finding: Finding): finding is Failed {
  return 'failed' in finding
}
