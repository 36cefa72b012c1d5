/** Waits of tests. Each fails with a message if the awaited event does not come. */
import type { ChildProcess } from 'node:child_process'
import { type EventEmitter, once as onceEver } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import type { MessagePort } from 'node:worker_threads'

/** Much longer than any wait takes on a slow and busy machine; a test file may take even longer. */
const waitSecondsMax = Number(process.env.WAIT_SECONDS ?? 300)

/** The result of `promise`. Rejects, with the caller's stack, if it takes too long. */
export async function inTime<T>(what: string, promise: Promise<T>): Promise<T> {
  const tooLong = new Error(`waited ${waitSecondsMax} s in vain for ${what}`)
  let timer: NodeJS.Timeout | undefined
  const limit = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(tooLong), waitSecondsMax * 1000).unref()
  })
  try {
    return await Promise.race([promise, limit])
  } finally {
    clearTimeout(timer)
  }
}

/** The arguments of an event's next occurrence, like `once` of Node.js, but within the limit. */
export function once(emitter: EventEmitter | MessagePort, event: string): ReturnType<typeof onceEver> {
  const name =
    'spawnargs' in emitter ? (emitter as ChildProcess).spawnargs.join(' ') : emitter.constructor.name
  return inTime(`the event '${event}' of ${name}`, onceEver(emitter as EventEmitter, event))
}

/** Share of a wait that one pause may take: long waits check less often, because each check needs CPU time. */
const pauseShare = 1 / 20
const longestPauseMs = 100

/**
 * Calls `look` until it returns anything except undefined and false, and returns that. The pause between two calls is
 * `pauseMs` at first.
 */
export async function waitFor<T>(
  what: string,
  look: () => Promise<T | undefined | false> | T | undefined | false,
  pauseMs = 10,
): Promise<T> {
  const beganMs = performance.now()
  const deadlineMs = beganMs + waitSecondsMax * 1000
  for (;;) {
    const looked = look()
    const found = looked instanceof Promise ? await inTime(what, looked) : looked
    if (found !== undefined && found !== false) return found
    if (performance.now() > deadlineMs) throw new Error(`waited ${waitSecondsMax} s in vain for ${what}`)
    const longerMs = Math.min((performance.now() - beganMs) * pauseShare, longestPauseMs)
    await pause(Math.max(pauseMs, longerMs))
  }
}

/** Resolves once `holds` returns true, checked each millisecond at first: other threads need the cores to get there. */
export async function until(holds: () => boolean): Promise<void> {
  await waitFor(String(holds), holds, 1)
}
