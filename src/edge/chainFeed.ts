/** How far a source has come that is behind the chain it takes in. */
export interface Behind {
  /** Where it stood when it was first behind. */
  readonly startingBlock: number
  /** The block that it took in last. */
  readonly number: number
}

export type FeedListener = (behind: Behind | undefined) => void

/** What a network hears of its source, on whatever thread that is. */
export interface ChainFeed {
  /**
   * Calls `listener` each time the store may have a new head, with where the source stands or undefined where it is
   * not behind; at once, if it is. Returns a function that ends it.
   */
  listen(listener: FeedListener): () => void
}

/** A feed that is told what to pass on. */
export class RelayedFeed implements ChainFeed {
  readonly #listeners = new Set<FeedListener>()
  #behind: Behind | undefined

  listen(listener: FeedListener): () => void {
    this.#listeners.add(listener)
    if (this.#behind !== undefined) listener(this.#behind)
    return () => this.#listeners.delete(listener)
  }

  tell(behind: Behind | undefined): void {
    this.#behind = behind
    for (const listener of this.#listeners) listener(behind)
  }
}
