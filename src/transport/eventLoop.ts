import { setImmediate } from 'node:timers/promises'
import { setTimeout } from '../primitives/timers.js'

/** Resolves once the event loop has read all connections on which something had arrived. */
export async function everythingRead(): Promise<void> {
  // The first may come before the loop reads, the second cannot.
  await setImmediate()
  await setImmediate()
}

/** Waits for `promise`, at most `ms`. */
export async function within(ms: number, promise: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms)
  })
  await Promise.race([promise, late])
  clearTimeout(timer)
}
