/**
 * Buckets of durations for histograms. Upper bounds are powers of two of a microsecond: from 1 µs, since stored answers
 * take a few, to 2^25 (34 s). One further bucket has the longer ones.
 */
const firstPower = 0
const lastPower = 25
export const durationBuckets = lastPower - firstPower + 2

/** Upper bound of a bucket of durations, in seconds; undefined for the last one, which has none. */
export function bucketSeconds(bucket: number): number | undefined {
  return bucket === durationBuckets - 1 ? undefined : 2 ** (firstPower + bucket) / 1e6
}

/** The smallest bucket whose bound is not below `us`. */
export function bucketOf(us: number): number {
  const power = us <= 1 ? 0 : 32 - Math.clz32(Math.min(Math.ceil(us), 2 ** 31) - 1)
  return Math.min(Math.max(power - firstPower, 0), durationBuckets - 1)
}
