/**
 * The most likely candidate for a mistyped word: the one with the fewest edits (insertion, deletion, substitution, swap
 * of neighbours). At most `editsMax` edits are allowed (default: a third of the word's length). Undefined if none is
 * near. Its time is proportional to the word's length times `editsMax` for each candidate of similar length.
 */
export function nearest(
  word: string,
  candidates: Iterable<string>,
  editsMax = Math.floor(word.length / 3),
): string | undefined {
  const lower = word.toLowerCase()
  let best: string | undefined
  let bestEdits = editsMax + 1
  for (const candidate of candidates) {
    // Words whose lengths differ by the limit cannot be nearer; skipping them bounds the work.
    if (Math.abs(candidate.length - word.length) >= bestEdits) continue
    const edits = countEdits(lower, candidate.toLowerCase(), bestEdits)
    if (edits < bestEdits) {
      best = candidate
      bestEdits = edits
    }
  }
  return best
}

/**
 * Optimal string alignment distance, or `limit` if it is not below that. Computes only the cells that matter for a
 * distance below the limit.
 */
function countEdits(a: string, b: string, limit: number): number {
  const width = b.length + 1
  let beforeLast: number[] = []
  let last = Array.from({ length: width }, (_, column) => Math.min(column, limit))
  for (let row = 1; row <= a.length; row++) {
    const current: number[] = Array(width).fill(limit)
    current[0] = Math.min(row, limit)
    let least = current[0]
    for (let column = Math.max(1, row - limit + 1); column < Math.min(width, row + limit); column++) {
      const same = a[row - 1] === b[column - 1]
      let edits = Math.min(
        at(last, column) + 1,
        at(current, column - 1) + 1,
        at(last, column - 1) + (same ? 0 : 1),
      )
      const swapped = row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1]
      if (swapped) edits = Math.min(edits, at(beforeLast, column - 2) + 1)
      current[column] = Math.min(edits, limit)
      least = Math.min(least, edits)
    }
    if (least >= limit) return limit
    beforeLast = last
    last = current
  }
  return at(last, b.length)
}

function at(row: readonly number[], column: number): number {
  return row[column] ?? 0
}
