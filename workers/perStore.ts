import type { ChainReader } from '../src/data/store/chainReader.js'
import type { JobSettings } from '../src/serving/pool/jobPool.js'
import type { JobContext } from './jobThread.js'

/** What a thread keeps between the jobs of one store: made by the first job that needs it. */
export function perStore<T>(
  make: (store: ChainReader, settings: JobSettings) => T,
): (context: Pick<JobContext, 'store' | 'settings'>) => T {
  const made = new WeakMap<ChainReader, T>()
  return ({ store, settings }) => {
    let found = made.get(store)
    if (found === undefined) {
      found = make(store, settings as JobSettings)
      made.set(store, found)
    }
    return found
  }
}
