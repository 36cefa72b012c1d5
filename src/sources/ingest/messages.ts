/** Messages between an ingest thread and the thread that started it. */

import type { ForkTimes } from '../../data/chain/forks.js'
import type { DatabaseAddress } from '../../data/postgres/connection.js'
import type { ChainIdentity } from '../../data/store/chainRows.js'
import type { HistoryLimits } from '../../data/store/keptHistory.js'
import type { Fault } from '../../primitives/faults.js'
import type { SourceCallName } from '../../primitives/upstreamCalls.js'
import type { ConsensusForkName } from '../consensus/network.js'
import type { FeedFigures } from '../feed/blockDiffLog.js'
import type { PublishPlan } from '../feed/publisher.js'
import type { BeaconNodeState } from '../upstream/beaconNodes.js'
import type { UpstreamOptions } from '../upstream/upstream.js'
import type { UpstreamFigures, UpstreamState } from '../upstream/upstreams.js'

/** The store that an ingest thread writes. */
export interface IngestStore {
  readonly storePath: string
  /** Bytes of address space of the store. */
  readonly mapBytes: number
  /** geth-format genesis as JSON text, and the file it came from; undefined where the store has its genesis. */
  readonly genesis: { readonly text: string; readonly path: string } | undefined
  /** The chain id that the genesis or the store has to have; undefined for any. */
  readonly chainId?: number | undefined
  /** Whether a store that is made is the embedded network's own; see {@link ChainIdentity}. */
  readonly isEmbedded?: boolean
  /** How much of the past is kept; absent: all. */
  readonly history?: HistoryLimits
  /** Where the blocks of a file, replay or node are published. */
  readonly publish?: PublishPlan | undefined
}

/** `workerData` of a thread that imports chain files, in order. */
export interface IngestTask extends IngestStore {
  readonly files: readonly string[]
  /** Whether the files are archives, whose blocks are executed. */
  readonly areArchives?: boolean
  /** Where the store is made from the state after a block; absent: from its genesis. */
  readonly start?: StartPlan | undefined
}

/** A block, and the whole state after it. */
export interface StartPlan {
  /** Paths of files of headers and blocks, of which the newest is the block; none: nodes tell them. */
  readonly headers: readonly string[]
  /** Path of a dump of the state (start/stateDump.ts); undefined: nodes tell it. */
  readonly state: string | undefined
  /** Whatever is in no file is asked of them, and they have to know the block. */
  readonly nodes?: StartNodesPlan | undefined
  /** Hash of the block, lower-case hex; undefined: as the headers say, or the last final one. */
  readonly hash: string | undefined
  /** Total difficulty up to and including the block; undefined where it follows from the header. */
  readonly totalDifficulty: bigint | undefined
}

/** Nodes that vouch for a block: a majority of `upstreams`, or signatures where there are beacon nodes. */
export interface StartNodesPlan {
  readonly upstreams: readonly UpstreamOptions[]
  readonly beacon?: BeaconPlan | undefined
}

/** `workerData` of a thread that plays a chain file at intervals. */
export interface ReplayTask extends IngestStore {
  readonly replay: ReplayPlan
}

/** `workerData` of a thread that follows the chain of other nodes. */
export interface FollowTask extends IngestStore {
  readonly follow: FollowPlan
}

/** `workerData` of a thread that makes the blocks of a developer chain. */
export interface DevelopTask extends IngestStore {
  readonly develop: DevelopPlan
}

interface DevelopPlan {
  /** Chain file whose blocks come first. */
  readonly recorded?: string | undefined
  /** Time between two blocks; 0: one for each transaction that can run. */
  readonly blockSeconds: number
}

/** `workerData` of a thread that takes what another process publishes. */
export interface FeedTask extends IngestStore {
  readonly feed: FeedPlan
}

export interface FeedPlan extends DatabaseAddress {
  /** Transactions of each block whose senders are recovered. */
  readonly sendersChecked: number
}

/**
 * A thread's work as its `workerData`: to take in archives of history, in order; beneath the blocks of a gateway where
 * the identity is of one.
 */
export interface ArchiveTask {
  readonly storePath: string
  readonly mapBytes: number
  readonly identity: ChainIdentity
  /** Paths of files. */
  readonly archives: readonly string[]
  /** Their bytes in all. */
  readonly bytesTotal: number
  /** Accumulators that are trusted, lower-case hex; all where undefined. A gateway's archives need none. */
  readonly accumulators: readonly string[] | undefined
}

