import { openSync, readSync } from 'node:fs'

const text = Buffer.alloc(64)
const file = process.platform === 'linux' ? open() : undefined

/** The statistics file of the calling thread; absent in kernels without scheduler statistics. */
function open(): number | undefined {
  try {
    return openSync('/proc/thread-self/schedstat', 'r')
  } catch {
    return undefined
  }
}

/**
 * CPU time of this thread so far, in milliseconds: the first number, in nanoseconds, of
 * `/proc/thread-self/schedstat`. Undefined where the system has no such file.
 */
export function readThreadCpuMs(): number | undefined {
  if (file === undefined) return undefined
  const length = readSync(file, text, 0, text.length, 0)
  return Number.parseInt(text.toString('latin1', 0, length), 10) / 1e6
}
