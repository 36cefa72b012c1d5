/** Who waits for something, and may leave before it is there. */
export interface Waiter {
  /** Calls `listener` once, when the waiter leaves. */
  onFinished(listener: () => void): void
  forget(listener: () => void): void
}
