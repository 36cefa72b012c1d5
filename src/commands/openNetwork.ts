/**
 * One served network: its ingest thread where it has a source, its reader, and what methods see of it. Owns the
 * order of opening and closing.
 */
import { readFileSync, statSync } from 'node:fs'
import { AnswerCache } from '../chain/answerCache.js'
import { Chain } from '../chain/chain.js'
import { ChainView } from '../chain/chainView.js'
import type { SyncProgress } from '../chain/syncProgress.js'
import type { NetworkConfig } from '../config.js'
import { PlainTransfers } from '../evm/plainTransfers.js'
import { type IngestThread, startIngest } from '../ingest/ingestThread.js'
import type { IngestProgress } from '../ingest/messages.js'
import type { NetworkJobs } from '../pool/jobs.js'
import { AskedBefore } from '../primitives/askedBefore.js'
import { OperatorError } from '../primitives/faults.js'
import type { NetworkViews } from '../rpc/method.js'
import type { Network } from '../rpc/network.js'
import { StateReader } from '../state/stateReader.js'
import { ChainReader } from '../store/chainReader.js'
import { NetworkStreams } from '../streams/networkStreams.js'
import { readStorageLayouts } from './storageLayouts.js'

/**
 * How often a network looks whether another process has written new blocks. Costs one read, 2 µs, and is faster
 * than any chain makes blocks.
 */
const pollMs = 250

export interface OpenNetwork extends NetworkViews<Network> {
  readonly name: string
  /** Settles when the source has delivered all it has; rejects where it failed. At once without a source. */
  readonly ingested: Promise<void>
  /** Settles when the network is as callers expect it: with {@link ingested}, or once a replay keeps its pace. */
  readonly caughtUp: Promise<void>
  /** Stops the source after the block in hand and closes the store. */
  close(): Promise<void>
}

export interface OpenOptions {
  readonly mapBytes: number
  readonly answerCacheBytes: number
  readonly proofCacheBytes: number
  readonly proofKeysMax: number
  /** Blocks behind the head from which a subscription may resume. */
  readonly replayBlocksMax: number
  readonly clientVersion: string
  readonly jobs: NetworkJobs
  /** Most gas of a call or estimate, in gas limits of the current block. */
  readonly gasCapBlocks: number
  readonly onProgress: (progress: IngestProgress) => void
}

/** Opens a network; throws OperatorError where its store or source is not usable. */
export async function openNetwork(config: NetworkConfig, options: OpenOptions): Promise<OpenNetwork> {
  // First of all, because a fault in this file is the operator's and nothing has been started yet.
  const { storageLayoutsPath } = config
  const layouts = storageLayoutsPath === undefined ? new Map() : readStorageLayouts(storageLayoutsPath)
  let syncing: SyncProgress | undefined
  let chain: Chain | undefined
  let streams: NetworkStreams | undefined
  const onProgress = (progress: IngestProgress) => {
    chain?.refreshHead()
    const { number } = progress
    const startingBlock = syncing?.startingBlock ?? number
    // While blocks that are known already pass by, the source stands behind the head.
    const currentBlock = chain?.head.number ?? number
    syncing = { startingBlock, currentBlock, highestBlock: Math.max(number, currentBlock) }
    streams?.reportSyncing(syncing)
    options.onProgress(progress)
  }
  const onHead = () => {
    chain?.refreshHead()
    syncing = undefined
    streams?.reportSyncing(undefined)
  }
  const ingest = startSource(config, options.mapBytes, onProgress, onHead)
  await ingest?.opened
  requireChain(config)
  const store = ChainReader.open({ path: config.storePath, mapBytes: options.mapBytes })
  const opened = new Chain(store, {
    supportsSafe: config.safe,
    safeLag: config.safeLag,
    finalizedLag: config.finalizedLag,
    answerCacheBytes: options.answerCacheBytes,
  })
  chain = opened
  checkIdentity(config, opened)
  const openedStreams = new NetworkStreams(opened, { replayBlocksMax: options.replayBlocksMax })
  openedStreams.reportSyncing(syncing)
  streams = openedStreams
  const poll = setInterval(() => opened.refreshHead(), pollMs)
  poll.unref()
  const caughtUp = (ingest?.caughtUp ?? Promise.resolve()).then(() => opened.refreshHead())
  const ingested = (ingest?.finished ?? Promise.resolve())
    .then(() => opened.refreshHead())
    .finally(() => {
      syncing = undefined
      openedStreams.reportSyncing(undefined)
    })
  // Reported by whoever waits for them; until then they must not count as unhandled.
  caughtUp.catch(() => undefined)
  ingested.catch(() => undefined)
  const shared = {
    name: config.name,
    state: new StateReader(store),
    streams: openedStreams,
    jobs: options.jobs,
    transfers: new PlainTransfers(store, opened.schedule),
    proofs: new AnswerCache(options.proofCacheBytes, new AskedBefore()),
    execution: { gasCapBlocks: options.gasCapBlocks, marginBps: config.estimateMarginBps },
    proofKeysMax: options.proofKeysMax,
    layouts,
    networkId: String(config.networkId ?? opened.identity.networkId),
    clientVersion: options.clientVersion,
  }
  const viewOf = (chain: ChainView): Network => ({
    ...shared,
    chain,
    head: chain.head,
    get syncing() {
      return syncing
    },
  })
  let current = viewOf(new ChainView(opened, opened.head, false))
  return {
    name: config.name,
    get current() {
      if (current.head !== opened.head) current = viewOf(new ChainView(opened, opened.head, false))
      return current
    },
    pinned(hash) {
      const head = opened.readHeadAt(hash)
      return head && viewOf(new ChainView(opened, head, true))
    },
    ingested,
    caughtUp,
    async close() {
      clearInterval(poll)
      ingest?.stop()
      await ingested.catch(() => undefined)
      openedStreams.close()
      await store.close()
    },
  }
}

/** Throws OperatorError where nothing was ever imported. LMDB ends the process on an empty file opened for reading. */
function requireChain({ name, storePath, genesisPath }: NetworkConfig): void {
  if ((statSync(storePath, { throwIfNoEntry: false })?.size ?? 0) > 0) return
  const genesis = genesisPath ?? 'FILE'
  throw new OperatorError(
    `network ${name} has no chain in ${storePath} yet; make it with: tidegate import --network ${name} --genesis ${genesis} CHAIN`,
  )
}

function startSource(
  { source, genesisPath, storePath }: NetworkConfig,
  mapBytes: number,
  onProgress: (progress: IngestProgress) => void,
  onHead: () => void,
): IngestThread | undefined {
  if (source === undefined) return undefined
  const genesis =
    genesisPath === undefined ? undefined : { text: readFileSync(genesisPath, 'utf8'), path: genesisPath }
  const store = { storePath, mapBytes, genesis }
  if (source.type === 'file') return startIngest({ ...store, files: [source.path] }, onProgress)
  return startIngest({ ...store, replay: source }, onProgress, onHead)
}

function checkIdentity(config: NetworkConfig, { identity }: Chain): void {
  if (config.chainId !== undefined && identity.chainId !== String(config.chainId)) {
    throw new OperatorError(
      `the store of network ${config.name} has chain id ${identity.chainId}, the configuration says ${config.chainId}; correct one of them`,
    )
  }
}
