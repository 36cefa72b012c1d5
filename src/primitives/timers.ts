/**
 * The timers of the process, with the names and parameters of Node.js. Exceptions of a callback, and rejections of its
 * promise, are reported and end nothing: a failing timer must not break the work of clients. All of `src` uses these,
 * except pages, which run in browsers.
 */

/**
 * Wraps `work` as a callback of timers, ports and events. Exceptions, and rejections of the returned promise, are
 * reported instead of ending the thread. A repeated error is reported once.
 */
export function reportingErrors<A extends readonly unknown[]>(
  report: (error: unknown) => void,
  work: (...args: A) => unknown,
): (...args: A) => void {
  let last: string | undefined
  const succeed = () => {
    last = undefined
  }
  const fail = (error: unknown) => {
    const text = String(error)
    if (text !== last) report(error)
    last = text
  }
  return (...args) => {
    try {
      const done = work(...args)
      if (done instanceof Promise) done.then(succeed, fail)
      else succeed()
    } catch (error) {
      fail(error)
    }
  }
}

/** Longest time of a timer of Node.js, 24 days; a longer one would fire at once. */
export const timerMsMax = 2 ** 31 - 1

let report = (error: unknown): void => {
  process.emitWarning(`a timer failed: ${error instanceof Error ? error.stack : String(error)}`)
}

/** Reports failures of this thread's timers to `to`; without it Node.js prints them as warnings. */
export function reportTimersTo(to: (error: unknown) => void): void {
  report = to
}

const reportError = (error: unknown): void => report(error)

/** A longer time than {@link timerMsMax} is reduced to it. */
export function setTimeout<A extends readonly unknown[]>(
  work: (...args: A) => unknown,
  ms: number,
  ...args: A
): NodeJS.Timeout {
  return globalThis.setTimeout(run, Math.min(ms, timerMsMax), work, args)
}

/** A repeated failure is reported once. */
export function setInterval(work: () => unknown, ms: number): NodeJS.Timeout {
  return globalThis.setInterval(reportingErrors(reportError, work), Math.min(ms, timerMsMax))
}

// Not `reportingErrors`, which would make a closure for each timer: each request has one.
function run<A extends readonly unknown[]>(work: (...args: A) => unknown, args: A): void {
  try {
    const done = work(...args)
    if (done instanceof Promise) done.catch(reportError)
  } catch (error) {
    reportError(error)
  }
}