/** A thread's work as its `workerData`: to follow the heads of upstreams, and to fetch and prove what is asked for. */
export interface GatewayTask extends IngestStore, HeadsPlan {
  /** Name of the network, which may be a public one. */
  readonly network: string
  /** Of a chain whose genesis is not named. */
  readonly forks: ForkTimes
  readonly chainId: number | undefined
  /** Blocks below the head whose numbers are proved by a chain of headers. */
  readonly historyBlocks: number
  readonly logs?: GatewayLogs | undefined
  /** Absent: 4 GiB, 4,096 proofs with a head, and nothing pinned. */
  readonly workingSet?: WorkingSetPlan | undefined
  /** Longest time for one thing that is fetched. */
  readonly fetchMsMax: number
}

/** Nodes whose head is followed, and how. */
interface HeadsPlan {
  readonly upstreams: readonly UpstreamOptions[]
  /** How many of them must have a head, and must agree on what cannot be proved; absent: a majority. */
  readonly quorum?: number | undefined
  /** Time between two polls for the head of a node without a WebSocket. */
  readonly pollMs: number
  /** Absent: the head is that of the upstreams. */
  readonly beacon?: BeaconPlan | undefined
}

/** What a gateway keeps of the state. */
export interface WorkingSetPlan {
  readonly maxMB: number
  readonly proofUnits: number
  /** Addresses of contracts that are always held, hex. */
  readonly watch: readonly string[]
}

/** How a gateway's values stay current with each head, best first. */
export type CurrentWay = 'accessList' | 'witness' | 'proofs'

/** What a gateway holds of the state. */
export interface WorkingSetState {
  /** The way of the newest head; absent before the first one since the start. */
  readonly way?: CurrentWay
  /** Block from which on all changes were taken in. */
  readonly currentFrom?: number
  /** On disk: values, trie nodes and code. */
  readonly bytes: number
  readonly bytesMax: number
  /** Pinned contracts, and how many of them are held whole. */
  readonly watched: number
  readonly whole: number
}

/** Logs that a gateway completes early. */
interface GatewayLogs {
  /** Number of the lowest block whose logs are wanted. */
  readonly from: number
  /** Whether headers alone are linked down to it; receipts are fetched for searches whose filters match their blooms. */
  readonly lazy: boolean
}

export interface ReplayPlan {
  readonly file: string
  /** Number of the last block that is imported at full speed; at each start the blocks above it are played again. */
  readonly from: number
  readonly intervalMs: number
  /** Reorganisations, by ascending `after`. */
  readonly script: readonly ReplayStep[]
}

/**
 * One reorganisation of a replay: once block `after` of the file is the head, the blocks of another file are played,
 * which replace the last `back` blocks. Then the file continues.
 */
export interface ReplayStep {
  readonly after: number
  readonly back: number
  readonly file: string
}

/** What an ingest thread executes blocks of. */
export type ChainTask = IngestTask | ReplayTask | FollowTask | DevelopTask

/** What an ingest thread does. */
export type SourceTask = ChainTask | FeedTask | ArchiveTask | GatewayTask

/** Where it is learned what the consensus layer has signed. */
export interface BeaconPlan {
  /** Nodes with the Beacon API. */
  readonly nodes: readonly UpstreamOptions[]
  /** Root of a beacon block that is final, hex; absent: the one of an earlier start. */
  readonly checkpoint?: string | undefined
  /** Time between two questions for the newest signed block. */
  readonly pollMs: number
  /** The consensus layer of a network that is not known by its chain id; absent: as a beacon node says. */
  readonly network?:
    | {
        readonly genesisTime: number
        /** Hex, as is `version`. */
        readonly genesisValidatorsRoot: string
        readonly forks: readonly {
          readonly name: ConsensusForkName
          readonly epoch: number
          readonly version: string
        }[]
      }
    | undefined
}

/** What is known of the signed head; its members are absent before there is a checkpoint. */
export interface SignedState {
  readonly slot?: number
  /** How many of 512 signed it. */
  readonly participants?: number
  readonly finalizedSlot?: number
  /** Of the slot, in seconds since 1970. */
  readonly time?: number
  readonly nodes: readonly BeaconNodeState[]
}

export interface FollowPlan extends HeadsPlan {
  /** Longest time for one block, over all attempts. */
  readonly timeoutMs: number
  /** Most canonical blocks that a reorganisation replaces. */
  readonly reorgDepthMax: number
  /** How long a node that had our head must deny it until its lower one is followed. */
  readonly revertAfterMs: number
}

