/**
 * The candidate that a mistyped word most likely means: the one with the fewest edits (insertion, deletion,
 * substitution, swap of neighbours), if at most a third of the word had to change. Undefined when none is near.
 */
export function nearest(word: string, candidates: Iterable<string>): string | undefined {
  const editsMax = Math.floor(word.length / 3)
  let best: string | undefined
  let bestEdits = editsMax + 1
  for (const candidate of candidates) {
    // Words whose lengths differ by more than the limit cannot be near; skipping them bounds the work.
    if (Math.abs(candidate.length - word.length) > editsMax) continue
    const edits = countEdits(word.toLowerCase(), candidate.toLowerCase())
    if (edits < bestEdits) {
      best = candidate
      bestEdits = edits
    }
  }
  return best
}

/** Optimal string alignment distance, in O(a.length × b.length). */
function countEdits(a: string, b: string): number {
  let beforeLast: number[] = []
  let last = Array.from({ length: b.length + 1 }, (_, column) => column)
  for (let row = 1; row <= a.length; row++) {
    const current = [row]
    for (let column = 1; column <= b.length; column++) {
      const same = a[row - 1] === b[column - 1]
      let edits = Math.min(
        at(last, column) + 1,
        at(current, column - 1) + 1,
        at(last, column - 1) + (same ? 0 : 1),
      )
      const swapped = row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1]
      if (swapped) edits = Math.min(edits, at(beforeLast, column - 2) + 1)
      current.push(edits)
    }
    beforeLast = last
    last = current
  }
  return at(last, b.length)
}

function at(row: readonly number[], column: number): number {
  return row[column] ?? 0
}
