import { readFileSync } from 'node:fs'
import type { GatewayConfig, NetworkConfig } from '../config/config.js'
import { type ChainFeed, RelayedFeed, type SourceProgress, upToDate } from '../edge/chainFeed.js'
import { startIngest } from '../ingest/ingestThread.js'
import type { IngestProgress } from '../ingest/messages.js'
import type { Wanted } from '../primitives/notHeld.js'
import type { OnUpgrade } from '../store/upgrade.js'

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
  /** Of a gateway; see {@link IngestThread.fetch}. */
  readonly fetch: ((wanted: Wanted) => Promise<boolean>) | undefined
  /** Stops the source after the block it is working on; resolves when it has stopped. */
  close(): Promise<void>
}

/** Longest time in which one thing is fetched from upstreams; a request's own limit may end it before. */
const fetchMsMax = 20_000

/** Starts a network's source; undefined where it has none. */
export function startSource(
  { name, source, gateway, chainId, genesisPath, storePath }: NetworkConfig,
  mapBytes: number,
  onProgress: (progress: IngestProgress) => void,
  onUpgrade?: OnUpgrade,
  onSaid?: (text: string) => void,
): NetworkSource | undefined {
  if (source === undefined && gateway === undefined) return undefined
  const genesis =
    genesisPath === undefined ? undefined : { text: readFileSync(genesisPath, 'utf8'), path: genesisPath }
  const store = { storePath, mapBytes, genesis, chainId }
  const task =
    source === undefined
      ? { ...store, ...(gateway as GatewayConfig), network: name, fetchMsMax }
      : source.type === 'file'
        ? { ...store, files: [source.path] }
        : { ...store, replay: source }
  const feed = new RelayedFeed()
  const onCurrent = () => {
    syncing = undefined
    feed.publish(upToDate)
  }
  let syncing: SourceProgress | undefined
  const ingest = startIngest(
    task,
    (progress) => {
      const { number } = progress
      syncing = { startingBlock: syncing?.startingBlock ?? number, number }
      feed.publish({ syncing, hasFailed: false })
      onProgress(progress)
    },
    onCurrent,
    onUpgrade,
    undefined,
    onSaid,
  )
  const caughtUp = ingest.caughtUp.then(onCurrent)
  const ingested = ingest.finished.then(onCurrent, (error) => {
    feed.publish({ syncing, hasFailed: true })
    throw error
  })
  // Whoever waits for these promises handles a rejection; until then Node must not count it as unhandled.
  caughtUp.catch(() => undefined)
  ingested.catch(() => undefined)
  return {
    name,
    listen: (listener) => feed.listen(listener),
    opened: ingest.opened,
    fetch: gateway && ((wanted) => ingest.fetch(wanted)),
    caughtUp,
    ingested,
    async close() {
      ingest.stop()
      await ingested.catch(() => undefined)
    },
  }
}
