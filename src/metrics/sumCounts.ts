import type { MethodCounts } from './edgeCounts.js'

/** One entry a method, of the counts of several edges. */
export function sumMethods(counts: readonly MethodCounts[]): MethodCounts[] {
  const sums = new Map<string, MethodCounts>()
  const add = (a: readonly number[], b: readonly number[]) => a.map((value, at) => value + (b[at] ?? 0))
  for (const found of counts) {
    const sum = sums.get(found.method)
    sums.set(
      found.method,
      sum === undefined
        ? found
        : {
            method: found.method,
            calls: sum.calls + found.calls,
            repeated: sum.repeated + found.repeated,
            failed: sum.failed + found.failed,
            durationSeconds: sum.durationSeconds + found.durationSeconds,
            durations: add(sum.durations, found.durations),
            answerBytes: sum.answerBytes + found.answerBytes,
            sizes: add(sum.sizes, found.sizes),
          },
    )
  }
  return [...sums.values()]
}

export function sumMaps(maps: readonly ReadonlyMap<string, number>[]): Map<string, number> {
  const sums = new Map<string, number>()
  for (const map of maps) for (const [name, value] of map) sums.set(name, (sums.get(name) ?? 0) + value)
  return sums
}
