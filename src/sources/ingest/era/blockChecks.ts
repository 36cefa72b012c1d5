/**
 * Checks that the blocks of an archive form a chain. Compares each header's hash, number, parent and total difficulty,
 * and the roots of its body and receipts. Executes nothing. Accumulators (importArchives.ts) and links show that the
 * blocks belong to the network.
 */
import type { ForkSchedule } from '../../../data/chain/forks.js'
import { decodeHeader, type Header, headerHash } from '../../../data/chain/header.js'
import { BlockParts, expectHash } from '../../../execution/evm/blocks/blockParts.js'
import type { Hash32 } from '../../../primitives/bytes.js'
import { RlpError } from '../../../primitives/rlp.js'
import type { BlockRecord, EraBlock, EraFile } from './eraFile.js'

/** The parent of the next block. */
export interface PreviousBlock {
  readonly number: number
  readonly hash: Hash32
  /** Total difficulty up to and including the block. */
  readonly totalDifficulty: bigint
}

/** A block whose parts match each other. */
export interface CheckedBlock extends PreviousBlock {
  readonly header: Header
  /** Sender (20 bytes) ‖ transaction hash (32 bytes), per transaction. */
  readonly senders: Uint8Array
}

/** Checks the blocks of one archive, in order. Throws EraFileError that names record, byte and both values. */
export class BlockChecks {
  readonly #parts: BlockParts
  readonly #archive: EraFile
  readonly #schedule: ForkSchedule

  constructor(archive: EraFile, schedule: ForkSchedule) {
    this.#archive = archive
    this.#schedule = schedule
    this.#parts = new BlockParts(schedule)
  }

  /** Checks one block. `previous` is undefined if the previous block is not known. */
  check(block: EraBlock, number: number, previous: PreviousBlock | undefined): CheckedBlock {
    const header = this.#read('header', block, () => decodeHeader(block.header))
    const hash = headerHash(block.header)
    this.#expect('header', block, 'number', header.number, number)
    if (previous !== undefined) {
      const fault = (what: string) => this.#archive.fault('header', block, what)
      expectHash(fault, 'parent', header.parentHash, previous.hash)
    }
    const totalDifficulty = this.#total(block, header, previous)
    const isMerged = header.number > 0 && this.#schedule.isMerged(totalDifficulty - header.difficulty)
    const senders = checkParts(this.#parts, this.#archive, block, header, isMerged)
    return { number, hash, header, totalDifficulty, senders }
  }

  #total(block: EraBlock, header: Header, previous: PreviousBlock | undefined): bigint {
    if (previous !== undefined) {
      const sum = previous.totalDifficulty + header.difficulty
      if (block.totalDifficulty !== undefined) {
        this.#expect('total difficulty', block, 'total difficulty', block.totalDifficulty, sum)
      }
      return sum
    }
    // Archives of a chain that is merged from genesis on never have totals.
    const isMergedGenesis = header.number === 0 && this.#schedule.isMerged(0n)
    const total = block.totalDifficulty ?? (isMergedGenesis ? header.difficulty : undefined)
    if (total === undefined) {
      throw this.#archive.fault(
        'header',
        block,
        'begins an archive without total difficulties; import the archive before it first',
      )
    }
    if (total < header.difficulty) {
      throw this.#archive.fault(
        'total difficulty',
        block,
        `has the total difficulty ${total}, less than the block's own ${header.difficulty}`,
      )
    }
    return total
  }

  #read<T>(record: BlockRecord, block: EraBlock, read: () => T): T {
    try {
      return read()
    } catch (error) {
      if (!(error instanceof RlpError)) throw error
      throw this.#archive.fault(record, block, `is not what it should be: ${error.message}`)
    }
  }

  #expect(record: BlockRecord, block: EraBlock, field: string, got: unknown, want: unknown): void {
    if (got === want) return
    throw this.#archive.fault(record, block, `has the ${field} ${got}, expected ${want}`)
  }
}

/** Checks body and receipts against a header; returns the senders in the form of a store's row. Throws EraFileError. */
export function checkParts(
  parts: BlockParts,
  archive: EraFile,
  block: EraBlock,
  header: Header,
  isMerged: boolean,
): Uint8Array {
  const fault = (part: BlockRecord, what: string) => archive.fault(part, block, what)
  const senders = parts.checkBody(block.body, header, isMerged, fault)
  if (block.receipts !== undefined) parts.checkReceipts(block.receipts, header, fault)
  return senders
}
