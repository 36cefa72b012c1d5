import { setImmediate } from 'node:timers/promises'
import { ForkSchedule, parseGenesisConfig } from '../chain/forks.js'
import { decodeHeader } from '../chain/header.js'
import { InvalidBlockError } from '../evm/executeBlock.js'
import { bytesToBigInt } from '../primitives/bytes.js'
import { OperatorError } from '../primitives/faults.js'
import { ChainWriter } from '../store/chainWriter.js'
import { ChainFileError, fileBytes, readChainFile } from './chainFile.js'
import { type Genesis, parseGenesis } from './genesis.js'
import { BadBlockError, ChainImporter } from './importer.js'
import type { IngestMessage, IngestProgress, IngestTask } from './messages.js'

/** Shortest time between two progress messages; a reader of a bar sees no more. */
const progressMs = 100
/**
 * Longest time without a turn of the event loop. Execution runs on promises that never leave the loop's turn, so
 * without this a message to stop would not arrive before the file ends.
 */
const turnMs = 20

/**
 * Takes a genesis and chain files into a store, block by block, and reports on the way; ends early, after a whole
 * block, once `shouldStop` says so. Throws OperatorError for everything that the operator can mend: a bad block,
 * a damaged file, another chain's store, a full disk. All blocks before the fault stay.
 */
export async function importFiles(
  task: IngestTask,
  report: (message: IngestMessage) => void,
  shouldStop: () => boolean,
): Promise<void> {
  const genesis = task.genesis && readGenesis(task.genesis)
  const store = ChainWriter.openForWriting({ path: task.storePath, mapBytes: task.mapBytes })
  try {
    if (genesis !== undefined && task.genesis !== undefined) {
      store.initialize(genesis.identity, genesis.bundle)
      adoptRules(store, genesis, task.genesis.path)
    }
    const schedule = genesis?.schedule ?? storedSchedule(store)
    report({ type: 'opened' })
    const { progress, stopped } = await takeFiles(task.files, store, schedule, report, shouldStop)
    report({ type: 'finished', progress, stopped })
  } finally {
    await store.close()
  }
}

function readGenesis({ text, path }: NonNullable<IngestTask['genesis']>): Genesis {
  try {
    return parseGenesis(text)
  } catch (error) {
    if (error instanceof RangeError)
      throw new OperatorError(`the genesis ${path} is not usable: ${error.message}`)
    throw error
  }
}

function storedSchedule(store: ChainWriter): ForkSchedule {
  const identity = store.readIdentity()
  if (identity === undefined)
    throw new OperatorError(`the store ${store.path} is new; name its genesis with --genesis FILE`)
  return new ForkSchedule(parseGenesisConfig(JSON.parse(identity.config)))
}

/**
 * A genesis file may get new forks while its hash stays. They are taken over as long as no block of the store would
 * have been made by other rules. Throws OperatorError otherwise.
 */
function adoptRules(store: ChainWriter, { identity, schedule }: Genesis, path: string): void {
  const known = store.readIdentity()
  const head = store.readHead()
  if (known === undefined || head === undefined || known.config === identity.config) return
  const header = store.readHeader(head.hash)
  const total = store.readTotalDifficulty(head.hash)
  if (header === undefined || total === undefined) throw new Error('the head of the store is not whole')
  const before = new ForkSchedule(parseGenesisConfig(JSON.parse(known.config)))
  const difference = schedule.firstDifference(before, {
    number: head.number,
    timestamp: decodeHeader(header).timestamp,
    totalDifficulty: bytesToBigInt(total),
  })
  if (difference !== undefined) {
    throw new OperatorError(
      `the genesis ${path} changes ${difference}, by which blocks of the store ${store.path} up to ${head.number} ` +
        'were made; use the genesis it was made with, or import the chain again into an empty folder',
    )
  }
  store.writeConfig(identity.config)
}

async function takeFiles(
  files: readonly string[],
  store: ChainWriter,
  schedule: ForkSchedule,
  report: (message: IngestMessage) => void,
  shouldStop: () => boolean,
): Promise<{ progress: IngestProgress; stopped: boolean }> {
  const start = performance.now()
  const importer = new ChainImporter(store, schedule)
  const counts = { canonical: 0, known: 0, side: 0 }
  let gas = 0n
  let number = store.readHead()?.number ?? 0
  let bytesRead = 0
  let filesDone = 0
  let reported = start
  let turned = start
  let bytesTotal = 0
  for (const file of files) bytesTotal += await sizeOf(file)
  const snapshot = (): IngestProgress => ({
    number,
    executed: counts.canonical,
    known: counts.known,
    side: counts.side,
    gas: Number(gas),
    bytesRead: filesDone + bytesRead,
    bytesTotal,
    elapsedMs: performance.now() - start,
  })
  for (const file of files) {
    let offset = 0
    try {
      for await (const block of readChainFile(file, (bytes) => {
        bytesRead = bytes
      })) {
        if (shouldStop()) return { progress: snapshot(), stopped: true }
        offset = block.offset
        const result = await importer.importBlock(block.rlp)
        counts[result.outcome]++
        gas += result.gasUsed
        number = result.number
        const now = performance.now()
        if (now - reported >= progressMs) {
          reported = now
          report({ type: 'progress', progress: snapshot() })
        }
        if (now - turned >= turnMs) {
          await setImmediate()
          turned = performance.now()
        }
      }
    } catch (error) {
      throw asOperatorError(error, file, offset)
    }
    filesDone += bytesRead
    bytesRead = 0
  }
  try {
    await importer.finish()
  } catch (error) {
    throw asOperatorError(error, files.at(-1) ?? '', 0)
  }
  return { progress: snapshot(), stopped: false }
}

async function sizeOf(file: string): Promise<number> {
  try {
    return await fileBytes(file)
  } catch (error) {
    throw new OperatorError(`cannot read the chain file ${file}: ${(error as Error).message}`)
  }
}

function asOperatorError(error: unknown, file: string, offset: number): unknown {
  if (error instanceof ChainFileError) return new OperatorError(error.message)
  if (error instanceof BadBlockError || error instanceof InvalidBlockError) {
    return new OperatorError(`${file}: at byte ${offset}: ${error.message}; all blocks before it are kept`)
  }
  return error
}
