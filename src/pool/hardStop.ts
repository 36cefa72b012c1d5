/**
 * The abort signal that ends a thread through Piscina: an event emitter with one listener, which is cheaper than an
 * AbortController (7 µs).
 */
export class HardStop {
  aborted = false
  readonly reason = 'the job did not stop'
  #listener: (() => void) | undefined

  once(_name: 'abort', listener: () => void): void {
    this.#listener = listener
  }

  off(): void {
    this.#listener = undefined
  }

  removeListener(): void {
    this.off()
  }

  /** Ends the thread, or cancels its start. */
  end(): void {
    this.aborted = true
    this.#listener?.()
  }
}
