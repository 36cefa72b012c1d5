import { readFileSync } from 'node:fs'
import type { NetworkConfig } from '../config/config.js'
import { type ChainFeed, RelayedFeed, type SourceProgress, upToDate } from '../edge/chainFeed.js'
import { startIngest } from '../ingest/ingestThread.js'
import type { IngestProgress } from '../ingest/messages.js'

/** The running source of one network: its ingest thread, and what every edge is sent of it. */
export interface NetworkSource extends ChainFeed {
  readonly name: string
  /** Settles once the network's store can be opened. Rejects like {@link ingested}. */
  readonly opened: Promise<void>
  /** Settles when the source has delivered all it has; rejects where it failed. */
  readonly ingested: Promise<void>
  /** Settles when the network is as callers expect it: with {@link ingested}, or once a replay keeps its pace. */
  readonly caughtUp: Promise<void>
  /** Stops the source after the block in hand; resolves when it has. */
  close(): Promise<void>
}

/** Starts a network's source; undefined where it has none. */
export function startSource(
  { name, source, genesisPath, storePath }: NetworkConfig,
  mapBytes: number,
  onProgress: (progress: IngestProgress) => void,
): NetworkSource | undefined {
  if (source === undefined) return undefined
  const genesis =
    genesisPath === undefined ? undefined : { text: readFileSync(genesisPath, 'utf8'), path: genesisPath }
  const store = { storePath, mapBytes, genesis }
  const task = source.type === 'file' ? { ...store, files: [source.path] } : { ...store, replay: source }
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
  )
  const caughtUp = ingest.caughtUp.then(onCurrent)
  const ingested = ingest.finished.then(onCurrent, (error) => {
    feed.publish({ syncing, hasFailed: true })
    throw error
  })
  // Reported by whoever waits for them; until then they must not count as unhandled.
  caughtUp.catch(() => undefined)
  ingested.catch(() => undefined)
  return {
    name,
    listen: (listener) => feed.listen(listener),
    opened: ingest.opened,
    caughtUp,
    ingested,
    async close() {
      ingest.stop()
      await ingested.catch(() => undefined)
    },
  }
}
