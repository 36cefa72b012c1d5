import type { UpstreamsState } from '../ingest/messages.js'

/** Progress of a source that has not yet delivered all blocks it knows of. */
export interface SourceProgress {
  /** Number of its block when it fell behind; undefined before it delivered one. */
  readonly startingBlock: number | undefined
  readonly number: number
}

export interface SourceState {
  /** Undefined where the source is up to date. Of a source that failed: its progress at that moment. */
  readonly syncing: SourceProgress | undefined
  /** Whether the source ended with an error. It delivers no further blocks, though the chain may have some. */
  readonly hasFailed: boolean
  /** Undefined for a source that follows no nodes. */
  readonly upstreams?: UpstreamsState | undefined
}

/** State of a source that delivers in time, or has delivered everything. */
export const upToDate: SourceState = { syncing: undefined, hasFailed: false }

type FeedListener = (state: SourceState) => void

/** News of a network's source, for networks on any thread. */
export interface ChainFeed {
  /**
   * Calls `listener` with the state of the source each time the store may have a new head, and at once if the source
   * is not up to date. Returns a function that stops this.
   */
  listen(listener: FeedListener): () => void
}

/** A feed that passes on what is published to it. */
export class RelayedFeed implements ChainFeed {
  readonly #listeners = new Set<FeedListener>()
  #state = upToDate

  listen(listener: FeedListener): () => void {
    this.#listeners.add(listener)
    if (this.#state !== upToDate) listener(this.#state)
    return () => this.#listeners.delete(listener)
  }

  publish(state: SourceState): void {
    this.#state = state
    for (const listener of this.#listeners) listener(state)
  }
}
