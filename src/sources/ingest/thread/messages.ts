/** Messages between an ingest thread and the thread that started it. */

import type { ForkTimes } from '../../../data/chain/forks.js'
import type { DatabaseAddress } from '../../../data/postgres/connection.js'
import type { ChainIdentity } from '../../../data/store/chainRows.js'
import type { HistoryLimits } from '../../../data/store/keptHistory.js'
import type { ReadyLimits } from '../../../data/store/readyRows.js'
import type { Fault } from '../../../primitives/faults.js'
import type { SourceCallName } from '../../../primitives/upstreamCalls.js'
import type { ConsensusForkName } from '../../consensus/network.js'
import type { FeedFigures } from '../../feed/blockDiffLog.js'
import type { PublishPlan } from '../../feed/publisher.js'
import type { BeaconNodeState } from '../../upstream/beaconNodes.js'
import type { UpstreamOptions } from '../../upstream/upstream.js'
import type { UpstreamFigures, UpstreamState } from '../../upstream/upstreams.js'
import type { EngineFigures } from '../engine/engineFigures.js'

/** The store that an ingest thread writes. */
export interface IngestStore {
  readonly storePath: string
  /** Bytes of address space of the store. */
  readonly mapBytes: number
  /** geth-format genesis as JSON text, and its file; undefined if the store has its genesis. */
  readonly genesis: { readonly text: string; readonly path: string } | undefined
  /** The required chain id of the genesis or the store; undefined for any. */
  readonly chainId?: number | undefined
  /** Whether a new store is the embedded network's own; see {@link ChainIdentity}. */
  readonly isEmbedded?: boolean
  /** How much of the past is kept; if absent, all. */
  readonly history?: HistoryLimits
  /** How many ready answers are stored; if absent, none. */
  readonly ready?: ReadyLimits
  /** Where the blocks of a file, replay or node are published. */
  readonly publish?: PublishPlan | undefined
}

/** `workerData` of a thread that imports chain files, in order. */
export interface IngestTask extends IngestStore {
  readonly files: readonly string[]
  /** Whether the files are archives, whose blocks are executed. */
  readonly areArchives?: boolean
  /** Makes the store from the state after a block; if absent, from its genesis. */
  readonly start?: StartPlan | undefined
}

/** A block, and the whole state after it. */
export interface StartPlan {
  /** Paths of files of headers and blocks; the newest one is the start block. Empty: nodes provide them. */
  readonly headers: readonly string[]
  /** Path of a dump of the state (start/stateDump.ts); if undefined, nodes provide it. */
  readonly state: string | undefined
  /** Nodes that provide everything that is not in a file; they must know the block. */
  readonly nodes?: StartNodesPlan | undefined
  /** Hash of the block, lower-case hex; if undefined, the newest of the headers, or the last finalized one. */
  readonly hash: string | undefined
  /** Total difficulty up to and including the block; undefined if it follows from the header. */
  readonly totalDifficulty: bigint | undefined
}

/** Nodes that confirm a block: a majority of `upstreams`, or signatures if there are beacon nodes. */
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

export interface DevelopPlan {
  /** Chain file whose blocks come first. */
  readonly recorded?: string | undefined
  /** Time between two blocks; 0: one for each transaction that can run. */
  readonly blockSeconds: number
  /** Whether blocks come without a request for each. */
  readonly mining: boolean
  /** Number of accounts of the well-known mnemonic that it signs for. */
  readonly accounts: number
  readonly limits: MiningLimits
  /** The block on which the chain begins; if absent, it begins with its genesis. */
  readonly fork?: ForkPlan | undefined
}

/** Members of `limits` in the configuration. */
export interface MiningLimits {
  readonly minedBlocksMax: number
  readonly executedBlocksMax: number
}

/** The block of another chain on which a developer chain begins. */
export interface ForkPlan {
  readonly upstreams: readonly UpstreamOptions[]
  /** Number of the block; if undefined, the newest one. */
  readonly block?: number | undefined
  /** Time between two polls of a node for its head, which nothing here follows. */
  readonly pollMs: number
  /** Chain id; if undefined, the one of the forked chain. */
  readonly chainId?: number | undefined
  /** Balance of each account that it signs for, in wei, as a decimal. */
  readonly balance: string
  /** Longest time for one fetch. */
  readonly fetchMsMax: number
  /** Most slots of one proof. */
  readonly forkProofSlotsMax: number
  /** Most rounds of fetching for one piece of work. */
  readonly forkRoundsMax: number
}

/** `workerData` of a thread whose blocks a consensus client gives and chooses. */
export interface ConsensusTask extends IngestStore {
  readonly consensus: ConsensusPlan
}

interface ConsensusPlan {
  /** Nodes that send the blocks between the store and the chosen head; empty: none does. */
  readonly from: readonly UpstreamOptions[]
  /** Beacon nodes that are asked for those blocks, too. */
  readonly beaconNodes: readonly UpstreamOptions[]
  /** Nodes that get the transactions of the pool, too. */
  readonly transactions: { readonly to: readonly UpstreamOptions[] }
  /** Longest time for one block of the nodes, over all attempts. */
  readonly fetchMsMax: number
  readonly gap: GapLimits
}

