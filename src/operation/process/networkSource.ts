import { setTimeout as sleep } from 'node:timers/promises'
import { StoreError } from '../../data/store/lmdb/environment.js'
import { defer, waitedForLater } from '../../primitives/deferred.js'
import { smallest } from '../../primitives/extremes.js'
import { OperatorError } from '../../primitives/faults.js'
import { sourceCallsBy } from '../../primitives/upstreamCalls.js'
import { type IngestThread, startIngest } from '../../sources/ingest/thread/ingestThread.js'
import type {
  GapLimits,
  IngestFigures,
  IngestProgress,
  IngestStore,
  SourceTask,
} from '../../sources/ingest/thread/messages.js'
import {
  type Config,
  feedSchemaOf,
  type GatewayConfig,
  historyLimits,
  type NetworkConfig,
} from '../config/config.js'
import { ChainFeed, type SourceProgress, type SourceState, upToDate } from '../edge/chainFeed.js'
import { genesisOf } from './genesisOf.js'

/**
 * Wait before an ended source starts again: at first, and at most; doubled each time. A restarted node is back within
 * seconds. A lasting failure is retried once a minute, at the cost of starting a thread.
 */
const pauseMsMin = 1_000
const pauseMsMax = 60_000
/** A source that ran this long has recovered: the wait is short again after its next failure. */
const steadyMs = 5 * 60_000

/** The work of a network's ingest thread. */
export function taskOf(
  { name, source, gateway, fork, forks, chainId, publish, history }: NetworkConfig,
  unpublished: IngestStore,
  limits: Config['limits'],
): SourceTask {
  const { fetchMsMax, forkProofSlotsMax, forkRoundsMax, minedBlocksMax, executedBlocksMax } = limits
  const schema = feedSchemaOf(name)
  const store = { ...unpublished, publish: publish && { ...publish, schema: publish.schema ?? schema } }
  if (source === undefined)
    return { ...store, ...(gateway as GatewayConfig), network: name, forks, chainId, fetchMsMax }
  if (source.type === 'file') return { ...store, files: [source.path] }
  if (source.type === 'feed') return { ...store, feed: { ...source, schema: source.schema ?? schema } }
  if (source.type === 'develop') {
    const plan = fork && { ...fork, fetchMsMax, forkProofSlotsMax, forkRoundsMax }
    return { ...store, develop: { ...source, limits: { minedBlocksMax, executedBlocksMax }, fork: plan } }
  }
  if (source.type === 'consensus')
    return { ...store, consensus: { ...source, fetchMsMax, gap: gapLimits(limits) } }
  if (source.type === 'replay') return { ...store, replay: source }
  // A reorganisation goes back no further than the stored history.
  const reorgDepthMax = smallest([source.reorgDepthMax, ...Object.values(historyLimits(history))])
  return { ...store, follow: { ...source, reorgDepthMax } }
}

function gapLimits(limits: Config['limits']): GapLimits {
  return {
    receivedMax: limits.engineReceivedMax,
    windowBlocks: limits.engineWindowBlocks,
    batchBlocks: limits.engineBatchBlocks,
    batchBytes: limits.engineBatchBytes,
    turnMs: limits.engineTurnMs,
    retryMs: limits.engineRetryMs,
    missingMs: limits.engineMissingMs,
  }
}

export interface SourceListeners {
  readonly onProgress?: (progress: IngestProgress) => void
  readonly onSaid?: (text: string, isError: boolean) => void
  /** Called when the source ended with an error. It starts again after `againMs`, or never if that is undefined. */
  readonly onEnded?: (error: Error, againMs: number | undefined) => void
}

/** Starts a network's source; undefined if it has none. */
export function startSource(
  network: NetworkConfig,
  { mapBytes, limits }: Pick<Config, 'mapBytes' | 'limits'>,
  listeners: SourceListeners = {},
  ready?: IngestStore['ready'],
): NetworkSource | undefined {
  const { name, isEmbedded, source, gateway, storePath, chainId } = network
  if (source === undefined && gateway === undefined) return undefined
  const genesis = genesisOf(network)
  const history = historyLimits(network.history)
  const store = { storePath, mapBytes, genesis, chainId, isEmbedded, history, ...(ready && { ready }) }
  const task = taskOf(network, store, limits)
  return new NetworkSource(name, task, listeners)
}

/** The source does not yet know which blocks it has to deliver, so it counts as behind. */
const behind: SourceProgress = { startingBlock: undefined, number: 0 }

