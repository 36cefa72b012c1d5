/** Distinct random numbers below the head, in ascending order (mulberry32). */
export function chooseBlocks(
  headNumber: number,
  { blocks, seed }: { readonly blocks: number; readonly seed: number },
): number[] {
  let state = seed >>> 0
  const random = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = Math.imul(state ^ (state >>> 15), state | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
  const chosen = new Set<number>()
  const wanted = Math.min(blocks, headNumber)
  while (chosen.size < wanted) chosen.add(Math.floor(random() * headNumber))
  return [...chosen].sort((a, b) => a - b)
}