/** Limits of the work on a gap: members of `limits` in the configuration (config/limits.ts), without their `engine`. */
export interface GapLimits {
  readonly receivedMax: number
  readonly windowBlocks: number
  readonly batchBlocks: number
  readonly batchBytes: number
  readonly turnMs: number
  readonly retryMs: number
  readonly missingMs: number
}

/** `workerData` of a thread that takes the blocks published by another process. */
export interface FeedTask extends IngestStore {
  readonly feed: FeedPlan
}

export interface FeedPlan extends DatabaseAddress {
  /** Number of transactions of each block whose senders are recovered. */
  readonly sendersChecked: number
}

/**
 * `workerData` of a thread that imports archives of history, in order. For the identity of a gateway, they are stored
 * below its blocks.
 */
export interface ArchiveTask {
  readonly storePath: string
  readonly mapBytes: number
  readonly identity: ChainIdentity
  /** Paths of files. */
  readonly archives: readonly string[]
  /** Bytes of all files. */
  readonly bytesTotal: number
  /** Trusted accumulators, lower-case hex; if undefined, all are trusted. A gateway's archives need none. */
  readonly accumulators: readonly string[] | undefined
}

/** `workerData` of a thread that follows the heads of upstreams, and fetches and proves requested data. */
export interface GatewayTask extends IngestStore, HeadsPlan {
  /** Name of the network, which may be a public one. */
  readonly network: string
  /** Fork times for a chain whose genesis is not given. */
  readonly forks: ForkTimes
  readonly chainId: number | undefined
  /** Blocks below the head whose numbers are proved by a chain of headers. */
  readonly historyBlocks: number
  readonly logs?: GatewayLogs | undefined
  /** Limits of stored data; if absent, 4 GiB, 4,096 proofs with a head, and nothing pinned. */
  readonly workingSet?: WorkingSetPlan | undefined
  /** Longest time for one fetch. */
  readonly fetchMsMax: number
}

/** Nodes whose head is followed, and the settings for that. */
interface HeadsPlan {
  readonly upstreams: readonly UpstreamOptions[]
  /** How many of them must have a head, and must agree on data that cannot be proved; if absent, a majority. */
  readonly quorum?: number | undefined
  /** Time between two polls for the head of a node without a WebSocket. */
  readonly pollMs: number
  /** Beacon nodes that confirm the head; if absent, the head is that of the upstreams. */
  readonly beacon?: BeaconPlan | undefined
}

/** Limits of the state that a gateway keeps. */
export interface WorkingSetPlan {
  readonly maxMB: number
  readonly proofUnits: number
  /** Addresses of contracts that are always stored, hex. */
  readonly watch: readonly string[]
}

/** Method by which a gateway's values stay current with each head, best first. */
export type CurrentWay = 'accessList' | 'witness' | 'proofs'

/** The state that a gateway keeps. */
export interface WorkingSetState {
  /** The method for the newest head; absent before the first one since the start. */
  readonly way?: CurrentWay
  /** Block from which on all changes were applied. */
  readonly currentFrom?: number
  /** Bytes on disk: values, trie nodes and code. */
  readonly bytes: number
  readonly bytesMax: number
  /** Pinned contracts; `whole` counts those with all slots stored. */
  readonly watched: number
  readonly whole: number
}

