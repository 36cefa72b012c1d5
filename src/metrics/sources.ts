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

export interface RollupFigures {
  readonly network: string
  readonly waiting: number
  readonly waitingBytes: number
  readonly oldestWaitingMs: number
  readonly settled: number
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
  networks(): readonly NetworkFigures[]
  rollups(): readonly RollupFigures[]
  stores(): readonly StoreFigures[]
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
