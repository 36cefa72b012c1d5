/**
 * Rates and quantiles of the last seconds, from counters. Counters are sampled at regular times, and the newest sample
 * is compared with older ones.
 */
import { bucketSeconds } from '../../primitives/durationBuckets.js'
import type { EdgeCounts, MethodCounts } from './edgeCounts.js'
import { minus, sumCells, sumLists, sumMaps, sumOf } from './sumCounts.js'

/** Samples from the oldest to the newest: with one a second, a window long enough for infrequent calls. */
const windowTicks = 10

/** Counts since the start, at one time. */
export interface CountSample {
  readonly atMs: number
  /** Counts by {@link cellName}. */
  readonly methods: ReadonlyMap<string, MethodCounts>
  readonly errors: ReadonlyMap<string, number>
  readonly rejections: ReadonlyMap<string, number>
  readonly edges: readonly { readonly cpuSeconds: number; readonly delays: readonly number[] }[]
}

interface MethodRates {
  readonly network: string
  readonly method: string
  readonly callsPerSecond: number
  readonly repeatedPerSecond: number
  readonly errorsPerSecond: number
  /** Quantiles of timed calls; undefined if there are none. */
  readonly p50Seconds: number | undefined
  readonly p99Seconds: number | undefined
  readonly resultBytesPerSecond: number
}

interface NamedRate {
  readonly name: string
  readonly total: number
  readonly perSecond: number
}

export interface RecentRates {
  /** Rate between the two newest samples. */
  readonly callsPerSecond: number
  readonly errorsPerSecond: number
  readonly rejectionsPerSecond: number
  /** Time between the oldest and the newest sample; the members below are over this time. */
  readonly windowSeconds: number
  /** Quantiles of timed calls of all methods; undefined if there are none. */
  readonly p50Seconds: number | undefined
  readonly p99Seconds: number | undefined
  /** Busiest first. */
  readonly methods: readonly MethodRates[]
  /** Error codes and reasons that ever occurred. */
  readonly errors: readonly NamedRate[]
  readonly rejections: readonly NamedRate[]
  /** Figures by number of the edge. */
  readonly edges: readonly { readonly cpuShare: number; readonly delayP99Seconds: number | undefined }[]
}

/** Name of the counts of a method on a network; neither contains a space. */
export function cellName({ network, method }: Pick<MethodCounts, 'network' | 'method'>): string {
  return `${network} ${method}`
}

export function sampleCounts(edges: readonly EdgeCounts[], atMs: number): CountSample {
  return {
    atMs,
    methods: new Map(
      sumCells(edges.flatMap((edge) => edge.readMethods())).map((counts) => [cellName(counts), counts]),
    ),
    errors: sumMaps(edges.map((edge) => edge.readErrors())),
    rejections: sumMaps(edges.map((edge) => edge.readRejections())),
    edges: edges.map((edge) => ({
      cpuSeconds: edge.figures.cpuSeconds,
      delays: edge.readDelays().buckets,
    })),
  }
}

export class RecentCalls {
  readonly #edges: readonly EdgeCounts[]
  readonly #nowMs: () => number
  readonly #samples: CountSample[] = []

  /** `nowMs` is a clock that never goes back. */
  constructor(edges: readonly EdgeCounts[], nowMs: () => number = () => performance.now()) {
    this.#edges = edges
    this.#nowMs = nowMs
    this.sample()
  }

  sample(): void {
    this.#samples.push(sampleCounts(this.#edges, this.#nowMs()))
    if (this.#samples.length > windowTicks + 1) this.#samples.shift()
  }

  read(): RecentRates {
    const newest = this.#samples.at(-1) as CountSample
    const before = this.#samples.at(-2) ?? newest
    const oldest = this.#samples[0] as CountSample
    const lastSeconds = (newest.atMs - before.atMs) / 1_000
    const windowSeconds = (newest.atMs - oldest.atMs) / 1_000
    const rateOf = (count: number, seconds: number) => (seconds > 0 ? count / seconds : 0)
    const lastRate = (of: (sample: CountSample) => number) => rateOf(of(newest) - of(before), lastSeconds)
    const named = (of: (sample: CountSample) => ReadonlyMap<string, number>): NamedRate[] =>
      [...of(newest)]
        .filter(([, total]) => total > 0)
        .map(([name, total]) => {
          const perSecond = rateOf(total - (of(oldest).get(name) ?? 0), windowSeconds)
          return { name, total, perSecond }
        })
    const durations = minus(durationsOf(newest), durationsOf(oldest))
    return {
      callsPerSecond: lastRate(({ methods }) => sumOf([...methods.values()].map(({ calls }) => calls))),
      errorsPerSecond: lastRate(({ errors }) => sumOf([...errors.values()])),
      rejectionsPerSecond: lastRate(({ rejections }) => sumOf([...rejections.values()])),
      windowSeconds,
      p50Seconds: quantile(durations, 0.5),
      p99Seconds: quantile(durations, 0.99),
      methods: [...newest.methods.values()]
        .map((counts) => ratesOf(counts, oldest.methods.get(cellName(counts)), windowSeconds))
        .filter(({ callsPerSecond }) => callsPerSecond > 0)
        .sort((a, b) => b.callsPerSecond - a.callsPerSecond),
      errors: named(({ errors }) => errors),
      rejections: named(({ rejections }) => rejections),
      edges: newest.edges.map(({ cpuSeconds, delays }, edge) => {
        const then = oldest.edges[edge]
        return {
          cpuShare: rateOf(cpuSeconds - (then?.cpuSeconds ?? 0), windowSeconds),
          delayP99Seconds: quantile(minus(delays, then?.delays), 0.99),
        }
      }),
    }
  }
}

/** Timed calls of all methods, by bucket. */
function durationsOf({ methods }: CountSample): number[] {
  return sumLists([...methods.values()].map(({ durations }) => durations))
}

function ratesOf(counts: MethodCounts, then: MethodCounts | undefined, seconds: number): MethodRates {
  const perSecond = (of: (counts: MethodCounts) => number) =>
    seconds > 0 ? (of(counts) - (then === undefined ? 0 : of(then))) / seconds : 0
  const durations = minus(counts.durations, then?.durations)
  return {
    network: counts.network,
    method: counts.method,
    callsPerSecond: perSecond(({ calls }) => calls),
    repeatedPerSecond: perSecond(({ repeated }) => repeated),
    errorsPerSecond: perSecond(({ failed }) => failed),
    p50Seconds: quantile(durations, 0.5),
    p99Seconds: quantile(durations, 0.99),
    resultBytesPerSecond: perSecond(({ answerBytes }) => answerBytes),
  }
}

/**
 * The quantile of durations counted by bucket, evenly spread within one, as in Prometheus' `histogram_quantile`;
 * undefined if there are none. The last bucket has no upper bound, so its lower bound is the result.
 */
export function quantile(buckets: readonly number[], share: number): number | undefined {
  const rank = sumOf(buckets) * share
  if (rank === 0) return undefined
  let below = 0
  for (const [bucket, count] of buckets.entries()) {
    if (below + count >= rank && count > 0) {
      const lower = bucket === 0 ? 0 : (bucketSeconds(bucket - 1) as number)
      const upper = bucketSeconds(bucket) ?? lower
      return lower + ((upper - lower) * (rank - below)) / count
    }
    below += count
  }
  return undefined
}
