/**
 * Archives of up to 8,192 blocks with their receipts: era1 (before the Merge) and its successor ere, as in
 * go-ethereum's internal/era. Owns the two formats; blockChecks.ts checks the blocks.
 *
 *   era1 := version | (header | body | receipts | total difficulty)* | other* | accumulator | block index
 *   ere  := version | header* | body* | slim receipts* | total difficulty* | proof* | other* | accumulator? |
 *           component index
 *
 * An ere file may lack receipts, total difficulties and proofs, as its profile says. One block is in memory at a
 * time.
 */

import { epochBlocks } from '../../../data/ssz/verifyHeaderProof.js'
import { bytesToBigInt, type Hash32, toHash32 } from '../../../primitives/bytes.js'
import { RlpError } from '../../../primitives/rlp.js'
import {
  E2storeFile,
  EraFileError,
  RecordCursor,
  type RecordName,
  recordHeaderBytes,
  recordName,
  recordTypes,
} from './e2store.js'
import { inlineToRow, slimToRow } from './receiptForms.js'

/** A block of an archive, unchecked. */
export interface EraBlock {
  /** RLP. */
  readonly header: Uint8Array
  /** RLP list: transactions, uncles and, since Shanghai, withdrawals. */
  readonly body: Uint8Array
  /** RLP list of byte strings, each a receipt in consensus encoding. */
  readonly receipts: Uint8Array | undefined
  readonly totalDifficulty: bigint | undefined
  /** Offsets of its records in the file. */
  readonly offsets: { readonly [R in BlockRecord]: number }
}

/** Records that each block has once. */
export type BlockRecord = 'header' | 'body' | 'receipts' | 'total difficulty'

/** The receipts record of either format. */
const receiptRecords = ['receipts', 'slim receipts'] as const

/** An archive, open for reading; all faults are {@link EraFileError}s. */
export class EraFile {
  readonly file: E2storeFile
  readonly first: number
  /** Blocks in it, 1 to 8,192. */
  readonly count: number
  /** The root that it has for its epoch; undefined without one, as after the Merge. */
  readonly accumulator: Hash32 | undefined
  /** Offset of its record in the file, if there is one. */
  readonly accumulatorOffset: number
  readonly #index: BlockIndex

  constructor(path: string) {
    this.file = new E2storeFile(path)
    try {
      const version = new RecordCursor(this.file, 0).expect('version')
      if (version.data.length !== 0) throw this.file.fault('version', 0, 'is not empty')
      this.#index = readIndex(this.file)
      this.first = this.#index.first
      this.count = this.#index.count
      this.accumulatorOffset = this.#index.offset - recordHeaderBytes - 32
      this.accumulator = readAccumulator(this.file, this.accumulatorOffset)
    } catch (error) {
      this.file.close()
      throw error
    }
  }

  get hasReceipts(): boolean {
    return this.#index.records.some((name) => receiptRecords.some((known) => known === name))
  }

  close(): void {
    this.file.close()
  }

  fault(record: BlockRecord, { offsets }: EraBlock, why: string): EraFileError {
    const name = record === 'receipts' && this.#index.isByComponent ? 'slim receipts' : record
    return this.file.fault(name, offsets[record], why)
  }

  *blocks(): Generator<EraBlock> {
    const { records, isByComponent } = this.#index
    const one = new RecordCursor(this.file, recordHeaderBytes)
    const cursors = new Map(
      records.map((name) => [name, isByComponent ? new RecordCursor(this.file, 0) : one] as const),
    )
    for (let block = 0; block < this.count; block++) {
      this.#seek(cursors, block)
      yield this.#readBlock(cursors)
    }
  }

  /** The block with this number, at its offset in the index. */
  blockAt(number: number): EraBlock {
    const { records, isByComponent, offset } = this.#index
    const at = (component: number) => offset + this.#index.relativeOffset(number - this.first, component)
    const one = new RecordCursor(this.file, at(0))
    return this.#readBlock(
      new Map(
        records.map((name, component) => [
          name,
          isByComponent ? new RecordCursor(this.file, at(component)) : one,
        ]),
      ),
    )
  }

  /** Moves to a block. In an era1 file blocks are contiguous, and the index must agree. */
  #seek(cursors: ReadonlyMap<RecordName, RecordCursor>, block: number): void {
    const { records, isByComponent, offset } = this.#index
    for (const [component, name] of records.entries()) {
      const cursor = cursors.get(name) as RecordCursor
      const at = offset + this.#index.relativeOffset(block, component)
      if (isByComponent) cursor.offset = at
      else if (component === 0 && cursor.offset !== at) {
        throw this.file.fault(
          'block index',
          offset,
          `says that block ${this.first + block} begins at byte ${at}, it begins at byte ${cursor.offset}`,
        )
      }
    }
  }

  #readBlock(cursors: ReadonlyMap<RecordName, RecordCursor>): EraBlock {
    const offsets = { header: 0, body: 0, receipts: 0, 'total difficulty': 0 }
    const unframe = (name: RecordName, as: BlockRecord): Uint8Array | undefined => {
      const cursor = cursors.get(name)
      if (cursor === undefined) return undefined
      offsets[as] = cursor.offset
      return cursor.unframe(name)
    }
    // The records in the order of an era1 file.
    const header = unframe('header', 'header') as Uint8Array
    const body = unframe('body', 'body') as Uint8Array
    const inline = unframe('receipts', 'receipts')
    const slim = unframe('slim receipts', 'receipts')
    const receipts = this.#rowOf(inline, slim, offsets.receipts)
    const totals = cursors.get('total difficulty')
    offsets['total difficulty'] = totals?.offset ?? 0
    const total = totals?.expect('total difficulty')
    if (total !== undefined && total.data.length !== 32) {
      throw this.file.fault('total difficulty', total.offset, `has ${total.data.length} bytes, expected 32`)
    }
    const totalDifficulty = total && bytesToBigInt(Buffer.from(total.data).reverse())
    return { header, body, receipts, totalDifficulty, offsets }
  }

  #rowOf(
    inline: Uint8Array | undefined,
    slim: Uint8Array | undefined,
    offset: number,
  ): Uint8Array | undefined {
    try {
      if (inline !== undefined) return inlineToRow(inline)
      return slim && slimToRow(slim)
    } catch (error) {
      if (!(error instanceof RlpError)) throw error
      const name = slim === undefined ? 'receipts' : 'slim receipts'
      throw this.file.fault(name, offset, `holds no receipts: ${error.message}`)
    }
  }
}

