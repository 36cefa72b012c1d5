import type { UpstreamsState } from '../../sources/ingest/thread/messages.js'

/** Progress of a source that has not yet delivered all blocks it knows of. */
export interface SourceProgress {
  /** Number of its block when it fell behind; undefined before it delivered one. */
  readonly startingBlock: number | undefined
  readonly number: number
}

export interface SourceState {
  /** Undefined if the source is up to date. For a failed source: its progress at the failure. */
  readonly syncing: SourceProgress | undefined
  /** Why its store cannot be opened yet, as a sentence; undefined if it can. */
  readonly opening?: string | undefined
  /**
   * The source ended with an error: for good, or until its restart. It delivers no further blocks, though the chain may
   * have some.
   */
  readonly failure?: 'failed' | 'restarting' | undefined
  /** The error, for operators; undefined without a failure. */
  readonly failureWhy?: string | undefined
  /** Undefined for a source that follows no nodes. */
  readonly upstreams?: UpstreamsState | undefined
}

/** State of a source that delivers in time, or has delivered everything. */
export const upToDate: SourceState = { syncing: undefined }

type FeedListener = (state: SourceState) => void

/** The state of a network's source, for networks on any thread: passes on published states. */
export class ChainFeed {
  readonly #listeners = new Set<FeedListener>()
  #state: SourceState

  constructor(state = upToDate) {
    this.#state = state
  }

  /** The state published last. */
  get state(): SourceState {
    return this.#state
  }

  /**
   * Calls `listener` with the state of the source each time the store may have a new head. Calls it at once if the
   * source is not up to date. Returns a function that stops this.
   */
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
