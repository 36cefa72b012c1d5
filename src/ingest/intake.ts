/**
 * What every source of blocks shares: taking the blocks of a file at full speed, counting them, and naming the file
 * and the byte in every fault. Owns no order of blocks and no pace.
 */
import { setImmediate } from 'node:timers/promises'
import { InvalidBlockError } from '../evm/invalidBlock.js'
import { OperatorError } from '../primitives/faults.js'
import type { ChainWriter } from '../store/chainWriter.js'
import { ChainFileError, type FileBlock, fileBytes } from './chainFile.js'
import { BadBlockError, type ChainImporter, type ImportedBlock } from './importer.js'
import type { IngestMessage, IngestProgress } from './messages.js'

/**
 * How long blocks share a transaction while they come at full speed: a flush takes 2 to 25 ms, often longer than the
 * execution of a block, and pages that many blocks change are written once. A process that dies does this work again.
 * Also the time between two progress messages, which report nothing that is not on disk.
 */
const commitMs = 1_000
/** Rows that share one at most: changed pages wait in memory, up to 130 MB of them. */
const rowsPerCommit = 32_768
/**
 * Longest time without a turn of the event loop. Execution runs on promises that never leave the loop's turn, so
 * without this a message to stop would not arrive before the file ends.
 */
const turnMs = 20

/** Takes blocks into a store, counts them, and reports on the way. */
export class Intake {
  /** Bytes of the files taken so far. */
  bytesRead = 0
  readonly #start = performance.now()
  readonly #counts = { canonical: 0, known: 0, side: 0 }
  #gas = 0n
  #committed = this.#start
  #turned = this.#start

  #number: number
  readonly #store: ChainWriter
  readonly #bytesTotal: number
  readonly #report: (message: IngestMessage) => void

  /** `bytesTotal` is the size of all files; the importer writes to the store. */
  constructor(
    readonly importer: ChainImporter,
    store: ChainWriter,
    bytesTotal: number,
    report: (message: IngestMessage) => void,
  ) {
    this.#store = store
    this.#bytesTotal = bytesTotal
    this.#report = report
    this.#number = store.readHead()?.number ?? 0
  }

  /**
   * Takes a block in, which is on disk only after {@link commit}, commits and reports now and then, and gives the
   * event loop its turns. Where a block is bad, all blocks before are on disk.
   */
  async import(rlp: Uint8Array): Promise<ImportedBlock> {
    this.#store.holdCommits()
    let imported: ImportedBlock
    try {
      imported = this.#count(await this.importer.importBlock(rlp))
    } catch (error) {
      await this.commit()
      throw error
    }
    const now = performance.now()
    if (now - this.#committed >= commitMs || this.#store.heldRows >= rowsPerCommit) {
      await this.commit()
      this.#committed = performance.now()
      this.#report({ type: 'progress', progress: this.progress() })
    }
    if (now - this.#turned >= turnMs) {
      await setImmediate()
      this.#turned = performance.now()
    }
    return imported
  }

  /** Settles once all that was taken in is on disk. */
  commit(): Promise<void> {
    return this.#store.commitHeld()
  }

  /** Takes a block in as the one that is to be the head, on disk when this settles, and reports nothing. */
  async play(rlp: Uint8Array): Promise<ImportedBlock> {
    await this.commit()
    return this.#count(await this.importer.playBlock(rlp))
  }

  progress(): IngestProgress {
    const { canonical, known, side } = this.#counts
    return {
      number: this.#number,
      executed: canonical,
      known,
      side,
      gas: Number(this.#gas),
      bytesRead: this.bytesRead,
      bytesTotal: this.#bytesTotal,
      elapsedMs: performance.now() - this.#start,
    }
  }

  #count(imported: ImportedBlock): ImportedBlock {
    this.#counts[imported.outcome]++
    this.#gas += imported.gasUsed
    this.#number = imported.number
    return imported
  }
}

/** Bytes of a chain file. Throws OperatorError where it cannot be read. */
export async function sizeOfFile(file: string): Promise<number> {
  try {
    return await fileBytes(file)
  } catch (error) {
    throw new OperatorError(`cannot read the chain file ${file}: ${(error as Error).message}`)
  }
}

/**
 * Hands `blocks`, which are those of a file, to `visit`, one after the other, until it says false; resolves to whether
 * it never did. Throws OperatorError, naming file and byte, for a file that is damaged and for the block that `visit`
 * finds bad.
 */
export async function visitBlocks<B extends FileBlock>(
  file: string,
  blocks: AsyncIterable<B>,
  visit: (block: B) => Promise<boolean>,
): Promise<boolean> {
  let offset = 0
  try {
    for await (const block of blocks) {
      offset = block.offset
      if (!(await visit(block))) return false
    }
    return true
  } catch (error) {
    throw asFileFault(error, file, offset)
  }
}

/** A bad block or file as a fault that the operator can mend; anything else as it is. */
export function asFileFault(error: unknown, file: string, offset: number): unknown {
  if (error instanceof ChainFileError) return new OperatorError(error.message)
  if (error instanceof BadBlockError || error instanceof InvalidBlockError) {
    return new OperatorError(`${file}: at byte ${offset}: ${error.message}; all blocks before it are kept`)
  }
  return error
}
