import type { IngestFigures } from '../../sources/ingest/thread/messages.js'
import type { ClassCounts } from '../pool/poolOptions.js'
import type { EdgeCounts } from './edgeCounts.js'

interface NetworkFigures {
  readonly network: string
  /** Undefined before the first head. */
  readonly head: number | undefined
  /** Seconds since 1970. */
  readonly headTimestamp: number | undefined
  readonly isSyncing: boolean
  readonly isReadable: boolean
  readonly hasSourceFailed: boolean
}

/** A queue of submissions that several processes share, and whether this one sends them. */
export interface SharedQueueFigures {
  readonly isAnswering: boolean
  readonly epoch: number
  /** Undefined if this process has no sequencer. */
  readonly hasLease: boolean | undefined
}

interface RollupFigures {
  readonly network: string
  readonly waiting: number
  readonly waitingBytes: number
  readonly oldestWaitingMs: number
  readonly settled: number
  /** Figures of a shared queue; undefined if only this process uses the queue. */
  readonly shared: SharedQueueFigures | undefined
}

/** Figures that the source of a network sent about its thread. */
export interface SourceFigures extends IngestFigures {
  readonly network: string
}

export interface StoreFigures {
  readonly store: string
  readonly bytes: number
  /** Free bytes of its disk; undefined if unknown. */
  readonly freeBytes: number | undefined
  /** Threads that have the store open for reading. */
  readonly readers: number
}

export interface KeyFigures {
  /** Id of the key; `other` for all others together. */
  readonly key: string
  readonly name: string
  readonly calls: number
  readonly units: number
  readonly errors: number
  readonly refusals: number
}

export interface MetricSources {
  readonly version: string
  readonly transport: string
  /** Counts by number of the edge. */
  readonly edges: readonly EdgeCounts[]
  /** Updates the published figures of edge 0. */
  refresh(): void
  readonly pool: {
    readonly counts: { readonly byClass: readonly ClassCounts[]; readonly threadsLost: number }
    /** JavaScript heap of each thread, in bytes. */
    readonly heaps: readonly number[]
  }
  /** Figures of networks whose source has sent some. */
  sources(): readonly SourceFigures[]
  networks(): readonly NetworkFigures[]
  rollups(): readonly RollupFigures[]
  stores(): readonly StoreFigures[]
  /** Some keys, and the sum of all others. */
  keys(): readonly KeyFigures[]
  /** Whether the database of shared keys answers; undefined if keys are not shared. */
  sharedKeysAnswer(): boolean | undefined
  /** Commits of groups of submissions. */
  commits(): { readonly count: number; readonly seconds: number }
  /** Open WebSockets, and bytes that are counted for all edges together. */
  readonly totals: Readonly<
    Record<'sockets' | 'bodyBytes' | 'socketBytes' | 'subscriptionBytes', { readonly value: number }>
  >
}
