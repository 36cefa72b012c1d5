/** `tidegate import`: executes chain files, or the blocks of archives, into a network's store, on the network's ingest thread. */
import { existsSync } from 'node:fs'
import { UsageError } from '../../primitives/faults.js'
import { startIngest } from '../../sources/ingest/thread/ingestThread.js'
import { historyLimits, type ImportConfig } from '../config/config.js'
import { genesisOf } from '../process/genesisOf.js'
import { importView, summaryText } from '../process/importProgress.js'
import type { Io } from '../process/io.js'
import { logLine } from '../process/progressView.js'
import { followImport } from './followImport.js'

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
