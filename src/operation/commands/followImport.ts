import type { IngestThread } from '../../sources/ingest/thread/ingestThread.js'
import type { IngestProgress } from '../../sources/ingest/thread/messages.js'
import { progressFields } from '../process/importProgress.js'
import { onInterrupt } from '../process/interrupt.js'
import type { Io } from '../process/io.js'
import { logLine, type ProgressView } from '../process/progressView.js'

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
