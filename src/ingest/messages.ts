/** What passes between the thread that ingests and the one that started it. */

/** The work of one ingest thread, as its `workerData`. */
export interface IngestTask {
  readonly storePath: string
  /** Bytes of address space of the store. */
  readonly mapBytes: number
  /** geth-format genesis as JSON text, and the file it came from; undefined where the store has its genesis. */
  readonly genesis: { readonly text: string; readonly path: string } | undefined
  /** Chain files, in order. */
  readonly files: readonly string[]
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
  /** The store is open and holds the genesis. */
  | { readonly type: 'opened' }
  | { readonly type: 'progress'; readonly progress: IngestProgress }
  /** All files are taken in, or `stop` was obeyed. */
  | { readonly type: 'finished'; readonly progress: IngestProgress; readonly stopped: boolean }
  /** Nothing more will come. `isDefect` tells a fault of the program from one that the operator can mend. */
  | { readonly type: 'failed'; readonly message: string; readonly isDefect: boolean; readonly stack?: string }

/** To the ingest thread: stop after the block in hand. */
export type IngestCommand = { readonly type: 'stop' }
