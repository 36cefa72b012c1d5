/**
 * Loaded into a program before it starts (`NODE_OPTIONS=--import=…`): notes the turns of the event loop of its main
 * thread that take long, by the CPU time of that thread, in the file `LOOP_WATCH`; a line each, with the time of day and
 * milliseconds. A timer goes off once in each turn that takes a while, so what lies between two times is one turn and at
 * most a millisecond more.
 */
import { appendFileSync, readFileSync } from 'node:fs'
import { isMainThread } from 'node:worker_threads'
import { readThreadCpuMs } from '../../src/serving/pool/threadCpu.js'

/** CPU time of this thread, however busy the machine is; the kernel counts one that runs on at its ticks of 4 ms. */
export const threadCpuMs = () => readThreadCpuMs() ?? process.cpuUsage().user / 1_000

/** Shorter turns are not noted. */
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

/** The turns that were noted since a time of day, ms each. */
export function notedTurns(path: string, sinceMs: number): number[] {
  const lines = readFileSync(path, 'latin1').split('\n').filter(Boolean)
  return lines
    .map((line) => line.split(' ').map(Number))
    .flatMap(([at = 0, ms = 0]) => (at >= sinceMs ? [ms] : []))
}