/** Logs that a gateway fetches in advance. */
interface GatewayLogs {
  /** Number of the lowest wanted block. */
  readonly from: number
  /**
   * Whether only headers are linked down to it. Then receipts are fetched for searches whose filters match their
   * blooms.
   */
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
 * One reorganisation of a replay: once block `after` of the file is the head, the blocks of another file are played.
 * They replace the last `back` blocks. Then the file continues.
 */
export interface ReplayStep {
  readonly after: number
  readonly back: number
  readonly file: string
}

/** Tasks of a thread that executes blocks. */
export type ChainTask = IngestTask | ReplayTask | FollowTask | DevelopTask | ConsensusTask

/** All tasks of an ingest thread. */
export type SourceTask = ChainTask | FeedTask | ArchiveTask | GatewayTask

/** Sources of signed heads of the consensus layer. */
export interface BeaconPlan {
  /** Nodes with the Beacon API. */
  readonly nodes: readonly UpstreamOptions[]
  /** Root of a finalized beacon block, hex; if absent, the one of an earlier start. */
  readonly checkpoint?: string | undefined
  /** Time between two requests for the newest signed block. */
  readonly pollMs: number
  /** The consensus layer of a network that is not known by its chain id; if absent, as a beacon node reports. */
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

/** State of the signed head; its members are absent before there is a checkpoint. */
export interface SignedState {
  readonly slot?: number
  /** Number of validators, of 512, that signed it. */
  readonly participants?: number
  readonly finalizedSlot?: number
  /** Time of the slot, in seconds since 1970. */
  readonly time?: number
  readonly nodes: readonly BeaconNodeState[]
}

export interface FollowPlan extends HeadsPlan {
  /** Longest time for one block, over all attempts. */
  readonly timeoutMs: number
  /** Most canonical blocks that a reorganisation replaces. */
  readonly reorgDepthMax: number
  /** How long a node that had our head must deny it before its lower head is followed. */
  readonly revertAfterMs: number
}

/** State of the nodes that are followed. */
export interface UpstreamsState {
  /** Number of the followed head as its node reports it, unverified; undefined before the first answer. */
  readonly head: number | undefined
  /** Whether no node answers. */
  readonly isDown: boolean
  /** Number of nodes that have to share a head; undefined where nodes do not choose it. */
  readonly quorum?: number | undefined
  /** Why the head does not move, though nodes answer. */
  readonly trouble?: string
  readonly nodes: readonly UpstreamState[]
  /** Only for a source with beacon nodes. */
  readonly signed?: SignedState | undefined
  /** Beacon nodes that send blocks, and no signatures. */
  readonly beaconNodes?: readonly BeaconNodeState[]
  /** Only for a gateway. */
  readonly workingSet?: WorkingSetState | undefined
}

export interface IngestProgress {
  /** Number of the last imported block; after the import, that of the head. */
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

/** Figures of a source since its start. */
export interface IngestFigures {
  /** JavaScript heap in use by its thread. */
  readonly heapBytes: number
  /** See {@link ChainWriter.commits}. */
  readonly commits: { readonly count: number; readonly seconds: number }
  /** Seconds by phase; empty if it executes nothing. */
  readonly phases: Readonly<Record<string, number>>
  readonly upstreams: readonly UpstreamFigures[]
  /** For a gateway: number of fetched, proved and stored things, by kind. */
  readonly kept: Readonly<Record<string, number>>
  /** For a gateway: number of heads since the start, by the method that kept its values current. */
  readonly heads?: Readonly<Record<CurrentWay, number>> | undefined
  /** Only for a gateway. */
  readonly workingSet?: WorkingSetState | undefined
  /** Only for a network with a feed. */
  readonly feed?: FeedFigures
  /** Only for a source with beacon nodes. */
  readonly signed?: SignedState | undefined
  /** Only under a consensus client. */
  readonly engine?: EngineFigures | undefined
}

/** An epoch whose blocks are stored. */
export interface ImportedEpoch {
  readonly first: number
  readonly last: number
  /** Undefined for an epoch after the Merge. */
  readonly accumulator: Uint8Array | undefined
  /** Whether the accumulator is in a list of trusted ones. */
  readonly isTrusted: boolean
  /**
   * Link of its blocks. `genesis`: the first block is genesis. `previous`: the first follows the previous epoch.
   * `head`: the last is an ancestor of a gateway's head. `none`: no link is known.
   */
  readonly link: 'genesis' | 'previous' | 'head' | 'none'
}

/** Messages from the ingest thread. */
export type IngestMessage =
  /** The store is open and has the genesis. */
  | { readonly type: 'opened' }
  | { readonly type: 'progress'; readonly progress: IngestProgress }
  /**
   * The network is up to date at a new head. Sent when a replay begins to play at intervals, or a follower has caught
   * up with the heads, and for every head after that. Also sent for new markers.
   */
  | { readonly type: 'head' }
  /** The state of the followed nodes has changed. */
  | { readonly type: 'upstream'; readonly state: UpstreamsState }
  /** Sent once a second by a source that serves. */
  | { readonly type: 'figures'; readonly figures: IngestFigures }
  /** An epoch of an archive is stored. */
  | ({ readonly type: 'epoch' } & ImportedEpoch)
  /** An event, as a sentence for the operator; an error needs the operator's action. */
  | { readonly type: 'said'; readonly text: string; readonly isError?: boolean }
  /** The result of a call. */
  | { readonly type: 'answered'; readonly serial: number; readonly answer: unknown }
  | { readonly type: 'refused'; readonly serial: number; readonly fault: Fault }
  /** Everything is imported, or the thread was stopped. */
  | { readonly type: 'finished'; readonly progress: IngestProgress; readonly stopped: boolean }
  /** The last message. */
  | {
      readonly type: 'failed'
      /**
       * `defect`: a bug of the program. `operator`: the operator can remove the cause. `room`: the disk is full, so
       * that the store can only be read. `store`: the store is broken for this process.
       */
      readonly fault: 'defect' | 'operator' | 'room' | 'store'
      readonly message: string
      readonly stack?: string
    }

/** A call to an ingest thread with upstreams, or of a developer chain: one of {@link SourceCalls}. It answers each. */
export interface IngestCall {
  readonly type: 'call'
  readonly serial: number
  readonly name: SourceCallName
  readonly args: readonly unknown[]
}

export type IngestCommand =
  /** Stop after the current block. */
  { readonly type: 'stop' } | IngestCall
