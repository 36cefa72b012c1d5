/**
 * Spreads consecutive numbers over 32 bits, each to a number of its own (the finalizer of MurmurHash3): choices that
 * look random and are the same in every run.
 */
export function scatter(index: number): number {
  let mixed = (index + 1) | 0
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b)
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35)
  return (mixed ^ (mixed >>> 16)) >>> 0
}
