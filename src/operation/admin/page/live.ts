/** The live state, which the listener sends each second, and the history of the last hour, which this page requests. */
import type { CallHistory, LiveState } from '../shapes.js'
import { ask, follow } from './api.js'

/** Time between two requests for the history. */
export const historyMs = 10_000

interface Live {
  /** The newest state; undefined before the first. */
  readonly state: LiveState | undefined
  /** Undefined before the first. */
  readonly history: CallHistory | undefined
  readonly isOpen: boolean
}

/** Follows the live state and the history. Reports both, and the state of the connection, to its listeners. */
export class LiveSource {
  #live: Live = { state: undefined, history: undefined, isOpen: false }
  #historyAskedMs = Number.NEGATIVE_INFINITY
  readonly #listeners = new Set<(live: Live) => void>()
  readonly #end = new AbortController()

  /** `refused` is called if the token is no longer accepted. */
  constructor(refused: (why: Error) => void) {
    const take = (data: string) => this.#take(JSON.parse(data) as LiveState)
    const setOpen = (isOpen: boolean) => this.#notify({ isOpen })
    void follow('api/live', take, setOpen, this.#end.signal).catch(refused)
  }

  /** Calls `listener` at once and with each change, until the returned function is called. */
  listen(listener: (live: Live) => void): () => void {
    this.#listeners.add(listener)
    listener(this.#live)
    return () => this.#listeners.delete(listener)
  }

  close(): void {
    this.#end.abort()
    this.#listeners.clear()
  }

  #take(state: LiveState): void {
    this.#notify({ state })
    if (performance.now() - this.#historyAskedMs < historyMs) return
    this.#historyAskedMs = performance.now()
    // If this fails, the stream reports the reason.
    void ask<CallHistory>('api/history').then(
      (history) => this.#notify({ history }),
      () => undefined,
    )
  }

  #notify(news: Partial<Live>): void {
    this.#live = { ...this.#live, ...news }
    for (const listener of this.#listeners) listener(this.#live)
  }
}
