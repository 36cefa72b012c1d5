/** Pseudo-random choices that are the same in every run. */

/** Maps consecutive numbers to distinct 32-bit numbers (the finalizer of MurmurHash3). */
export function scatter(index: number): number {
  let mixed = (index + 1) | 0
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b)
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35)
  return (mixed ^ (mixed >>> 16)) >>> 0
}

/**
 * A walk through 0 to `count - 1`: returns the n-th stop, for n from 0 on. It visits every number before it repeats
 * one. Strides are of the golden ratio, so that a cache of some thousand entries never contains the next stop.
 */
export function walk(count: number): (n: number) => number {
  let stride = Math.max(1, Math.round(count * (Math.sqrt(5) - 1) * 0.5))
  while (commonDivisor(stride, count) !== 1) stride++
  return (n) => (n * stride) % count
}

function commonDivisor(a: number, b: number): number {
  return b === 0 ? a : commonDivisor(b, a % b)
}
