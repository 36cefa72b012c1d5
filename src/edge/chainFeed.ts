/** How far a source has come that is behind the chain it takes in. */
export interface SourceProgress {
  /** Where it stood when it was first behind. */
  readonly startingBlock: number
  /** The block that it took in last. */
  readonly number: number
}

/** What is to be known of a source. */
export interface SourceState {
  /** Undefined where the source is up to date; of one that failed, where it stood then. */
  readonly syncing: SourceProgress | undefined
  /** It ended with an error, and brings no further blocks: the chain may have gone on without them. */
  readonly hasFailed: boolean
}

/** Of a source that delivers in time, or has delivered all it has. */
export const upToDate: SourceState = { syncing: undefined, hasFailed: false }

export type FeedListener = (state: SourceState) => void

/** What a network learns of its source, on whatever thread that is. */
export interface ChainFeed {
  /**
   * Calls `listener` each time the store may have a new head, with the state of the source; at once, if that is not
   * up to date. Returns a function that ends it.
   */
  listen(listener: FeedListener): () => void
}

/** A feed of what is published to it. */
export class RelayedFeed implements ChainFeed {
  readonly #listeners = new Set<FeedListener>()
  #state = upToDate

  listen(listener: FeedListener): () => void {
    this.#listeners.add(listener)
    const { syncing, hasFailed } = this.#state
    if (hasFailed || syncing !== undefined) listener(this.#state)
    return () => this.#listeners.delete(listener)
  }

  publish(state: SourceState): void {
    this.#state = state
    for (const listener of this.#listeners) listener(state)
  }
}
