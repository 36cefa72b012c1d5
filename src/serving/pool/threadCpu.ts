import { openSync, readFileSync, readlinkSync, readSync } from 'node:fs'

const text = Buffer.alloc(64)

/**
 * File with statistics of the calling thread, which every thread of the process may read. Undefined if the system has
 * no such file: only Linux kernels with scheduler statistics have it.
 */
export const ownSchedstat = tried(() => `/proc/${readlinkSync('/proc/thread-self')}/schedstat`)
const opened = tried(() => (ownSchedstat === undefined ? undefined : openSync(ownSchedstat, 'r')))

/** CPU time of ended threads that this one ran. */
let ranMs = 0

/** Counts the CPU time of a thread that this one ran as its own. */
export function countCpuMs(cpuMs: number): void {
  ranMs += cpuMs
}

/** CPU time of this thread so far, in milliseconds; undefined if the system does not report it. */
export function readThreadCpuMs(): number | undefined {
  if (opened === undefined) return undefined
  return ranMs + cpuMsIn(text.toString('latin1', 0, readSync(opened, text, 0, text.length, 0)))
}

/** Like {@link readThreadCpuMs}, of the thread with this {@link ownSchedstat}; undefined also once it has ended. */
export function readCpuMsOf(schedstat: string | undefined): number | undefined {
  return schedstat === undefined ? undefined : tried(() => cpuMsIn(readFileSync(schedstat, 'latin1')))
}

/** The first number of the file, in nanoseconds, as milliseconds. */
function cpuMsIn(schedstat: string): number {
  return Number.parseInt(schedstat, 10) / 1e6
}

function tried<R>(read: () => R): R | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}
