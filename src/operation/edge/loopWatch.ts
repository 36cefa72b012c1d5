import { readFileSync } from 'node:fs'
import { setInterval } from '../../primitives/timers.js'
import type { EdgeCounts } from '../../serving/metrics/edgeCounts.js'

/** Time between two checks of the event loop: 20 timers a second, some microseconds each. */
const lookMs = 50
/** Checks between two publications of the figures. */
const looksPerPublish = 20

/**
 * Counts how late timers of this thread come, and publishes its figures each second. Returns a function that stops it.
 */
export function watchLoop(counts: EdgeCounts, publish: () => void): () => void {
  let looks = 0
  let dueMs = performance.now() + lookMs
  const timer = setInterval(() => {
    const nowMs = performance.now()
    counts.delayed(Math.max(nowMs - dueMs, 0))
    dueMs = nowMs + lookMs
    if (++looks % looksPerPublish === 0) publish()
  }, lookMs)
  timer.unref()
  publish()
  return () => clearInterval(timer)
}

/** Linux counts CPU time in hundredths of a second, on every machine (USER_HZ in proc(5)). */
const ticksPerSecond = 100
/** Fields of `/proc/thread-self/stat`, from the one after the name, which may contain spaces. */
const userField = 11
const systemField = 12

/** CPU time of this thread; 0 if the system does not report it. */
export function threadCpuSeconds(): number {
  try {
    const stat = readFileSync('/proc/thread-self/stat', 'latin1')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return (Number(fields[userField]) + Number(fields[systemField])) / ticksPerSecond
  } catch {
    return 0
  }
}
