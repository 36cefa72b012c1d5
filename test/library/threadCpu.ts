/** CPU time of this thread alone: what a turn of the event loop takes, however busy the machine is. */
import { openSync, readSync } from 'node:fs'

const isLinux = process.platform === 'linux'
/** Nanoseconds on a CPU, nanoseconds of waiting for one, slices. */
const schedstat = isLinux ? openSync('/proc/thread-self/schedstat', 'r') : undefined
const text = Buffer.alloc(128)

/**
 * Milliseconds; of the whole process where the system does not tell those of a thread. The kernel counts a thread that
 * runs on at its ticks, so that two readings may be wrong by 4 ms.
 */
export function threadCpuMs(): number {
  if (schedstat === undefined) return process.cpuUsage().user / 1_000
  return Number.parseInt(text.toString('latin1', 0, readSync(schedstat, text, 0, text.length, 0)), 10) / 1e6
}
