/**
 * The timers of the process, with the names and parameters that they have in Node.js. What a callback throws, and what
 * the promise that it returns is rejected with, is reported and ends nothing: a timer that fails must not take along
 * what clients wait for. All of `src` uses these, except pages, which run in browsers.
 */
import { reportingErrors } from './reportingErrors.js'

/** Longest time of a timer of Node.js, 24 days; a longer one would be over at once. */
export const timerMsMax = 2 ** 31 - 1

let report = (error: unknown): void => {
  process.emitWarning(`a timer failed: ${error instanceof Error ? error.stack : String(error)}`)
}

/** Has failures of this thread's timers reported to `to`; without it Node.js prints them as warnings. */
export function reportTimersTo(to: (error: unknown) => void): void {
  report = to
}

const tell = (error: unknown): void => report(error)

/** What takes longer than {@link timerMsMax} is due after that. */
export function setTimeout<A extends readonly unknown[]>(
  work: (...args: A) => unknown,
  ms: number,
  ...args: A
): NodeJS.Timeout {
  return globalThis.setTimeout(run, Math.min(ms, timerMsMax), work, args)
}

/** The same failure in a row is reported once. */
export function setInterval(work: () => unknown, ms: number): NodeJS.Timeout {
  return globalThis.setInterval(reportingErrors(tell, work), Math.min(ms, timerMsMax))
}

// Not `contained`, which would make a closure for each timer: requests have one.
function run<A extends readonly unknown[]>(work: (...args: A) => unknown, args: A): void {
  try {
    const done = work(...args)
    if (done instanceof Promise) done.catch(tell)
  } catch (error) {
    tell(error)
  }
}