/** The running source of one network: its ingest thread, and its state for every edge. */
export class NetworkSource extends ChainFeed {
  readonly name: string
  /**
   * Resolves once the network's store can be opened, new or from an earlier run. Rejects if the source ended before;
   * the source may still start again.
   */
  readonly opened: Promise<void>
  /** Resolves when the source has delivered all its blocks; rejects if it failed for good. */
  readonly ingested: Promise<void>
  /** For a source with upstreams, for a developer chain, and under a consensus client. */
  readonly calls = sourceCallsBy((name, args) => this.#thread.call(name, args))
  readonly #task: SourceTask
  readonly #listeners: SourceListeners
  readonly #caughtUp = defer<void>()
  readonly #closing = new AbortController()
  #thread: IngestThread
  /** Figures that the thread sent last; undefined before the first. */
  figures: IngestFigures | undefined
  /**
   * Whether {@link caughtUp} has resolved. Until then the store has blocks of an earlier run, or part of the new ones.
   */
  hasCaughtUp = false

  constructor(name: string, task: SourceTask, listeners: SourceListeners) {
    super({ syncing: behind, opening: 'its source starts' })
    this.name = name
    this.#task = task
    this.#listeners = listeners
    this.#thread = this.#begin()
    // A store on a full disk can still be read.
    this.opened = waitedForLater(
      this.#thread.opened.catch((error) => {
        if (!isRoom(error)) throw error
        this.#publish({ opening: undefined })
      }),
    )
    this.ingested = waitedForLater(this.#run())
    void waitedForLater(this.#caughtUp.promise)
  }

  /**
   * Resolves when the network is up to date: with {@link ingested}, or once a replay comes to the blocks that it plays
   * at intervals.
   */
  get caughtUp(): Promise<void> {
    return this.#caughtUp.promise
  }

  /** Stops the source after the block it is working on; resolves when it has stopped. */
  async close(): Promise<void> {
    this.#closing.abort()
    this.#thread.stop()
    await this.ingested.catch(() => undefined)
  }

  #begin(): IngestThread {
    const { onProgress, onSaid } = this.#listeners
    const thread = startIngest(
      this.#task,
      (progress) => {
        const { number } = progress
        const startingBlock = this.state.syncing?.startingBlock ?? number
        this.#publish({ syncing: { startingBlock, number } })
        onProgress?.(progress)
      },
      {
        onHead: () => this.#onCurrent(),
        onSaid: (text, isError) => {
          this.#waitFor(text)
          onSaid?.(text, isError)
        },
        onFigures: (reported) => {
          this.figures = reported
        },
        onUpstreams: (upstreams) => this.#publish({ upstreams }),
      },
    )
    thread.opened.then(
      () => this.#publish({ opening: undefined, failure: undefined, failureWhy: undefined }),
      () => undefined,
    )
    thread.caughtUp.then(
      () => this.#onCurrent(),
      () => undefined,
    )
    return thread
  }

  /** Resolves once the source has delivered all blocks or was closed. Restarts it if {@link startsAgain} allows. */
  async #run(): Promise<void> {
    for (let pauseMs = pauseMsMin; ; pauseMs = Math.min(2 * pauseMs, pauseMsMax)) {
      const begunMs = performance.now()
      const error = await this.#thread.finished.then(
        () => undefined,
        (thrown: Error) => thrown,
      )
      if (error === undefined) return this.#onCurrent()
      const isBroken = error instanceof StoreError && error.isLasting
      if (this.#closing.signal.aborted && !isBroken) return
      if (performance.now() - begunMs > steadyMs) pauseMs = pauseMsMin
      const againMs = startsAgain(error, this.#task) ? pauseMs : undefined
      this.#waitFor(error.message)
      const failure = againMs === undefined ? 'failed' : 'restarting'
      this.#publish({ failure, failureWhy: error.message })
      this.#listeners.onEnded?.(error, againMs)
      if (againMs === undefined) {
        this.#caughtUp.reject(error)
        throw error
      }
      await sleep(againMs, undefined, { signal: this.#closing.signal }).catch(() => undefined)
      if (this.#closing.signal.aborted) return
      this.#publish({ syncing: behind })
      this.#thread = this.#begin()
    }
  }

  #onCurrent(): void {
    this.hasCaughtUp = true
    this.#publish({ syncing: undefined })
    this.#caughtUp.resolve()
  }

  /** Publishes why the store cannot be opened yet; does nothing once it is open. */
  #waitFor(what: string): void {
    if (this.state.opening !== undefined) this.#publish({ opening: what })
  }

  #publish(change: Partial<SourceState>): void {
    const next = { ...this.state, ...change }
    const isUpToDate = Object.values(next).every((each) => each === undefined)
    this.publish(isUpToDate ? upToDate : next)
  }
}

/** Whether a source that ended with `error` starts again: its nodes are outside the process and may recover. */
function startsAgain(error: Error, task: SourceTask): boolean {
  // A file has the same content the next time, and a replay would take back blocks already served.
  if ('files' in task || 'replay' in task) return false
  if (error instanceof StoreError) return !error.isLasting
  return !(error instanceof OperatorError) || 'upstreams' in task || 'follow' in task
}

function isRoom(error: unknown): boolean {
  return error instanceof StoreError && !error.isLasting
}
