/** A client that waits for a result, and may leave before it. */
export interface Waiter {
  /** Calls `listener` once, when the waiter leaves. */
  onFinished(listener: () => void): void
  forget(listener: () => void): void
}
