import type { MethodCounts } from './edgeCounts.js'

const counted = ['calls', 'repeated', 'failed', 'durationSeconds', 'answerBytes'] as const

/** One entry per network and method, summed over several edges. */
export function sumCells(counts: readonly MethodCounts[]): MethodCounts[] {
  return sumBy(counts, ({ network, method }) => `${network} ${method}`)
}

/** One entry per method, summed over several edges and networks; its network is one of them. */
export function sumMethods(counts: readonly MethodCounts[]): MethodCounts[] {
  return sumBy(counts, ({ method }) => method)
}

function sumBy(counts: readonly MethodCounts[], nameOf: (counts: MethodCounts) => string): MethodCounts[] {
  const sums = new Map<string, { -readonly [N in keyof MethodCounts]: MethodCounts[N] }>()
  for (const found of counts) {
    const sum = sums.get(nameOf(found))
    if (sum === undefined) sums.set(nameOf(found), { ...found })
    else {
      for (const name of counted) sum[name] += found[name]
      sum.durations = sumLists([sum.durations, found.durations])
      sum.sizes = sumLists([sum.sizes, found.sizes])
      sum.errors = sumLists([sum.errors, found.errors])
    }
  }
  return [...sums.values()]
}

export function sumMaps(maps: readonly ReadonlyMap<string, number>[]): Map<string, number> {
  const sums = new Map<string, number>()
  for (const map of maps) for (const [name, value] of map) sums.set(name, (sums.get(name) ?? 0) + value)
  return sums
}

/** Sums the lists element by element. */
export function sumLists(lists: readonly (readonly number[])[]): number[] {
  const sums: number[] = []
  for (const list of lists) for (const [at, value] of list.entries()) sums[at] = (sums[at] ?? 0) + value
  return sums
}

/** The increase of each element. */
export function minus(counts: readonly number[], then: readonly number[] | undefined): number[] {
  return counts.map((count, at) => count - (then?.[at] ?? 0))
}

export function sumOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0)
}
