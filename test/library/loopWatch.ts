/**
 * Loaded into a program before it starts (`NODE_OPTIONS=--import=…`). Records long turns of the main thread's event
 * loop, by CPU time, in the file `LOOP_WATCH`. A line has the time of day and milliseconds. A timer fires once in each
 * longer turn. So the interval between two times is one turn and at most a millisecond more.
 */
import { appendFileSync, readFileSync } from 'node:fs'
import { isMainThread } from 'node:worker_threads'
import { readThreadCpuMs } from '../../src/serving/pool/threadCpu.js'

/** CPU time of this thread, however busy the machine is; the kernel updates that of a running thread every 4 ms. */
export const threadCpuMs = () => readThreadCpuMs() ?? process.cpuUsage().user / 1_000

/** Shorter turns are not recorded. */
const notedMs = 20

const path = process.env.LOOP_WATCH
if (isMainThread && path !== undefined) {
  let since = threadCpuMs()
  setInterval(() => {
    const now = threadCpuMs()
    if (now - since > notedMs) appendFileSync(path, `${Date.now()} ${now - since}\n`)
    since = now
  }, 1).unref()
}

/** The turns recorded since a time of day, ms each. */
export function notedTurns(path: string, sinceMs: number): number[] {
  const lines = readFileSync(path, 'latin1').split('\n').filter(Boolean)
  return lines
    .map((line) => line.split(' ').map(Number))
    .flatMap(([at = 0, ms = 0]) => (at >= sinceMs ? [ms] : []))
}
