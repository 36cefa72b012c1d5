/** What passes between the thread that ingests and the one that started it. */

/** The store that an ingest thread writes. */
export interface IngestStore {
  readonly storePath: string
  /** Bytes of address space of the store. */
  readonly mapBytes: number
  /** geth-format genesis as JSON text, and the file it came from; undefined where the store has its genesis. */
  readonly genesis: { readonly text: string; readonly path: string } | undefined
}

/** A thread's work as its `workerData`: to take in chain files, in order. */
export interface IngestTask extends IngestStore {
  readonly files: readonly string[]
}

/** A thread's work as its `workerData`: to play a chain file at a given pace. */
export interface ReplayTask extends IngestStore {
  readonly replay: ReplayPlan
}

export interface ReplayPlan {
  /** Chain file. */
  readonly file: string
  /** Number of the last block that is taken in at full speed; at each start the blocks above it are played again. */
  readonly from: number
  /** Time between two blocks. */
  readonly intervalMs: number
  /** Reorganisations, by ascending `after`. */
  readonly script: readonly ReplayStep[]
}

/**
 * One reorganisation of a replay: once block `after` of the file is the head, the blocks of another file are played,
 * which begin in place of the last `back` ones. Then the file goes on.
 */
export interface ReplayStep {
  readonly after: number
  readonly back: number
  /** Chain file. */
  readonly file: string
}

export interface IngestProgress {
  /** Number of the last block taken in. */
  readonly number: number
  /** Blocks executed, already known, and kept aside since the start. */
  readonly executed: number
  readonly known: number
  readonly side: number
  /** Gas of the blocks executed. */
  readonly gas: number
  /** Bytes of the files taken so far, and in all. */
  readonly bytesRead: number
  readonly bytesTotal: number
  readonly elapsedMs: number
}

/** From the ingest thread. */
export type IngestMessage =
  /** A store that an earlier version made is brought up to date before it is opened: `done` of `what`, 0 to 1. */
  | { readonly type: 'upgrading'; readonly what: string; readonly done: number }
  /** The store is open and holds the genesis. */
  | { readonly type: 'opened' }
  | { readonly type: 'progress'; readonly progress: IngestProgress }
  /**
   * The store has a new head at which the network is up to date: sent when a replay begins to keep its pace, and at
   * once with every head after that.
   */
  | { readonly type: 'head' }
  /** All is taken in, or `stop` was obeyed. */
  | { readonly type: 'finished'; readonly progress: IngestProgress; readonly stopped: boolean }
  /** Nothing more will come. */
  | {
      readonly type: 'failed'
      /** A fault of the program, one that the operator can mend, or a store that is broken for this process. */
      readonly fault: 'defect' | 'operator' | 'store'
      readonly message: string
      readonly stack?: string
    }

/** To the ingest thread: stop after the block in hand. */
export type IngestCommand = { readonly type: 'stop' }
