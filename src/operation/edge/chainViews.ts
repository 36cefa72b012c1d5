/**
 * A chain as methods see it: the view at its head, and views pinned to other blocks. Owns the parts that all views
 * share. The caller decides from which store rows come, and when to check for a new head.
 */
import { AnswerCache } from '../../data/chain/answerCache.js'
import { Chain, ChainView } from '../../data/chain/chain.js'
import type { ChainOptions, Head } from '../../data/chain/chainBlocks.js'
import type { SyncProgress } from '../../data/chain/syncProgress.js'
import type { StateReader } from '../../data/state/stateReader.js'
import type { ChainRows } from '../../data/store/chainRows.js'
import { CallTrials } from '../../execution/evm/messages/callTrials.js'
import type { Hash32 } from '../../primitives/bytes.js'
import { SeenOnceFilter } from '../../primitives/seenOnceFilter.js'
import type { FilterService } from '../../serving/rpc/logs/filterService.js'
import type { NetworkViews } from '../../serving/rpc/method.js'
import type { Network } from '../../serving/rpc/network.js'
import { NetworkStreams } from '../../serving/streams/networkStreams.js'
import { PendingStreams } from '../../serving/streams/pendingStreams.js'

/** Options of a chain's views besides its rows. */
export interface ChainViewsOptions
  extends Pick<Network, 'name' | 'jobs' | 'execution' | 'limits' | 'layouts' | 'clientVersion' | 'openRpc'> {
  readonly chain: ChainOptions
  readonly proofCacheBytes: number
  /** The answer of `net_version`; if undefined, the network id of the genesis. */
  readonly networkId: number | undefined
  /** Makes, or returns, the filters that callers poll. */
  filters(current: () => Network): FilterService
  syncing(): SyncProgress | undefined
  readonly fetchMissing?: NetworkViews<Network>['fetchMissing']
  readonly upstreamCalls?: Network['upstreamCalls']
  readonly signsForAccounts?: boolean
  /** Called with errors of background tasks. */
  readonly reportDefect: (error: unknown) => void
}

export class ChainViews implements NetworkViews<Network> {
  readonly chain: Chain
  readonly streams: NetworkStreams
  readonly fetchMissing: NetworkViews<Network>['fetchMissing']
  readonly #shared: Omit<Network, 'chain' | 'head' | 'syncing'>
  readonly #syncing: () => SyncProgress | undefined
  #current: Network

  /** Throws OperatorError if the rows have no chain, or one that this version cannot read. */
  constructor(rows: ChainRows, state: StateReader, options: ChainViewsOptions) {
    const { name, jobs, execution, limits, layouts, clientVersion, openRpc, networkId } = options
    this.chain = new Chain(rows, options.chain)
    this.streams = new NetworkStreams(this.chain, limits, options.reportDefect)
    this.fetchMissing = options.fetchMissing
    const { upstreamCalls, signsForAccounts = false, reportDefect } = options
    const headNumber = () => this.chain.head.number
    // A gateway's calls begin again after each fetch, and walk down tries: other clients would wait for that.
    const mayTry = options.fetchMissing === undefined || signsForAccounts
    this.#syncing = options.syncing
    this.#shared = {
      name,
      state,
      streams: this.streams,
      jobs,
      refusal: (jobClass, context) => jobs.refusal?.(jobClass, context),
      trials: mayTry ? new CallTrials(rows, this.chain.schedule) : undefined,
      proofs: new AnswerCache(options.proofCacheBytes, new SeenOnceFilter()),
      execution,
      filters: options.filters(() => this.current),
      limits,
      layouts,
      networkId: String(networkId ?? this.chain.identity.networkId),
      clientVersion,
      openRpc,
      upstreamCalls,
      signsForAccounts,
      pendingStreams: upstreamCalls && new PendingStreams(upstreamCalls, headNumber, reportDefect),
    }
    this.#current = this.#headView()
  }

  get current(): Network {
    if (this.#current.head !== this.chain.head) this.#current = this.#headView()
    return this.#current
  }

  /** Removes cached answers about blocks, and proofs, with their counts. */
  forgetAnswers(): void {
    this.chain.parts.answers.clear()
    this.#shared.proofs.clear()
  }

  pinned(hash: Hash32): Network | undefined {
    const head = this.chain.readHeadAt(hash)
    return head && this.#viewOf(head, true)
  }

  #headView(): Network {
    return this.#viewOf(this.chain.head, false)
  }

  #viewOf(head: Head, isPinned: boolean): Network {
    const syncing = this.#syncing
    return {
      ...this.#shared,
      chain: new ChainView(this.chain, head, isPinned),
      head,
      get syncing() {
        return syncing()
      },
    }
  }
}
