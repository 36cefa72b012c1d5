/**
 * What one key may have of a room that all keys share. Of places, which nobody loses again, a key gets a part of what the
 * others leave, so that something is left for the next. Of records, which have an end, those with the most lose theirs
 * first.
 */
import { nobody } from '../../data/store/submissions.js'

/**
 * Whether a key that has `own` of `max` places may take `more`, where all keys together have `total`. `share` is its part
 * of what the others leave, 0 to 1; without keys there is nobody to leave room for.
 */
export function mayTake(
  key: string,
  { own, total, more, max, share }: Readonly<Record<'own' | 'total' | 'more' | 'max' | 'share', number>>,
): boolean {
  if (total + more > max) return false
  // A single one always fits: a share of few places is less than one.
  return key === nobody || own === 0 || own + more <= share * (max - (total - own))
}

/** How many records each key loses, so that `max` are left. */
export function recordsBeyond(settled: ReadonlyMap<string, number>, max: number): Map<string, number> {
  const counts = [...settled].sort(([, a], [, b]) => a - b)
  const beyond = new Map<string, number>()
  let left = max
  for (const [index, [key, count]] of counts.entries()) {
    const kept = Math.min(count, Math.floor(left / (counts.length - index)))
    if (kept < count) beyond.set(key, count - kept)
    left -= kept
  }
  return beyond
}
