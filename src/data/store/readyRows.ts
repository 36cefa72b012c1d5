/**
 * Answers that are ready: the JSON of the newest canonical blocks, and of their transactions and receipts, as it is
 * sent. Owns these rows, and which blocks have them; the caller renders. A row names its form, its block and its
 * transaction, so a reader that finds another one renders the answer.
 *
 * Blocks with rows follow each other. A commit that adds many blocks writes no rows: an import at full speed would
 * write and remove those of all blocks. The commits after it complete them downwards.
 */
import {
  concatBytes,
  type Hash32,
  readUint64,
  toHash32,
  writeUint32,
  writeUint64,
} from '../../primitives/bytes.js'
import type { Change } from './blockDiff.js'
import type { ReadTable, WriteTable } from './readTable.js'
import { StoredBlock, senderBytes } from './storedBlock.js'
import { metaKeys, numberKey } from './tables.js'

/** Raised with every change of the JSON of blocks, transactions or receipts: rows of another form are not read. */
export const readyForm = 1

/** The newest blocks that have rows, and the bytes of these rows; 0 blocks: none. */
export interface ReadyLimits {
  readonly blocks: number
  readonly bytes: number
}

/** JSON of a block with the hashes of its transactions, of each transaction, and of each receipt. */
export interface ReadyTexts {
  readonly block: Uint8Array
  readonly transactions: readonly Uint8Array[]
  readonly receipts: readonly Uint8Array[]
}

/** Renders a canonical block; undefined if it was never executed, or a part of it is not stored. */
export type RenderReady = (hash: Hash32) => ReadyTexts | undefined

const parts = { block: 0, transaction: 1, receipt: 2 } as const
export type ReadyPart = keyof typeof parts

/**
 * Offsets in a row: form (1 byte) ‖ hash of its block ‖ hash of its transaction ‖ JSON. In the row of a block, number of
 * transactions (8) and bytes of all its rows (8) replace the hash of a transaction.
 */
export const readyBlockAt = 1
export const readyTransactionAt = 33
export const readyJsonAt = 65
const countAt = readyTransactionAt
const bytesAt = readyTransactionAt + 8

export const readyKeyBytes = 13

/** Commits that add more blocks write no rows: they are of an import, and a source at the head adds one or few. */
const blocksAtHead = 8

/** Rows that one commit writes for older blocks, or removes: some 20 ms. The last block may exceed it. */
const rowsPerCommit = 2_048

/** LMDB stores longer values in pages of their own. */
const sharedValueMax = 2_000
const pageBytes = 4_096

/**
 * part (1 byte) ‖ block number (8) ‖ index (4). Rows of one block are neighbours. Most rows fill pages of their own, so
 * the pages of keys are few and stay in the processor's caches.
 */
export function writeReadyKey(key: Uint8Array, number: number, part: ReadyPart, index: number): void {
  key[0] = parts[part]
  writeUint64(key, number, 1)
  writeUint32(key, index, 9)
}

function readyKey(number: number, part: ReadyPart, index: number): Uint8Array {
  const key = new Uint8Array(readyKeyBytes)
  writeReadyKey(key, number, part, index)
  return key
}

/** Blocks with rows; none if `last` is below `first`. */
export interface ReadyRange {
  readonly form: number
  readonly first: number
  readonly last: number
  /** Bytes of the rows of all these blocks. */
  readonly bytes: number
}

const noRange: ReadyRange = { form: readyForm, first: 0, last: -1, bytes: 0 }

/** Row `ready` of table `meta`: form ‖ first ‖ last block ‖ bytes, 8 bytes each. */
export function decodeReadyRange(row: Uint8Array | undefined): ReadyRange {
  if (row === undefined) return noRange
  return {
    form: readUint64(row, 0),
    first: readUint64(row, 8),
    last: readUint64(row, 16),
    bytes: readUint64(row, 24),
  }
}

function encodeReadyRange({ form, first, last, bytes }: ReadyRange): Uint8Array {
  const row = new Uint8Array(32)
  for (const [index, value] of [form, first, last, bytes].entries()) writeUint64(row, value, 8 * index)
  return row
}

/** Pages of the file that a row takes, in bytes. */
function storedBytes(row: Uint8Array): number {
  const length = readyKeyBytes + row.length
  return length <= sharedValueMax ? length : pageBytes * Math.ceil(length / pageBytes)
}

/** All rows of a block. The row of the block itself comes last: it has the numbers of transactions and bytes. */
export function readyRowsOf(
  number: number,
  { hash, senders }: Pick<StoredBlock, 'hash' | 'senders'>,
  { block, transactions, receipts }: ReadyTexts,
): { readonly rows: readonly Change[]; readonly bytes: number } {
  const rows: Change[] = []
  let bytes = 0
  const add = (part: ReadyPart, index: number, name: Uint8Array, text: Uint8Array) => {
    const row = concatBytes(Uint8Array.of(readyForm), hash, name, text)
    bytes += storedBytes(row)
    if (part === 'block') writeUint64(row, bytes, bytesAt)
    rows.push([readyKey(number, part, index), row])
  }
  const nameOf = (index: number) => senders.subarray(index * senderBytes + 20, (index + 1) * senderBytes)
  for (const [index, text] of transactions.entries()) add('transaction', index, nameOf(index), text)
  for (const [index, text] of receipts.entries()) add('receipt', index, nameOf(index), text)
  const counts = new Uint8Array(readyJsonAt - readyTransactionAt)
  writeUint64(counts, transactions.length, 0)
  add('block', 0, counts, block)
  return { rows, bytes }
}

