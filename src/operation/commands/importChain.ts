/** `tidegate import`: executes chain files, or the blocks of archives, into a network's store, on the network's ingest thread. */
import { existsSync } from 'node:fs'
import { UsageError } from '../../primitives/faults.js'
import { type IngestThread, startIngest } from '../../sources/ingest/thread/ingestThread.js'
import type { IngestProgress } from '../../sources/ingest/thread/messages.js'
import { historyLimits, type ImportConfig } from '../config/config.js'
import { genesisOf } from '../process/genesisOf.js'
import { importView, progressFields, summaryText } from '../process/importProgress.js'
import { logLine, type ProgressView } from '../process/progressView.js'
import { type Io, onInterrupt } from '../process/terminal.js'

/** Imports; resolves to the exit status: 1 if it was interrupted before the files ended. */
export async function importChain(config: ImportConfig, io: Io): Promise<number> {
  const { network } = config
  if (network.genesisPath === undefined && !existsSync(network.storePath)) {
    throw new UsageError(`network ${network.name} has no store yet; name its genesis with --genesis FILE`)
  }
  const view = importView(network.name, (fields) => io.err(logLine(fields)))
  const thread = startIngest(
    {
      storePath: network.storePath,
      history: historyLimits(network.history),
      ready: config.ready,
      mapBytes: config.mapBytes,
      genesis: genesisOf(network),
      chainId: network.chainId,
      files: config.chainPaths,
      areArchives: config.areArchives,
      start: config.start,
    },
    (progress) => view.update(progress),
    {
      onSaid(text) {
        view.clear()
        io.err(text)
      },
    },
  )
  return followImport(thread, network.name, { view, io, summary: summaryText })
}

/**
 * Waits for a running import, and prints its outcome by `summary`. Resolves to the exit status: 1 if it was interrupted
 * before all was imported. Rejects as {@link IngestThread.finished} does.
 */
export async function followImport(
  thread: IngestThread,
  network: string,
  {
    view,
    io,
    summary,
  }: {
    readonly view: Pick<ProgressView<never>, 'clear'>
    readonly io: Io
    readonly summary: (network: string, progress: IngestProgress, stopped: boolean) => string
  },
): Promise<number> {
  const release = onInterrupt(() => thread.stop())
  try {
    const { progress, stopped } = await thread.finished
    view.clear()
    if (!process.stderr.isTTY) io.err(logLine(progressFields(network, progress)))
    io.out(summary(network, progress, stopped))
    return stopped ? 1 : 0
  } catch (error) {
    view.clear()
    throw error
  } finally {
    release()
  }
}
