import type { JobCell } from '../src/pool/jobCells.js'
import { ChainReader } from '../src/store/chainReader.js'

type Method = (this: ChainReader, ...args: unknown[]) => unknown

/**
 * A reader that holds the lock of the running job's cell in each of its calls, and in each step of a walk, so that
 * its thread is never ended inside lmdb. Costs 50 ns a call, beside some 2 µs of the call itself.
 */
export function lockStore(store: ChainReader, cell: JobCell): ChainReader {
  const lockedMethods: Record<string, PropertyDescriptor> = {}
  for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(ChainReader.prototype))) {
    if (name === 'constructor' || typeof value !== 'function') continue
    const method = value as Method
    lockedMethods[name] = {
      value: (...args: unknown[]) => {
        const result = cell.locked(() => method.apply(store, args))
        return isIterator(result) ? lockIterator(result, cell) : result
      },
    }
  }
  return Object.create(store, lockedMethods) as ChainReader
}

function isIterator(value: unknown): value is Generator {
  return typeof value === 'object' && value !== null && Symbol.iterator in value && 'next' in value
}

/** A walk whose steps and whose end hold the lock. */
function lockIterator(inner: Generator, cell: JobCell): IterableIterator<unknown> {
  return {
    next: () => cell.locked(() => inner.next()),
    return: (value) => cell.locked(() => inner.return(value)),
    [Symbol.iterator]() {
      return this
    },
  }
}