/** Positions of the records of each block. */
interface BlockIndex {
  /** Offset of the index record, to which its offsets are relative. */
  readonly offset: number
  readonly first: number
  readonly count: number
  /** The records of each block, in the order of the index. */
  readonly records: readonly RecordName[]
  /** Whether the index has an offset for each of them, or only for the first. */
  readonly isByComponent: boolean
  relativeOffset(block: number, component: number): number
}

const era1Records: readonly RecordName[] = ['header', 'body', 'receipts', 'total difficulty']
const ereRecords: ReadonlySet<number> = new Set(
  (['header', 'body', 'slim receipts', 'total difficulty', 'proof'] as const).map(
    (name) => recordTypes[name],
  ),
)

/** A number of the index: 8 bytes, little-endian. */
const wordBytes = 8

function readIndex(file: E2storeFile): BlockIndex {
  const end = file.bytes
  if (end < 2 * recordHeaderBytes + 3 * wordBytes)
    throw new EraFileError(`${file.path}: too short for an archive`)
  const tail = file.read(end - 2 * wordBytes, 2 * wordBytes)
  const components = tail.readBigUInt64LE(0)
  const count = tail.readBigUInt64LE(wordBytes)
  if (count < 1n || count > BigInt(epochBlocks)) throw noIndex(file, `its last 8 bytes give ${count} blocks`)
  const blocks = Number(count)
  const plain = recordAt(file, end - recordHeaderBytes - (2 + blocks) * wordBytes, 'block index')
  if (plain !== undefined) return readPlainIndex(plain, blocks)
  const perBlock = components <= BigInt(ereRecords.size) ? Number(components) : 0
  const byComponent = recordAt(
    file,
    end - recordHeaderBytes - (3 + blocks * perBlock) * wordBytes,
    'component index',
  )
  if (byComponent === undefined) throw noIndex(file, `it does not end with an index of ${blocks} blocks`)
  return readComponentIndex(file, byComponent, blocks, perBlock)
}

function noIndex(file: E2storeFile, why: string): EraFileError {
  return new EraFileError(`${file.path}: no era archive, or cut short: ${why}`)
}

/** The record of this type from `offset` to the end of the file; undefined if there is none. */
function recordAt(file: E2storeFile, offset: number, name: RecordName) {
  if (offset < recordHeaderBytes) return undefined
  const header = file.read(offset, recordHeaderBytes)
  const length = file.bytes - offset - recordHeaderBytes
  if (header.readUInt16LE(0) !== recordTypes[name] || header.readUInt32LE(2) !== length) return undefined
  return new RecordCursor(file, offset).expect(name)
}

function readPlainIndex({ offset, data }: { offset: number; data: Buffer }, count: number): BlockIndex {
  return {
    offset,
    first: Number(data.readBigUInt64LE(0)),
    count,
    records: era1Records,
    isByComponent: false,
    relativeOffset: (block) => Number(data.readBigInt64LE(wordBytes * (1 + block))),
  }
}

function readComponentIndex(
  file: E2storeFile,
  { offset, data }: { offset: number; data: Buffer },
  count: number,
  perBlock: number,
): BlockIndex {
  const relativeOffset = (block: number, component: number) =>
    Number(data.readBigInt64LE(wordBytes * (1 + block * perBlock + component)))
  const records = Array.from({ length: perBlock }, (_, component) => {
    const at = offset + relativeOffset(0, component)
    if (at < recordHeaderBytes || at >= offset) {
      throw file.fault('component index', offset, `names byte ${at}, where no record can be`)
    }
    const { type } = new RecordCursor(file, at).next()
    if (!ereRecords.has(type)) {
      throw file.fault(
        'component index',
        offset,
        `names byte ${at}, where a record of type ${recordName(type)} stands`,
      )
    }
    return recordName(type) as RecordName
  })
  for (const name of ['header', 'body'] as const) {
    if (records.filter((known) => known === name).length !== 1) {
      throw file.fault('component index', offset, `does not name one ${name} for each block`)
    }
  }
  const first = Number(data.readBigUInt64LE(0))
  return { offset, first, count, records, isByComponent: true, relativeOffset }
}

/** Reads the accumulator, which is right before the index. */
function readAccumulator(file: E2storeFile, offset: number): Hash32 | undefined {
  if (offset < recordHeaderBytes) return undefined
  const { type, data } = { type: file.read(offset, 2).readUInt16LE(0), data: file.read(offset + 2, 4) }
  if (type !== recordTypes.accumulator || data.readUInt32LE(0) !== 32) return undefined
  return toHash32(Uint8Array.from(new RecordCursor(file, offset).expect('accumulator').data))
}
