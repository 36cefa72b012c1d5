/**
 * One network as one edge serves it: a reader of its store and the views that methods use. Does not own the source; its
 * state arrives through a {@link ChainFeed}.
 */
import { statSync } from 'node:fs'
import type { CacheUse } from '../../data/chain/answerCache.js'
import type { Chain } from '../../data/chain/chain.js'
import type { SyncProgress } from '../../data/chain/syncProgress.js'
import { type OpenRows, openRows } from '../../data/state/provedRows.js'
import { StateReader } from '../../data/state/stateReader.js'
import { type LogRange, logRangeAt } from '../../data/store/logRanges.js'
import type { Hash32 } from '../../primitives/bytes.js'
import { FaultError, OperatorError } from '../../primitives/faults.js'
import type { FetchMissing, Wanted, WantingCall } from '../../primitives/notStored.js'
import { reportingErrors, setInterval } from '../../primitives/timers.js'
import { dataLimitsMethod } from '../../primitives/upstreamCalls.js'
import { developerClientVersion } from '../../primitives/version.js'
import { createRelay, createReported } from '../../serving/rpc/dispatch/relay.js'
import type { NetworkViews } from '../../serving/rpc/method.js'
import type { Network } from '../../serving/rpc/network.js'
import type { UpstreamsState } from '../../sources/ingest/thread/messages.js'
import type { GatewayConfig, NetworkConfig } from '../config/config.js'
import { type ChainFeed, type SourceState, upToDate } from './chainFeed.js'
import { ChainViews, type ChainViewsOptions } from './chainViews.js'

/** Time between two checks for blocks that another process wrote: one read each; chains make blocks more slowly. */
const pollMs = 250

export interface OpenNetwork extends NetworkViews<Network> {
  readonly name: string
  /**
   * Why it cannot answer yet, as a sentence: its source has not opened its store. Then {@link current} and
   * {@link pinned} throw FaultError. Undefined once it is open.
   */
  readonly opening: string | undefined
  /** Purpose of the network, if its blocks are made here. */
  readonly purpose: 'demo' | 'developer' | undefined
  /** Whether the newest head could be read. */
  readonly isReadable: boolean
  /** Whether its source ended with an error. No further blocks come until the source is started again, if ever. */
  readonly failure: SourceState['failure']
  /** The error, for operators. */
  readonly failureWhy: SourceState['failureWhy']
  /** State of the nodes that its source follows; undefined for a source that follows none. */
  readonly upstreams: UpstreamsState | undefined
  /** Progress of a gateway that completes its logs. */
  readonly logs: LogProgress | undefined
  /** Number of threads that have the network's store open for reading. */
  readonly readers: number
  /** Use of the cache of its rendered blocks and receipts. */
  readonly blockAnswers: CacheUse
  /** Removes cached answers, and sets the counts of their use to zero. */
  forgetAnswers(): void
  close(): Promise<void>
}

/** Blocks whose logs a gateway has, of the wanted ones: all from `from` up to the head. */
interface LogProgress {
  readonly from: number
  /** The first block from which no logs are missing up to the head; undefined if those of the head are missing. */
  readonly completeFrom: number | undefined
  /** Number of blocks without logs. */
  readonly missing: number
}

export interface OpenOptions
  extends Omit<
    ChainViewsOptions,
    'name' | 'signsForAccounts' | 'chain' | 'execution' | 'networkId' | 'syncing' | 'fetchMissing'
  > {
  readonly mapBytes: number
  readonly answerCacheBytes: number
  /** Undefined for a network without a source. */
  readonly feed: ChainFeed | undefined
  /** Fetches for a gateway; see {@link SourceCalls.fetch}. */
  readonly fetch?: FetchMissing | undefined
  /** Unknown methods that are passed to upstreams; see {@link createRelay}. */
  readonly passThrough?: readonly string[]
}

interface OpenStore {
  readonly store: OpenRows
  readonly views: ChainViews
  readonly readEvidence: OpenNetwork['readEvidence']
  readonly reported: OpenNetwork['reported']
  readonly relay: OpenNetwork['relay']
}