interface ReadyTables {
  readonly ready: WriteTable
  readonly meta: WriteTable
  readonly blocks: ReadTable
}

/**
 * The result of a commit: the head, the oldest block whose body and receipts are stored, and the number of added
 * blocks.
 */
export interface CommittedBlocks {
  readonly head: number
  readonly oldest: number
  readonly added: number
}

/** The rows of one transaction of the store. */
class ReadyWriter {
  range: ReadyRange
  readonly #before: ReadyRange
  readonly #tables: ReadyTables
  /** Rows that were written or removed. */
  rows = 0

  constructor(tables: ReadyTables) {
    this.#tables = tables
    this.#before = decodeReadyRange(tables.meta.getBinary(metaKeys.ready))
    this.range = this.#before
  }

  get isEmpty(): boolean {
    return this.range.last < this.range.first
  }

  /**
   * Writes the rows of the block before the first one, or after the last. Returns whether it could be rendered, and has at
   * most `bytesMax`.
   */
  add(number: number, render: RenderReady, bytesMax: number): boolean {
    const row = this.#tables.blocks.getBinary(numberKey(number))
    const block = row && new StoredBlock(Uint8Array.from(row))
    const texts = block && render(toHash32(block.hash.slice()))
    if (block === undefined || texts === undefined) return false
    const { rows, bytes } = readyRowsOf(number, block, texts)
    if (bytes > bytesMax) return false
    for (const [key, value] of rows) this.#tables.ready.putSync(key, value)
    this.rows += rows.length
    const {
      first,
      last,
      bytes: before,
    } = this.isEmpty ? { first: number, last: number, bytes: 0 } : this.range
    this.range = {
      form: readyForm,
      first: Math.min(first, number),
      last: Math.max(last, number),
      bytes: before + bytes,
    }
    return true
  }

  /** Removes the rows of the first block, or of the last. */
  drop(number: number): void {
    const { first, last, bytes } = this.range
    const { ready } = this.#tables
    const row = ready.getBinary(readyKey(number, 'block', 0))
    const count = row === undefined ? 0 : readUint64(row, countAt)
    const freed = row === undefined ? 0 : readUint64(row, bytesAt)
    ready.removeSync(readyKey(number, 'block', 0))
    for (let index = 0; index < count; index++) {
      ready.removeSync(readyKey(number, 'transaction', index))
      ready.removeSync(readyKey(number, 'receipt', index))
    }
    this.rows += 1 + 2 * count
    const left = number === first ? { first: first + 1, last } : { first, last: last - 1 }
    this.range = { ...this.range, ...left, bytes: Math.max(0, bytes - freed) }
  }

  /** Returns `hasMore`. */
  finish(hasMore: boolean): boolean {
    const { meta } = this.#tables
    if (this.range === this.#before) return hasMore
    if (this.isEmpty) meta.removeSync(metaKeys.ready)
    else meta.putSync(metaKeys.ready, encodeReadyRange(this.range))
    return hasMore
  }
}

/** Removes the rows of the last block, if it is `number`: it is unwound. */
export function unwindReady(tables: ReadyTables, number: number): void {
  const writer = new ReadyWriter(tables)
  if (writer.isEmpty || writer.range.last !== number) return
  writer.drop(number)
  writer.finish(false)
}

/**
 * Adds what is missing within the limits to the waiting changes, and removes what exceeds them, until the budget of
 * rows is spent. Returns whether there is more to do.
 */
export function keepReady(
  tables: ReadyTables,
  { blocks, bytes: bytesMax }: ReadyLimits,
  { head, oldest, added }: CommittedBlocks,
  render: RenderReady,
): boolean {
  const writer = new ReadyWriter(tables)
  const lowest = Math.max(oldest, head - blocks + 1)
  const { form, last } = writer.range
  // Rows of another version of the program, or of blocks from which the head is too far away.
  const isUseless = form !== readyForm || last < head - blocksAtHead
  const exceeds = () => !writer.isEmpty && (writer.range.first < lowest || writer.range.bytes > bytesMax)
  const hasBudget = () => writer.rows < rowsPerCommit
  while (hasBudget() && (isUseless ? !writer.isEmpty : exceeds())) writer.drop(writer.range.first)
  const isDone = isUseless ? writer.isEmpty : !exceeds()
  if (!isDone || lowest > head) return writer.finish(!isDone)
  // The commits after those of an import complete it.
  if (added > blocksAtHead) return writer.finish(true)
  let next = writer.isEmpty ? head : writer.range.last + 1
  while (next <= head && writer.add(next, render, bytesMax)) next++
  while (exceeds()) writer.drop(writer.range.first)
  // Half of the bytes is for blocks to come: an older block is not written only to be removed.
  const hasRoom = () => !writer.isEmpty && writer.range.first > lowest && writer.range.bytes < bytesMax / 2
  let isRendered = next > head
  while (isRendered && hasRoom() && hasBudget()) {
    const { first, bytes } = writer.range
    isRendered = writer.add(first - 1, render, bytesMax - bytes)
  }
  return writer.finish(isRendered && hasRoom())
}
