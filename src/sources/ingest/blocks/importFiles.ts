import { blockRlp } from '../../../data/chain/blockRows.js'
import { EraFileError } from '../era/e2store.js'
import { EraFile } from '../era/eraFile.js'
import type { IngestTask } from '../thread/messages.js'
import { publishFigures } from '../thread/publishFigures.js'
import { noProgress, runSource, type SourceHost } from '../thread/runSource.js'
import { ChainFileError, type FileBlock, readChainFile } from './chainFile.js'
import { asFileFault, sizeOfFile, visitBlocks } from './importSession.js'
import { bytesWorthThread, withKeysAhead } from './keysAhead.js'

/**
 * Imports a genesis, or the state after a block, and the blocks of chain files or archives, block by block. Reports
 * progress. Ends early, after a whole block, once the signal is aborted. Rejects with OperatorError for a bad block, a
 * damaged file, the store of another chain, or a full disk. All blocks before the fault are kept.
 */
export async function importFiles(task: IngestTask, host: SourceHost): Promise<void> {
  const { files } = task
  if (task.start !== undefined) {
    const { makeStart } = await import('../start/makeStart.js')
    if (!(await makeStart(task, task.start, host)))
      return host.report({ type: 'finished', progress: noProgress, stopped: true })
  }
  return runSource(task, host, async ({ store, importer, session, onEnd }) => {
    host.report({ type: 'opened' })
    const fileBytes: number[] = []
    for (const file of files) fileBytes.push(await sizeOfFile(file))
    session.bytesTotal = fileBytes.reduce((sum, bytes) => sum + bytes, 0)
    onEnd(publishFigures(host.report, { store, importer }))
    const readBlocks = task.areArchives ? readArchiveBlocks : readChainFile
    for (const [index, file] of files.entries()) {
      const bytesBefore = (fileBytes[index] as number) < bytesWorthThread ? bytesWorthThread : 0
      const blocks = withKeysAhead(readBlocks(file, session.countReads()), store, bytesBefore)
      const isWhole = await visitBlocks(file, blocks, async (block) => {
        if (host.signal.aborted) return false
        await session.import(block)
        return true
      })
      if (!isWhole) return
    }
    await session.commit()
    try {
      await importer.finish()
    } catch (error) {
      throw asFileFault(error, files.at(-1) ?? '', 0)
    }
  })
}

/**
 * Blocks of an archive in the form of chain files, in order, for a network that executes them: receipts and total
 * difficulties are computed again. `onRead` gets the bytes of the file done so far. Throws {@link ChainFileError}.
 */
async function* readArchiveBlocks(
  path: string,
  onRead: (bytes: number) => void = () => undefined,
): AsyncGenerator<FileBlock> {
  let archive: EraFile | undefined
  try {
    archive = new EraFile(path)
    let done = 0
    for (const { header, body, offsets } of archive.blocks()) {
      yield { rlp: blockRlp(header, body), offset: offsets.header }
      onRead(Math.floor((archive.file.bytes * ++done) / archive.count))
    }
  } catch (error) {
    throw error instanceof EraFileError ? new ChainFileError(error.message) : error
  } finally {
    archive?.close()
  }
}
