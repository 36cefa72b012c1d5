import type { Page } from './httpRoutes.js'

/** Times a second that a page may be made, and times at once where it was not made for a second. */
const timesPerSecond = 10

/**
 * A page that is made anew at most {@link timesPerSecond} times a second, however often it is asked for: of a server with
 * many networks it takes as long as dozens of reads. Between two times, the last one is answered, which is then a tenth of
 * a second old at most.
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
