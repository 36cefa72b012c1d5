import { Packr } from 'msgpackr'
import { bytesToBigInt, type Hash32, readUint64, toHash32 } from '../../primitives/bytes.js'
import { OperatorError } from '../../primitives/faults.js'
import { type BlockName, type ChainIdentity, type Epoch, storeKindOf } from './chainRows.js'
import { ChainWriter, type ChainWriterOptions, type HistoryRows } from './chainWriter.js'
import { removePlaces } from './layouts/locations.js'
import { unpackReceipts } from './layouts/packedReceipts.js'
import { cutFromLogIndex } from './logIndex.js'
import { StoredBlock } from './storedBlock.js'
import { metaKeys, numberKey } from './tables.js'

/** The newest block of a store, with the data that the next one builds on. */
export interface HistoryHead extends BlockName {
  readonly totalDifficulty: bigint
}

const packr = new Packr({ useRecords: false })

/**
 * The writer of a store with blocks and receipts only. Blocks are added above the head, in as many transactions as
 * needed. The head moves when an epoch is complete and verified. Blocks that a dead process left above the head are
 * dropped.
 */
export class HistoryWriter extends ChainWriter {
  static override open(options: ChainWriterOptions): HistoryWriter {
    return HistoryWriter.openForWriting(options) as HistoryWriter
  }

  /**
   * Binds the store to this history, and drops blocks above its head. Returns the head; undefined for a store without
   * blocks. Throws OperatorError if it is of another chain, or has state.
   */
  begin(identity: ChainIdentity): HistoryHead | undefined {
    const known = this.readIdentity()
    if (known !== undefined) this.#requireSame(known, identity)
    this.#dropAboveHead()
    const head = this.readHead()
    if (head !== undefined)
      return { ...head, totalDifficulty: bytesToBigInt(this.readTotalDifficulty(head.hash) as Hash32) }
    this.commit(() => this.putIdentity(identity))
    return undefined
  }

  #requireSame(known: ChainIdentity, identity: ChainIdentity): void {
    if (storeKindOf(known).state !== 'none') {
      throw new OperatorError(
        `the store ${this.path} has state, which archives of history do not have; import them into a network of kind "history"`,
      )
    }
    if (known.genesisHash !== identity.genesisHash) {
      throw new OperatorError(
        `the store ${this.path} is of the chain with genesis ${known.genesisHash}, not ${identity.genesisHash}; use another data folder`,
      )
    }
  }

  /** Adds the next block above the head and returns its size in bytes. On disk after {@link commitBatch}. */
  add(block: HistoryRows): number {
    this.beginBatch()
    this.writeHistory(block)
    const { header, body, senders, receipts } = block
    return header.length + body.length + senders.length + (receipts?.length ?? 0)
  }

  /**
   * Makes the last added block the head; all blocks of its epoch must be present and verified. Settles when it is on
   * disk.
   */
  async seal(epoch: number, sealed: Epoch, head: BlockName): Promise<void> {
    this.commit(() => {
      this.tables.meta.putSync(metaKeys.epoch(epoch), packr.pack(sealed))
      this.putHead(head)
    })
    await this.commitBatch()
  }

  /** Drops blocks that were added but not sealed. */
  async drop(): Promise<void> {
    // A small epoch is in one open transaction, which is dropped as a whole.
    await this.abandonDelayed()
    this.#dropAboveHead()
  }

  #dropAboveHead(): void {
    const head = this.readHead()?.number
    const lowest = head === undefined ? 0 : head + 1
    const range = { start: numberKey(lowest) }
    const numbers = [...this.tables.blocks.getRange(range)].map(({ key }) => readUint64(key, 0))
    if (numbers.length === 0) return
    this.commit(() => {
      for (const number of numbers.reverse()) this.#dropBlock(number)
    })
  }

  #dropBlock(number: number): void {
    const { blocks, numbers, bodies, receipts, accessLists, logs } = this.tables
    const row = blocks.getBinary(numberKey(number))
    if (row === undefined) return
    const block = new StoredBlock(Uint8Array.from(row))
    const hash = toHash32(block.hash)
    const written = receipts.getBinary(hash)
    if (written !== undefined) cutFromLogIndex(logs, unpackReceipts(written, true), number)
    removePlaces(this.tables.locations, block.senders)
    receipts.removeSync(hash)
    accessLists.removeSync(hash)
    bodies.removeSync(hash)
    numbers.removeSync(hash)
    blocks.removeSync(numberKey(number))
  }
}
