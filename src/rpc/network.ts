import type { AnswerCache } from '../chain/answerCache.js'
import type { Head } from '../chain/chain.js'
import type { ChainView } from '../chain/chainView.js'
import type { LogBounds } from '../chain/logSearch.js'
import type { SyncProgress } from '../chain/syncProgress.js'
import type { PlainTransfers } from '../evm/plainTransfers.js'
import type { NetworkJobs } from '../pool/jobs.js'
import type { StateReader } from '../state/stateReader.js'
import type { StorageLayout } from '../state/storageLayout.js'
import type { NetworkStreams } from '../streams/networkStreams.js'
import type { FilterService } from './filterService.js'
import type { RpcNetwork } from './method.js'

/** What the operator of a network decides about execution. */
export interface ExecutionSettings {
  /** Most gas of a call or estimate, in gas limits of the current block. */
  readonly gasCapBlocks: number
  /** Added to estimates, in hundredths of a percent. */
  readonly marginBps: number
}

/** What methods see of a network whose calls a thread of the pool may answer whole. */
export interface JobNetwork extends RpcNetwork {
  readonly chain: ChainView
  /** The chain's. */
  readonly head: Head
  readonly state: StateReader
  readonly jobs: NetworkJobs
  /** Messages that need no job. */
  readonly transfers: PlainTransfers
  /** Proofs of the last blocks, by everything that they depend on. */
  readonly proofs: AnswerCache
  readonly execution: ExecutionSettings
  /** Storage keys of one proof. */
  readonly proofKeysMax: number
}

/** What one network offers to methods, as of one block. */
export interface Network extends JobNetwork {
  /** Its heads and logs, for subscribers. */
  readonly streams: NetworkStreams
  /** The most that one answer of logs may hold. */
  readonly logBounds: LogBounds
  /** Filters that callers poll. */
  readonly filters: FilterService
  /** Layouts of contracts by their address, lower-case hex. */
  readonly layouts: ReadonlyMap<string, StorageLayout>
  /** Undefined once the source has delivered all it has, and for a network without one; never where it failed. */
  readonly syncing: SyncProgress | undefined
  /** As `net_version` answers. */
  readonly networkId: string
  /** The document that `rpc_discover` answers, JSON. */
  readonly openRpc: Uint8Array
  /** `name/version/platform/runtime`, as `web3_clientVersion` answers. */
  readonly clientVersion: string
}