/** What is known of the nodes that are followed. */
export interface UpstreamsState {
  /** Number of the followed head as its node claims it; undefined before the first answer. */
  readonly head: number | undefined
  /** Whether none answers. */
  readonly isDown: boolean
  /** Why the head does not move, though nodes answer. */
  readonly trouble?: string
  readonly nodes: readonly UpstreamState[]
  /** Of a source with beacon nodes. */
  readonly signed?: SignedState | undefined
  /** Of a gateway. */
  readonly workingSet?: WorkingSetState | undefined
}

export interface IngestProgress {
  /** Number of the last imported block; once all are, that of the head. */
  readonly number: number
  /** Blocks executed, already known, and stored without execution, since the start. */
  readonly executed: number
  readonly known: number
  readonly side: number
  readonly gas: number
  /** Bytes of the files read so far, and in all. */
  readonly bytesRead: number
  readonly bytesTotal: number
  readonly elapsedMs: number
}

/** What a source has done since its start. */
export interface IngestFigures {
  /** JavaScript heap in use of its thread. */
  readonly heapBytes: number
  /** See {@link ChainWriter.commits}. */
  readonly commits: { readonly count: number; readonly seconds: number }
  /** Seconds by phase; empty where nothing is executed. */
  readonly phases: Readonly<Record<string, number>>
  readonly upstreams: readonly UpstreamFigures[]
  /** Of a gateway: things fetched, proved and kept, by kind. */
  readonly kept: Readonly<Record<string, number>>
  /** Of a gateway: heads since the start by the way in which they were taken in. */
  readonly heads?: Readonly<Record<CurrentWay, number>> | undefined
  /** Of a gateway. */
  readonly workingSet?: WorkingSetState | undefined
  /** Of a network with a feed. */
  readonly feed?: FeedFigures
  /** Of a source with beacon nodes. */
  readonly signed?: SignedState | undefined
}

/** An epoch whose blocks are stored. */
export interface ImportedEpoch {
  readonly first: number
  readonly last: number
  /** Undefined for one after the Merge, which has none. */
  readonly accumulator: Uint8Array | undefined
  /** Whether the accumulator was in a list of trusted ones. */
  readonly isTrusted: boolean
  /**
   * What its blocks link to: genesis is the first, the first follows the previous epoch, the last is an ancestor of a
   * gateway's head, or nothing is known.
   */
  readonly link: 'genesis' | 'previous' | 'head' | 'none'
}

/** From the ingest thread. */
export type IngestMessage =
  /** The store is open and has the genesis. */
  | { readonly type: 'opened' }
  | { readonly type: 'progress'; readonly progress: IngestProgress }
  /**
   * The network is up to date at a new head: sent when a replay begins to play at intervals, or a follower lives on
   * heads, and for every head after that. Also sent for new markers.
   */
  | { readonly type: 'head' }
  /** What is known of the nodes that are followed has changed. */
  | { readonly type: 'upstream'; readonly state: UpstreamsState }
  /** Once a second, of a source that serves. */
  | { readonly type: 'figures'; readonly figures: IngestFigures }
  /** An epoch of an archive is stored. */
  | ({ readonly type: 'epoch' } & ImportedEpoch)
  /** What happened, as a sentence for the operator; an error is something that has to be mended. */
  | { readonly type: 'said'; readonly text: string; readonly isError?: boolean }
  /** The outcome of a call. */
  | { readonly type: 'answered'; readonly serial: number; readonly answer: unknown }
  | { readonly type: 'refused'; readonly serial: number; readonly fault: Fault }
  /** Everything is imported, or the thread was stopped. */
  | { readonly type: 'finished'; readonly progress: IngestProgress; readonly stopped: boolean }
  /** The last message. */
  | {
      readonly type: 'failed'
      /**
       * `defect`: the program is at fault; `operator`: the operator can remove the cause; `room`: the store takes
       * nothing until there is room, and can be read; `store`: the store is broken for this process.
       */
      readonly fault: 'defect' | 'operator' | 'room' | 'store'
      readonly message: string
      readonly stack?: string
    }

/** To an ingest thread with upstreams, or of a developer chain, which answers each: one of {@link SourceCalls}. */
export interface IngestCall {
  readonly type: 'call'
  readonly serial: number
  readonly name: SourceCallName
  readonly args: readonly unknown[]
}

/** Messages to the ingest thread. */
export type IngestCommand =
  /** Stop after the current block. */
  { readonly type: 'stop' } | IngestCall
