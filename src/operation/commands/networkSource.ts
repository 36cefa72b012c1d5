import { setTimeout as sleep } from 'node:timers/promises'
import { StoreError } from '../../data/store/environment.js'
import { defer, waitedForLater } from '../../primitives/deferred.js'
import { smallest } from '../../primitives/extremes.js'
import { OperatorError } from '../../primitives/faults.js'
import { sourceCallsBy } from '../../primitives/upstreamCalls.js'
import { type IngestThread, startIngest } from '../../sources/ingest/ingestThread.js'
import type { IngestFigures, IngestProgress, IngestStore, SourceTask } from '../../sources/ingest/messages.js'
import { feedSchemaOf, type GatewayConfig, historyLimits, type NetworkConfig } from '../config/config.js'
import { ChainFeed, type SourceProgress, type SourceState, upToDate } from '../edge/chainFeed.js'
import { genesisOf } from './genesisOf.js'

/**
 * Wait before a source that ended is started again: at first, and at most; doubled each time. A node that restarts is back
 * within some seconds, and what lasts is looked at once a minute at the cost of starting a thread.
 */
const pauseMsMin = 1_000
const pauseMsMax = 60_000
/** A source that ran so long did not fail for what made it fail before. */
const steadyMs = 5 * 60_000

/** Longest time in which one thing is fetched from upstreams; a request's own limit may end it before. */
const fetchMsMax = 20_000

function taskOf(
  { name, source, gateway, forks, chainId, publish, history }: NetworkConfig,
  unpublished: IngestStore,
): SourceTask {
  const schema = feedSchemaOf(name)
  const store = { ...unpublished, publish: publish && { ...publish, schema: publish.schema ?? schema } }
  if (source === undefined)
    return { ...store, ...(gateway as GatewayConfig), network: name, forks, chainId, fetchMsMax }
  if (source.type === 'file') return { ...store, files: [source.path] }
  if (source.type === 'feed') return { ...store, feed: { ...source, schema: source.schema ?? schema } }
  if (source.type === 'develop') return { ...store, develop: source }
  if (source.type === 'replay') return { ...store, replay: source }
  // A reorganisation goes back no further than the past is kept.
  const reorgDepthMax = smallest([source.reorgDepthMax, ...Object.values(historyLimits(history))])
  return { ...store, follow: { ...source, reorgDepthMax } }
}

interface SourceListeners {
  readonly onProgress?: (progress: IngestProgress) => void
  readonly onSaid?: (text: string, isError: boolean) => void
  /** The source ended with an error; it starts again after so long, or never where that is undefined. */
  readonly onEnded?: (error: Error, againMs: number | undefined) => void
}

/** Starts a network's source; undefined where it has none. */
export function startSource(
  network: NetworkConfig,
  mapBytes: number,
  listeners: SourceListeners = {},
): NetworkSource | undefined {
  const { name, isEmbedded, source, gateway, storePath, chainId } = network
  if (source === undefined && gateway === undefined) return undefined
  const genesis = genesisOf(network)
  const history = historyLimits(network.history)
  const task = taskOf(network, { storePath, mapBytes, genesis, chainId, isEmbedded, history })
  return new NetworkSource(name, task, listeners)
}

/** What it has to deliver is not known yet, so that it counts as behind. */
const behind: SourceProgress = { startingBlock: undefined, number: 0 }

/** The running source of one network: its ingest thread, and the news of it that every edge gets. */
export class NetworkSource extends ChainFeed {
  readonly name: string
  /**
   * Resolves once the network's store can be opened, for the first time or as an earlier run left it. Rejects where the
   * source ended before; then it may be started again nevertheless.
   */
  readonly opened: Promise<void>
  /** Resolves when the source has delivered all its blocks; rejects where it failed for good. */
  readonly ingested: Promise<void>
  /** Of a source with upstreams, and of a developer chain. */
  readonly calls = sourceCallsBy((name, args) => this.#thread.call(name, args))
  readonly #task: SourceTask
  readonly #listeners: SourceListeners
  readonly #caughtUp = defer<void>()
  readonly #closing = new AbortController()
  #thread: IngestThread
  /** What its thread told last; undefined before the first time. */
  figures: IngestFigures | undefined
  /** Whether {@link caughtUp} has resolved. Until then its blocks are those of an earlier run, or part of what it has. */
  hasCaughtUp = false

  constructor(name: string, task: SourceTask, listeners: SourceListeners) {
    super({ syncing: behind, opening: 'its source starts' })
    this.name = name
    this.#task = task
    this.#listeners = listeners
    this.#thread = this.#begin()
    // What is stored can be served where nothing can be added.
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
   * Resolves when the network is up to date: with {@link ingested}, or once a replay has reached the blocks that it
   * plays at intervals.
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
        onFigures: (told) => {
          this.figures = told
        },
        onUpstreams: (upstreams) => this.#publish({ upstreams }),
      },
    )
    thread.opened.then(
      () => this.#publish({ opening: undefined, failure: undefined }),
      () => undefined,
    )
    thread.caughtUp.then(
      () => this.#onCurrent(),
      () => undefined,
    )
    return thread
  }

  /** Resolves once the source has delivered all, or was closed; it is started again where it may be. */
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
      this.#publish({ failure: againMs === undefined ? 'failed' : 'restarting' })
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

  /** Says why the store cannot be opened, as long as it cannot be. */
  #waitFor(what: string): void {
    if (this.state.opening !== undefined) this.#publish({ opening: what })
  }

  #publish(change: Partial<SourceState>): void {
    const next = { ...this.state, ...change }
    const isUpToDate = Object.values(next).every((each) => each === undefined)
    this.publish(isUpToDate ? upToDate : next)
  }
}

/** Whether a source that ended with `error` is started again: what it lives on is outside, and may be mended there. */
function startsAgain(error: Error, task: SourceTask): boolean {
  // What files have is the same the next time, and a replay would take back what was served.
  if ('files' in task || 'replay' in task) return false
  if (error instanceof StoreError) return !error.isLasting
  return !(error instanceof OperatorError) || 'upstreams' in task || 'follow' in task
}

function isRoom(error: unknown): boolean {
  return error instanceof StoreError && !error.isLasting
}
