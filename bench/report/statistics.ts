/** Percentiles of one run, and medians and spreads of several runs. */

/** Latencies of one run, in milliseconds; undefined if the run was too short. */
export interface Latencies {
  readonly p50: number | undefined
  readonly p975: number | undefined
  readonly p99: number | undefined
  readonly p999: number | undefined
}

export const percentiles = { p50: 0.5, p975: 0.975, p99: 0.99, p999: 0.999 } as const
export type Percentile = keyof typeof percentiles

/** A percentile is only given if at least this many values are above it; with fewer, it depends on single values. */
const valuesAboveMin = 5

/**
 * The value below which `share` of the sorted values lie (nearest rank); undefined if fewer than {@link valuesAboveMin}
 * lie above.
 */
export function percentile(sorted: ArrayLike<number>, share: number): number | undefined {
  const rank = Math.ceil(sorted.length * share)
  if (sorted.length - rank < valuesAboveMin) return undefined
  return sorted[Math.max(rank, 1) - 1]
}

/** Percentiles of latencies in any order, ms. */
export function latenciesOf(values: readonly number[]): Latencies {
  const sorted = Float64Array.from(values).sort()
  return eachPercentile((name) => percentile(sorted, percentiles[name]))
}

/** Medians over some rounds; if a round has too few answers for a rare percentile, the percentile of all answers. */
export function latenciesOfRounds(rounds: readonly (readonly number[])[]): Latencies {
  const each = rounds.map(latenciesOf)
  const all = latenciesOf(rounds.flat())
  return eachPercentile((name) => median(each.map((round) => round[name])) ?? all[name])
}

function eachPercentile(of: (name: Percentile) => number | undefined): Latencies {
  const names = Object.keys(percentiles) as Percentile[]
  return Object.fromEntries(names.map((name) => [name, of(name)])) as unknown as Latencies
}

/** Middle value, the lower of two; undefined for none. */
export function median(values: readonly (number | undefined)[]): number | undefined {
  const known = values.filter((value) => value !== undefined).sort((a, b) => a - b)
  return known[(known.length - 1) >> 1]
}

/** Distance between the extremes of some runs as a share of their median; 0 for one run. */
export function spread(values: readonly number[]): number {
  const middle = median(values)
  if (middle === undefined || middle === 0) return 0
  return (Math.max(...values) - Math.min(...values)) / middle
}

/**
 * Lines of a table: columns are as wide as their longest cell; the first `left` are left-aligned, numbers
 * right-aligned.
 */
export function inColumns(rows: readonly (readonly string[])[], left = 1): string[] {
  const widths = (rows[0] ?? []).map((_, at) => Math.max(...rows.map((row) => row[at]?.length ?? 0)))
  const placed = (cell: string, at: number) =>
    at < left ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0)
  return rows.map((row) => row.map(placed).join('  ').trimEnd())
}
