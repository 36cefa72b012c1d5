import type { OpenRows } from '../src/data/state/provedRows.js'
import type { JobSettings } from '../src/serving/pool/jobPool.js'
import type { JobContext } from './jobThread.js'

/** A thread's cache between jobs, one value per store: made by the first job that needs it. */
export function perStore<T>(
  make: (store: OpenRows, settings: JobSettings) => T,
): (context: Pick<JobContext, 'store' | 'settings'>) => T {
  const made = new WeakMap<OpenRows, T>()
  return ({ store, settings }) => {
    let found = made.get(store)
    if (found === undefined) {
      found = make(store, settings as JobSettings)
      made.set(store, found)
    }
    return found
  }
}
