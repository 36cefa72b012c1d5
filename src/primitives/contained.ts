/**
 * Makes a callback of timers, ports and events out of `work`: what it throws is reported, because nobody waits for it
 * and it would end the thread. As long as it throws the same again, that is reported once.
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
