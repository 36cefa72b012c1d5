import type { ForkSchedule } from '../chain/forks.js'
import type { Publisher } from '../feed/publisher.js'
import type { ChainWriter } from '../store/chainWriter.js'
import { readChainFile } from './chainFile.js'
import { readArchiveBlocks } from './era/archiveBlocks.js'
import type { OpenPublisher } from './feed/publishSource.js'
import { ChainImporter } from './importer.js'
import { asFileFault, Intake, sizeOfFile, visitBlocks } from './intake.js'
import { bytesWorthThread, withKeysAhead } from './keysAhead.js'
import type { IngestMessage, IngestProgress, IngestTask } from './messages.js'
import { publishFigures } from './publishFigures.js'
import { closePublished, openTaskStore } from './taskStore.js'

/**
 * Imports a genesis and chain files, or the blocks of archives, into a store, block by block, and reports progress. Ends early, after a whole
 * block, once `shouldStop` returns true. Throws OperatorError for a bad block, a damaged file, the store of another
 * chain, or a full disk. All blocks before the fault stay. `openPublisher` is called once the
 * store is open.
 */
export async function importFiles(
  task: IngestTask,
  report: (message: IngestMessage) => void,
  shouldStop: () => boolean,
  openPublisher: OpenPublisher = () => undefined,
): Promise<void> {
  const { store, schedule } = await openTaskStore(task, report)
  let publisher: Publisher | undefined
  try {
    report({ type: 'opened' })
    publisher = openPublisher(store)
    const { progress, stopped } = await takeFiles(task, store, schedule, report, shouldStop, publisher)
    report({ type: 'finished', progress, stopped })
  } finally {
    await closePublished(store, publisher)
  }
}

async function takeFiles(
  task: IngestTask,
  store: ChainWriter,
  schedule: ForkSchedule,
  report: (message: IngestMessage) => void,
  shouldStop: () => boolean,
  publisher: Publisher | undefined,
): Promise<{ progress: IngestProgress; stopped: boolean }> {
  const fileBytes: number[] = []
  for (const file of task.files) fileBytes.push(await sizeOfFile(file))
  const importer = new ChainImporter(store, schedule)
  const endFigures = publishFigures(report, { store, importer })
  try {
    return await takeBlocks(task, { importer, store, fileBytes, publisher }, report, shouldStop)
  } finally {
    endFigures()
  }
}

interface Taking {
  readonly importer: ChainImporter
  readonly store: ChainWriter
  /** Of each file. */
  readonly fileBytes: readonly number[]
  readonly publisher: Publisher | undefined
}

async function takeBlocks(
  { files, areArchives }: IngestTask,
  { importer, store, fileBytes, publisher }: Taking,
  report: (message: IngestMessage) => void,
  shouldStop: () => boolean,
): Promise<{ progress: IngestProgress; stopped: boolean }> {
  const bytesTotal = fileBytes.reduce((sum, bytes) => sum + bytes, 0)
  const intake = new Intake(importer, store, bytesTotal, report, publisher)
  const readBlocks = areArchives ? readArchiveBlocks : readChainFile
  for (const [index, file] of files.entries()) {
    const readBefore = intake.bytesRead
    const onRead = (bytes: number) => {
      intake.bytesRead = readBefore + bytes
    }
    const bytesBefore = (fileBytes[index] as number) < bytesWorthThread ? bytesWorthThread : 0
    const blocks = withKeysAhead(readBlocks(file, onRead), store, bytesBefore)
    const isWhole = await visitBlocks(file, blocks, async ({ rlp, takeKeys }) => {
      if (shouldStop()) return false
      if (takeKeys !== undefined) importer.keys.hold(await takeKeys())
      await intake.import(rlp)
      return true
    })
    if (!isWhole) {
      await intake.commit()
      return { progress: intake.progress(), stopped: true }
    }
  }
  await intake.commit()
  try {
    await importer.finish()
  } catch (error) {
    throw asFileFault(error, files.at(-1) ?? '', 0)
  }
  return { progress: intake.progress(), stopped: false }
}
