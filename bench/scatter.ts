/** Choices that look random and are the same in every run. */

/**
 * Spreads consecutive numbers over 32 bits, each to a number of its own (the finalizer of MurmurHash3).
 */
export function scatter(index: number): number {
  let mixed = (index + 1) | 0
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b)
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35)
  return (mixed ^ (mixed >>> 16)) >>> 0
}

/**
 * A walk through 0 to `count - 1`: the n-th stop, for n from 0 on. It comes by every number before any a second time,
 * and as far from its last stops as may be (strides of the golden ratio), so that what remembers some thousand of them
 * remembers none that comes.
 */
export function walk(count: number): (n: number) => number {
  let stride = Math.max(1, Math.round(count * (Math.sqrt(5) - 1) * 0.5))
  while (commonDivisor(stride, count) !== 1) stride++
  return (n) => (n * stride) % count
}

function commonDivisor(a: number, b: number): number {
  return b === 0 ? a : commonDivisor(b, a % b)
}
