/** Promises, and waiting for them: settled by hand, after a time, or known at once. */
import { setTimeout as sleep } from 'node:timers/promises'

/** A promise with its resolve and reject functions (`Promise.withResolvers` of newer Node versions). */
export interface Deferred<T> {
  readonly promise: Promise<T>
  resolve(value: T): void
  reject(error: Error): void
}

export function defer<T>(): Deferred<T> {
  let resolve: (value: T) => void = () => undefined
  let reject: (error: Error) => void = () => undefined
  const promise = new Promise<T>((onResolve, onReject) => {
    resolve = onResolve
    reject = onReject
  })
  return { promise, resolve, reject }
}

/**
 * Marks a promise that may be awaited later, or never. Node.js ends a thread if a promise rejects before it is awaited.
 */
export function waitedForLater<P extends Promise<unknown>>(promise: P): P {
  promise.catch(() => undefined)
  return promise
}

/** Waits `ms` milliseconds, or until `signal` is aborted. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => undefined)
}

/** Resolves once `event` does, or after `ms`. */
export async function waitFor(event: Promise<unknown> | undefined, ms: number): Promise<void> {
  const done = new AbortController()
  await Promise.race([event, sleep(ms, undefined, { signal: done.signal }).catch(() => undefined)])
  done.abort()
}

/** A value that may be known at once; then no caller waits. */
export type Awaitable<T> = T | Promise<T>

/** The result of `use` for a value; computed at once if the value is known. */
export function whenKnown<T, U>(value: Awaitable<T>, use: (value: T) => Awaitable<U>): Awaitable<U> {
  return value instanceof Promise ? value.then(use) : use(value)
}

/** A client that waits for a result, and may leave before it. */
export interface Waiter {
  /** Calls `listener` once, when the waiter leaves. */
  onFinished(listener: () => void): void
  forget(listener: () => void): void
}
