import type { EdgeCounts } from './edgeCounts.js'

/** Jobs of one class. */
export interface JobCounts {
  readonly class: string
  readonly waiting: number
  readonly running: number
  /** Jobs that ended with a result, and with an error. */
  readonly finished: number
  readonly failed: number
  readonly refused: number
  readonly cpuSeconds: number
}

/** A network with a chain, as the main thread's edge serves it. */
export interface NetworkFigures {
  readonly network: string
  readonly head: number
  /** Seconds since 1970. */
  readonly headTimestamp: number
  readonly isSyncing: boolean
  readonly isReadable: boolean
  readonly hasSourceFailed: boolean
}

/** A queue of submissions that several processes share, and whether this one sends them. */
export interface SharedQueueFigures {
  readonly isAnswering: boolean
  readonly epoch: number
  /** Undefined where this process has no sequencer to send to. */
  readonly hasLease: boolean | undefined
}

export interface RollupFigures {
  readonly network: string
  readonly waiting: number
  readonly waitingBytes: number
  readonly oldestWaitingMs: number
  readonly settled: number
  /** Undefined where the queue is that of this process alone. */
  readonly shared: SharedQueueFigures | undefined
}

/** A node that a source asks. */
export interface UpstreamCounts {
  /** Host and port as configured. */
  readonly name: string
  readonly isAnswering: boolean
  readonly isQuarantined: boolean
  /** Number of the head that it claims. */
  readonly head: number | undefined
  /** Exchanges; a batch is one. */
  readonly answered: number
  readonly seconds: number
  readonly failed: number
  readonly hedges: number
  readonly lies: number
}

/** Where a process is in the feed of a network. */
export interface FeedCounts {
  readonly isAnswering: boolean
  readonly epoch: number
  readonly hasLease: boolean
  readonly sequence: number
  readonly entriesBehind: number
  readonly blocksBehind: number
}

/** What the source of a network told of its thread. */
export interface SourceFigures {
  readonly network: string
  readonly heapBytes: number
  readonly commits: { readonly count: number; readonly seconds: number }
  /** Seconds by phase. */
  readonly phases: Readonly<Record<string, number>>
  readonly upstreams: readonly UpstreamCounts[]
  /** Of a gateway: things fetched, proved and kept, by kind. */
  readonly kept: Readonly<Record<string, number>>
  /** Undefined for a network without a feed. */
  readonly feed?: FeedCounts
}

export interface StoreFigures {
  readonly store: string
  readonly bytes: number
  /** Threads that have it open for reading. */
  readonly readers: number
}

export interface MetricSources {
  readonly version: string
  readonly transport: string
  /** By number of the edge. */
  readonly edges: readonly EdgeCounts[]
  /** Brings what edge 0 publishes up to date. */
  refresh(): void
  jobs(): readonly JobCounts[]
  threadsLost(): number
  /** JavaScript heaps of the pool's threads, in bytes. */
  heaps(): readonly number[]
  /** Of the networks whose source has told something. */
  sources(): readonly SourceFigures[]
  networks(): readonly NetworkFigures[]
  rollups(): readonly RollupFigures[]
  stores(): readonly StoreFigures[]
  /** Whether the database of shared keys answers; undefined where keys are not shared. */
  sharedKeysAnswer(): boolean | undefined
  /** Of groups of submissions. */
  commits(): { readonly count: number; readonly seconds: number }
  /** Open WebSockets, and bytes that are counted for all edges together. */
  totals(): {
    readonly sockets: number
    readonly bodyBytes: number
    readonly socketBytes: number
    readonly subscriptionBytes: number
  }
}
