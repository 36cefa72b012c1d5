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
