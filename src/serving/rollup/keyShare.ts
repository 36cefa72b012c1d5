/**
 * The share of one key in a resource that all keys use. Places stay taken, so a key gets only a part of those that the
 * others leave, and the next key finds some. Records can be removed early, so the keys with the most lose theirs first.
 */
import { nobody } from '../../data/store/node/submissions.js'

/**
 * Whether a key that has `own` of `max` places may take `more`; all keys together have `total`. `share` is its part of
 * the places that the others leave, 0 to 1. Without API keys the share does not apply.
 */
export function mayTake(
  key: string,
  { own, total, more, max, share }: Readonly<Record<'own' | 'total' | 'more' | 'max' | 'share', number>>,
): boolean {
  if (total + more > max) return false
  // A single place always fits: a share of few places is less than one.
  return key === nobody || own === 0 || own + more <= share * (max - (total - own))
}

/** The number of records that each key loses, so that `max` are left. */
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
