/** The live state: what the listener sends each second, and what of it charts show of the last minutes. */
import type { LiveState } from '../shapes.js'
import { follow } from './api.js'

/** States kept: five minutes. */
const historyMax = 300

/** One moment of what charts show. */
export interface Moment {
  /** Seconds since 1970. */
  readonly at: number
  readonly calls: number
  readonly errors: number
  readonly rejections: number
  /** Milliseconds; null where no call was timed. */
  readonly p50: number | null
  readonly p99: number | null
}

export interface Live {
  /** The newest state; undefined before the first has come. */
  readonly state: LiveState | undefined
  readonly moments: readonly Moment[]
  readonly isOpen: boolean
}

/** Follows the live state, and tells its listeners of each, and of the connection. */
export class LiveSource {
  #live: Live = { state: undefined, moments: [], isOpen: false }
  readonly #listeners = new Set<(live: Live) => void>()
  readonly #end = new AbortController()

  /** `refused` is called where the token is no longer accepted. */
  constructor(refused: (why: Error) => void) {
    const take = (data: string) => this.#take(JSON.parse(data) as LiveState)
    const setOpen = (isOpen: boolean) => this.#tell({ ...this.#live, isOpen })
    void follow('api/live', take, setOpen, this.#end.signal).catch(refused)
  }

  /** Calls `listener` at once and with each change, until the function that is returned is called. */
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
    this.#tell({ ...this.#live, state, moments: [...this.#live.moments, momentOf(state)].slice(-historyMax) })
  }

  #tell(live: Live): void {
    this.#live = live
    for (const listener of this.#listeners) listener(live)
  }
}

function momentOf(state: LiveState): Moment {
  const ms = (seconds: number | null) => (seconds === null ? null : seconds * 1_000)
  return {
    at: Date.parse(state.at) / 1_000,
    calls: state.callsPerSecond,
    errors: state.errorsPerSecond,
    rejections: state.rejectionsPerSecond,
    p50: ms(state.p50Seconds),
    p99: ms(state.p99Seconds),
  }
}
