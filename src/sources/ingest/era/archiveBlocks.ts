import { blockRlp } from '../../../data/chain/blockRows.js'
import { ChainFileError, type FileBlock } from '../chainFile.js'
import { EraFileError } from './e2store.js'
import { EraFile } from './eraFile.js'

/**
 * Blocks of an archive as chain files have them, in order, for a network that executes them: receipts and total
 * difficulties are made anew. `onRead` gets the bytes of the file done so far. Throws {@link ChainFileError}.
 */
export async function* readArchiveBlocks(
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
