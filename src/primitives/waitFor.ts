import { setTimeout as sleep } from 'node:timers/promises'

/** Resolves once `event` does, or after `ms`. */
export async function waitFor(event: Promise<unknown> | undefined, ms: number): Promise<void> {
  const done = new AbortController()
  await Promise.race([event, sleep(ms, undefined, { signal: done.signal }).catch(() => undefined)])
  done.abort()
}
