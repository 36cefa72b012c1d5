import type { Page } from './httpRoutes.js'

/** Maximum times per second that a page is made, and maximum burst after an idle second. */
const timesPerSecond = 10

/**
 * A page that is made at most {@link timesPerSecond} times a second, however often it is requested. On a server with
 * many networks it takes as long as dozens of reads. Other requests get the last page, which is at most a tenth of a
 * second old.
 */
export function rarelyMade(
  make: () => Page | Promise<Page>,
  clockMs = () => performance.now(),
): () => Page | Promise<Page> {
  let left = timesPerSecond
  let askedMs = clockMs()
  let last: Page | Promise<Page> | undefined
  return () => {
    const nowMs = clockMs()
    left = Math.min(left + ((nowMs - askedMs) * timesPerSecond) / 1_000, timesPerSecond)
    askedMs = nowMs
    if (last !== undefined && left < 1) return last
    left--
    last = make()
    return last
  }
}
