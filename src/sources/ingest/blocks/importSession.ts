/**
 * Shared by all sources of blocks: imports the blocks of a file at full speed, counts them, and names file and byte in
 * every fault. Owns neither the order of blocks nor their timing.
 */

import { stat } from 'node:fs/promises'
import type { ChainWriter } from '../../../data/store/chainWriter.js'
import { rowsPerCommit } from '../../../data/store/lmdb/commitRows.js'
import { InvalidBlockError, OperatorError } from '../../../primitives/faults.js'
import type { Publisher } from '../../feed/publisher.js'
import type { IngestMessage, IngestProgress } from '../thread/messages.js'
import { Turns } from '../thread/pace.js'
import { type Block, parseBlock } from './block.js'
import { ChainFileError, type FileBlock } from './chainFile.js'
import { BadBlockError, type ChainImporter, type ImportedBlock } from './importer.js'

/**
 * How long blocks share a transaction during a full-speed import. A flush takes 2 to 25 ms, often longer than executing
 * a block, and pages that many blocks change are written once. After a crash this work is repeated. It is also the time
 * between two progress messages, which only report blocks on disk. The first transaction is short, so that a waiting
 * user sees blocks soon. Each later one is twice as long, up to the longest.
 */
const firstCommitMs = 50
const commitMsMax = 2_000

/** Imports blocks into a store, counts them, and reports progress. */
export class ImportSession {
  /** Bytes of the files read so far, and in all. */
  bytesRead = 0
  bytesTotal = 0
  readonly #start = performance.now()
  readonly #counts = { canonical: 0, known: 0, side: 0 }
  #gas = 0n
  #committed = this.#start
  /** Settles when the last commit is on disk and reported. */
  #flushed: Promise<void> = Promise.resolve()
  #commitMs = firstCommitMs
  readonly #turns = new Turns()

  #number: number
  readonly #importer: ChainImporter
  readonly #store: ChainWriter
  readonly #report: (message: IngestMessage) => void
  readonly #publisher: Publisher | undefined

  /** The importer writes to the store, whose blocks `publisher` publishes. */
  constructor(
    importer: ChainImporter,
    store: ChainWriter,
    report: (message: IngestMessage) => void,
    publisher?: Publisher,
  ) {
    this.#importer = importer
    this.#store = store
    this.#publisher = publisher
    this.#report = report
    this.#number = store.readHead()?.number ?? 0
  }

  /**
   * Imports a block, which is on disk only after {@link commit}. Commits, reports and lets the event loop run at
   * intervals. Before it throws for a bad block, all earlier blocks are on disk.
   */
  async import(block: Block): Promise<ImportedBlock> {
    this.#store.beginBatch()
    let imported: ImportedBlock
    try {
      imported = this.#count(await this.#importer.importBlock(block))
    } catch (error) {
      await this.commit()
      throw error
    }
    const now = performance.now()
    if (now - this.#committed >= this.#commitMs || this.#store.uncommittedRows >= rowsPerCommit) {
      await this.#flushed
      this.#flushed = this.#flush()
      // An error of the commit is thrown at the next commit, which awaits it.
      this.#flushed.catch(() => undefined)
      if (this.#publisher !== undefined) await this.#flushed
      this.#committed = performance.now()
      this.#commitMs = Math.min(2 * this.#commitMs, commitMsMax)
    }
    if (this.#turns.isDue) await this.#turns.take()
    return imported
  }

  /** Settles once all imported blocks are on disk, and the queue of unpublished ones is short enough. */
  async commit(): Promise<void> {
    await this.#flushed
    await this.#store.commitBatch()
    await this.#publisher?.committed()
  }

  /** Commits the blocks imported so far, and reports them when they are on disk. More may be imported meanwhile. */
  async #flush(): Promise<void> {
    const progress = this.progress()
    await this.#store.commitBatch()
    this.#report({ type: 'progress', progress })
    await this.#publisher?.committed()
  }

  /** Imports a block as the new head; it is on disk when this settles. Reports nothing. */
  async play(block: Block): Promise<ImportedBlock> {
    await this.commit()
    const imported = this.#count(await this.#importer.importAsHead(block))
    await this.#publisher?.committed()
    return imported
  }

  /**
   * Replaces the canonical blocks above `forkNumber` by these (RLP), in one transaction that is on disk when this
   * settles. Their bodies must have been compared with their headers. If one of them is bad, or another error occurs,
   * the store is unchanged. Reports nothing.
   */
  async replace(forkNumber: number, blocks: readonly Uint8Array[]): Promise<void> {
    await this.commit()
    this.#store.beginBatch()
    try {
      this.#store.apply(forkNumber, [])
      for (const rlp of blocks) {
        this.#count(await this.#importer.importBlock({ ...parseBlock(rlp), isContentChecked: true }))
      }
    } catch (error) {
      await this.#store.abandonDelayed()
      throw error
    }
    await this.commit()
  }

  /** Returns a callback for the reader of the next file, which gets the bytes read so far. */
  countReads(): (bytes: number) => void {
    const before = this.bytesRead
    return (bytes) => {
      this.bytesRead = before + bytes
    }
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
      bytesTotal: this.bytesTotal,
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

/** Bytes of a chain file. Throws OperatorError if it cannot be read. */
export async function sizeOfFile(file: string): Promise<number> {
  try {
    return (await stat(file)).size
  } catch (error) {
    throw new OperatorError(`cannot read the chain file ${file}: ${(error as Error).message}`)
  }
}

/**
 * Calls `visit` with the blocks of a file, one after the other, until it returns false; resolves to whether it never
 * did. Rejects with OperatorError, which names file and byte, for a damaged file or a bad block.
 */
export async function visitBlocks(
  file: string,
  blocks: AsyncIterable<FileBlock & Pick<Block, 'takeKeys'>>,
  visit: (block: Block) => Promise<boolean>,
): Promise<boolean> {
  let offset = 0
  try {
    for await (const { rlp, takeKeys, ...at } of blocks) {
      offset = at.offset
      if (!(await visit({ ...parseBlock(rlp), takeKeys }))) return false
    }
    return true
  } catch (error) {
    throw asFileFault(error, file, offset)
  }
}

/** An OperatorError for a bad block or file; any other error unchanged. */
export function asFileFault(error: unknown, file: string, offset: number): unknown {
  if (error instanceof ChainFileError) return new OperatorError(error.message)
  if (error instanceof BadBlockError || error instanceof InvalidBlockError) {
    return new OperatorError(`${file}: at byte ${offset}: ${error.message}; all blocks before it are kept`)
  }
  return error
}