/** Throws OperatorError if the store cannot be used. */
function openStore(
  config: NetworkConfig,
  options: OpenOptions,
  syncing: () => SyncProgress | undefined,
): OpenStore {
  requireChain(config)
  const store = openRows({ path: config.storePath, mapBytes: options.mapBytes })
  const { fetch, upstreamCalls, passThrough = [] } = options
  const isDeveloper = config.source?.type === 'develop'
  const views = new ChainViews(store, new StateReader(store), {
    ...options,
    name: config.name,
    signsForAccounts: isDeveloper,
    clientVersion: isDeveloper ? developerClientVersion : options.clientVersion,
    chain: {
      supportsSafe: config.safe,
      safeLag: config.safeLag,
      finalizedLag: config.finalizedLag,
      needsMarkers: config.source?.type === 'consensus',
      answerCacheBytes: options.answerCacheBytes,
    },
    execution: {
      marginBps: config.estimateMarginBps,
      javascriptTracers: config.javascriptTracers === true,
    },
    networkId: config.networkId,
    syncing,
    fetchMissing: fetch && ((wanted, _, call) => supplyInto(store, wanted, call, fetch)),
  })
  checkIdentity(config, views.chain)
  const { family } = views.chain.schedule
  const builds = config.source?.type === 'consensus' && family.execution?.dataBytes !== undefined
  const passed = [...passThrough, ...family.calls.reads, ...(builds ? [dataLimitsMethod] : [])]
  return {
    store,
    views,
    readEvidence: store.readEvidence?.bind(store),
    reported:
      fetch && upstreamCalls && createReported(family, upstreamCalls, () => views.chain.finalizedNumber),
    relay: passed.length === 0 ? undefined : upstreamCalls && createRelay(passed, upstreamCalls),
  }
}

/**
 * Opens a network: at once, or when its source reports that the store can be opened. Throws OperatorError if the store
 * should be opened at once and cannot be used.
 */
export function openNetwork(config: NetworkConfig, options: OpenOptions): OpenNetwork {
  const { feed, reportDefect } = options
  let syncing: SyncProgress | undefined
  let isReadable = true
  let source: SourceState = feed?.state ?? upToDate
  const open = () => openStore(config, options, () => syncing)
  let opened = source.opening === undefined ? open() : undefined
  const why = () => (opened === undefined ? (source.opening ?? unusable) : undefined)
  // The source's own text names upstreams and files, which callers must not see.
  const briefly = () => (source.opening === undefined ? unusable : 'its source has none yet')
  const need = (): OpenStore => {
    if (opened === undefined) throw new FaultError({ kind: 'NotOpen', network: config.name, why: briefly() })
    return opened
  }
  // If the newest block cannot be read, the network stays at its previous head.
  const refresh = () => {
    if (opened === undefined) return
    isReadable = false
    opened.views.chain.refreshHead()
    isReadable = true
  }
  const unlisten = feed?.listen(
    reportingErrors(reportDefect, (state) => {
      source = state
      if (state.opening === undefined) opened ??= open()
      if (opened === undefined) return
      try {
        refresh()
      } finally {
        syncing = syncProgress(state, opened.views.chain.head.number)
        opened.views.streams.reportSyncing(syncing)
      }
    }),
  )
  const poll = setInterval(reportingErrors(reportDefect, refresh), pollMs)
  poll.unref()
  // A class: V8 resolves the members of an object with this many own getters again for each request.
  class Opened implements OpenNetwork {
    readonly name = config.name
    readonly purpose = purposeOf(config)
    get opening() {
      return why()
    }
    get failure() {
      return source.failure
    }
    get failureWhy() {
      return source.failureWhy
    }
    get upstreams() {
      return source.upstreams
    }
    get current() {
      return need().views.current
    }
    get logs() {
      const logs = config.gateway?.logs
      return logs && opened && logProgress(opened.store, logs, opened.views.chain.head.number)
    }
    get readers() {
      return opened?.store.readers ?? 0
    }
    get blockAnswers() {
      return opened?.views.chain.parts.answers.use ?? unused
    }
    readonly forgetAnswers = () => opened?.views.forgetAnswers()
    get isReadable() {
      return isReadable && opened !== undefined
    }
    pinned(hash: Hash32) {
      return need().views.pinned(hash)
    }
    get fetchMissing() {
      return opened?.views.fetchMissing
    }
    get relay() {
      return opened?.relay
    }
    get reported() {
      return opened?.reported
    }
    get readEvidence() {
      return opened?.readEvidence
    }
    async close() {
      clearInterval(poll)
      unlisten?.()
      opened?.views.streams.close()
      await opened?.store.close()
    }
  }
  return new Opened()
}

