import type { AnswerCache } from '../../data/chain/answerCache.js'
import type { ChainView } from '../../data/chain/chain.js'
import type { Head } from '../../data/chain/chainBlocks.js'
import type { LogBounds } from '../../data/chain/logSearch.js'
import type { SyncProgress } from '../../data/chain/syncProgress.js'
import type { StateReader } from '../../data/state/stateReader.js'
import type { StorageLayout } from '../../data/state/storageLayout.js'
import type { CallTrials } from '../../execution/evm/messages/callTrials.js'
import type { UpstreamCalls } from '../../primitives/upstreamCalls.js'
import type { NetworkJobs } from '../pool/jobs.js'
import type { NetworkStreams } from '../streams/networkStreams.js'
import type { PendingStreams } from '../streams/pendingStreams.js'
import type { FilterService } from './logs/filterService.js'
import { defineMethod, type Method, type MethodDefinition, type Param, type RpcNetwork } from './method.js'

/** Limits of one request, by their names in the configuration; config/limits.ts has units and reasons. */
export interface NetworkLimits extends LogBounds {
  readonly requestMsMax: number
  readonly proofKeysMax: number
  readonly typedDataCharsMax: number
  readonly replayBlocksMax: number
  readonly executionGasBlocks: number
  readonly simulationGasMax: number
}

interface ExecutionSettings {
  /** Added to estimates, in hundredths of a percent. */
  readonly marginBps: number
  /** Whether tracers that callers write in JavaScript are run. */
  readonly javascriptTracers: boolean
}

/** The parts of a network that calls, traces and proofs need. */
export interface JobNetwork extends RpcNetwork {
  readonly chain: ChainView
  readonly head: Head
  readonly state: StateReader
  readonly jobs: NetworkJobs
  /** Executes short calls without a job; absent on a network that may have to fetch data. */
  readonly trials?: CallTrials | undefined
  /** Absent on a network without upstreams. */
  readonly upstreamCalls?: UpstreamCalls | undefined
  /** Cache of proofs; the key contains everything that a proof depends on. */
  readonly proofs: AnswerCache
  readonly execution: ExecutionSettings
  readonly limits: NetworkLimits
}

/** A network at one block, as methods see it. */
export interface Network extends JobNetwork {
  readonly streams: NetworkStreams
  /** Whether the source is a developer chain, which signs for its rich accounts. */
  readonly signsForAccounts: boolean
  /** Absent on a network without upstreams. */
  readonly pendingStreams?: PendingStreams | undefined
  readonly filters: FilterService
  /** Lower-case hex address → storage layout. */
  readonly layouts: ReadonlyMap<string, StorageLayout>
  /** Undefined if the source is up to date, and on a network without a source; never undefined if the source failed. */
  readonly syncing: SyncProgress | undefined
  /** The answer of `net_version`. */
  readonly networkId: string
  /** The answer of `rpc_discover`, JSON. */
  readonly openRpc: Uint8Array
  /** The answer of `web3_clientVersion`: `name/version/platform/runtime`. */
  readonly clientVersion: string
}

/** Like {@link defineMethod}, but for a network of blocks. */
export function chainMethod<const P extends readonly Param<unknown>[]>(
  definition: MethodDefinition<Network, P>,
): Method<Network> {
  return defineMethod(definition)
}
