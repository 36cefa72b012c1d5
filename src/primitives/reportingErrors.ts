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