const unusable = 'its store cannot be used, see the log'
const unused: CacheUse = { hits: 0, misses: 0, bytes: 0 }

function purposeOf({ source, isEmbedded }: NetworkConfig): OpenNetwork['purpose'] {
  if (source?.type !== 'develop') return undefined
  return isEmbedded ? 'demo' : 'developer'
}

/** For blocks whose receipts are fetched late, having the header is enough. */
function logProgress(
  store: OpenRows,
  { from, lazy }: NonNullable<GatewayConfig['logs']>,
  head: number,
): LogProgress {
  const linkedFrom = store.readLinkedFrom() ?? head + 1
  const whole: readonly LogRange[] = lazy ? [[linkedFrom, head]] : store.readLogRanges()
  const ranges = whole.map(([first, last]): LogRange => {
    return [Math.max(first, linkedFrom, from), Math.min(last, head)]
  })
  const count = ranges.reduce((sum, [first, last]) => sum + Math.max(last - first + 1, 0), 0)
  return { from, completeFrom: logRangeAt(ranges, head)?.[0], missing: Math.max(head - from + 1, 0) - count }
}

/** Fetches something; when this resolves, the store has it or knows that it does not exist. */
async function supplyInto(
  store: OpenRows,
  wanted: Wanted,
  call: WantingCall | undefined,
  fetch: FetchMissing,
): Promise<void> {
  const isAbsent = await fetch(wanted, call)
  store.refresh()
  if (isAbsent) store.noteAbsent?.(wanted)
}

/**
 * The answer of `eth_syncing`. A network counts as syncing if its source failed, or if its nodes do not answer or
 * cannot be followed. Its chain may have further blocks.
 */
function syncProgress(
  { syncing, failure, upstreams }: SourceState,
  currentBlock: number,
): SyncProgress | undefined {
  const isCutOff = failure !== undefined || upstreams?.isDown === true || upstreams?.trouble !== undefined
  if (syncing === undefined && !isCutOff) return undefined
  return {
    startingBlock: syncing?.startingBlock ?? currentBlock,
    currentBlock,
    // While the source skips blocks that the store has already, its number is below the head's.
    highestBlock: Math.max(syncing?.number ?? 0, upstreams?.head ?? 0, currentBlock),
  }
}

/** Throws OperatorError if nothing was ever imported: LMDB crashes on an empty file that is opened for reading. */
function requireChain({ name, kind, storePath, genesisPath }: NetworkConfig): void {
  if ((statSync(storePath, { throwIfNoEntry: false })?.size ?? 0) > 0) return
  if (kind === 'gateway') throw new OperatorError(`network ${name} has never had an upstream`)
  const what = kind === 'history' ? 'ARCHIVE' : `--genesis ${genesisPath ?? 'FILE'} CHAIN`
  throw new OperatorError(
    `network ${name} has no chain in ${storePath} yet; make it with: tidegate import --network ${name} ${what}`,
  )
}

function checkIdentity(config: NetworkConfig, { identity, kind: { name: kind } }: Chain): void {
  if (config.kind !== undefined && config.kind !== kind) {
    throw new OperatorError(
      `the store of network ${config.name} is of kind ${kind}, the configuration says ${config.kind}; correct one of them`,
    )
  }
  if (config.chainId !== undefined && identity.chainId !== String(config.chainId)) {
    throw new OperatorError(
      `the store of network ${config.name} has chain id ${identity.chainId}, the configuration says ${config.chainId}; correct one of them`,
    )
  }
}
