import { feedSchemaOf, type GatewayConfig, historyLimits, type NetworkConfig } from '../config/config.js'
import { type ChainFeed, RelayedFeed, type SourceProgress, upToDate } from '../edge/chainFeed.js'
import { startIngest } from '../ingest/ingestThread.js'
import type { IngestFigures, IngestProgress, IngestStore, UpstreamsState } from '../ingest/messages.js'
import type { FetchMissing } from '../primitives/notHeld.js'
import type { UpstreamCalls } from '../primitives/upstreamCalls.js'
import { genesisOf } from './genesisOf.js'

/** The running source of one network: its ingest thread, and the news of it that every edge gets. */
export interface NetworkSource extends ChainFeed {
  readonly name: string
  /** Resolves once the network's store can be opened. Rejects as {@link ingested} does. */
  readonly opened: Promise<void>
  /** Resolves when the source has delivered all its blocks; rejects where it failed. */
  readonly ingested: Promise<void>
  /**
   * Resolves when the network is up to date: with {@link ingested}, or once a replay has reached the blocks that it
   * plays at intervals.
   */
  readonly caughtUp: Promise<void>
  /** Whether {@link caughtUp} has resolved. Until then its blocks are those of an earlier run, or part of what it has. */
  readonly hasCaughtUp: boolean
  /** Of a gateway; see {@link IngestThread.fetch}. */
  readonly fetch: FetchMissing | undefined
  /** Of a source with upstreams, and of a developer chain. */
  readonly upstreamCalls: UpstreamCalls
  /** What its thread told last; undefined before the first time. */
  readonly figures: IngestFigures | undefined
  /** Stops the source after the block it is working on; resolves when it has stopped. */
  close(): Promise<void>
}

/** Longest time in which one thing is fetched from upstreams; a request's own limit may end it before. */
const fetchMsMax = 20_000

function taskOf(
  { name, source, gateway, forks, chainId, publish, history }: NetworkConfig,
  unpublished: IngestStore,
) {
  const schema = feedSchemaOf(name)
  const store = { ...unpublished, publish: publish && { ...publish, schema: publish.schema ?? schema } }
  if (source === undefined)
    return { ...store, ...(gateway as GatewayConfig), network: name, forks, chainId, fetchMsMax }
  if (source.type === 'file') return { ...store, files: [source.path] }
  if (source.type === 'feed') return { ...store, feed: { ...source, schema: source.schema ?? schema } }
  if (source.type === 'develop') return { ...store, develop: source }
  if (source.type === 'replay') return { ...store, replay: source }
  // A reorganisation goes back no further than the past is kept.
  const reorgDepthMax = Math.min(source.reorgDepthMax, ...Object.values(historyLimits(history)))
  return { ...store, follow: { ...source, reorgDepthMax } }
}

/** Starts a network's source; undefined where it has none. */
export function startSource(
  network: NetworkConfig,
  mapBytes: number,
  onProgress: (progress: IngestProgress) => void,
  onSaid?: (text: string, isError: boolean) => void,
): NetworkSource | undefined {
  const { name, isEmbedded, source, gateway, storePath } = network
  if (source === undefined && gateway === undefined) return undefined
  const genesis = genesisOf(network)
  const { chainId } = network
  const history = historyLimits(network.history)
  const task = taskOf(network, { storePath, mapBytes, genesis, chainId, isEmbedded, history })
  const feed = new RelayedFeed()
  const publish = (hasFailed = false) => {
    feed.publish(
      syncing === undefined && !hasFailed && upstreams === undefined
        ? upToDate
        : { syncing, hasFailed, upstreams },
    )
  }
  const onCurrent = () => {
    syncing = undefined
    hasCaughtUp = true
    publish()
  }
  let hasCaughtUp = false
  // What it has to deliver is not known yet, so that it counts as behind.
  let syncing: SourceProgress | undefined = { startingBlock: undefined, number: 0 }
  let upstreams: UpstreamsState | undefined
  let figures: IngestFigures | undefined
  publish()
  const ingest = startIngest(
    task,
    (progress) => {
      const { number } = progress
      syncing = { startingBlock: syncing?.startingBlock ?? number, number }
      publish()
      onProgress(progress)
    },
    {
      onHead: onCurrent,
      ...(onSaid && { onSaid }),
      onFigures(told) {
        figures = told
      },
      onUpstreams(state) {
        upstreams = state
        publish()
      },
    },
  )
  const caughtUp = ingest.caughtUp.then(onCurrent)
  const ingested = ingest.finished.then(onCurrent, (error) => {
    publish(true)
    throw error
  })
  // Whoever waits for these promises handles a rejection; until then Node must not count it as unhandled.
  caughtUp.catch(() => undefined)
  ingested.catch(() => undefined)
  return {
    name,
    listen: (listener) => feed.listen(listener),
    opened: ingest.opened,
    fetch: gateway && ((wanted, call) => ingest.fetch(wanted, call)),
    upstreamCalls: ingest.upstreamCalls,
    caughtUp,
    get hasCaughtUp() {
      return hasCaughtUp
    },
    ingested,
    get figures() {
      return figures
    },
    async close() {
      ingest.stop()
      await ingested.catch(() => undefined)
    },
  }
}
