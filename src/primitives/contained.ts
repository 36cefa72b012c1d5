/**
 * Wraps `work` as a callback of timers, ports and events: exceptions are reported instead of ending the thread. The
 * same exception in a row is reported once.
 */
export function contained<A extends readonly unknown[]>(
  report: (error: unknown) => void,
  work: (...args: A) => void,
): (...args: A) => void {
  let last: string | undefined
  return (...args) => {
    try {
      work(...args)
      last = undefined
    } catch (error) {
      const text = String(error)
      if (text !== last) report(error)
      last = text
    }
  }
}
