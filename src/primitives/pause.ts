import { setTimeout as sleep } from 'node:timers/promises'

/** Waits `ms` milliseconds, or until `signal` is aborted. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => undefined)
}
