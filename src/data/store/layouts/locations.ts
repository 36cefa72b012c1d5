/**
 * Locations of transactions by hash: first 16 bytes of the hash → number of the canonical block ‖ index, both as in
 * datedValue.ts. The block has the whole hash. Finding another transaction with the same beginning is as hard as
 * breaking a hash of 128 bits.
 *
 * Gateways know transactions of blocks that they have not stored. So their rows are hash → hash of the block ‖ index (8
 * bytes).
 */
import { equalBytes, type Hash32, noBytes, readUint64, toHash32 } from '../../../primitives/bytes.js'
import type { WriteBuffer } from '../lmdb/writeBuffer.js'
import type { ReadTable, WriteTable } from '../readTable.js'
import { senderBytes, transactionHashes } from '../storedBlock.js'
import { datedValue, endOfNumber, readNumber } from './datedValue.js'

export interface TransactionLocation {
  readonly blockHash: Hash32
  /** Number of that block, if the index of transactions has it. It saves a read. */
  readonly number?: number
  readonly index: number
}

const prefixBytes = 16

/** Adds the transactions of canonical block `number`. */
export function putPlaces(table: WriteTable, number: number, senders: Uint8Array): void {
  for (const [index, hash] of transactionHashes(senders))
    table.putSync(hash.slice(0, prefixBytes), datedValue(number, datedValue(index, noBytes)))
}

/** Removes the transactions of a block. */
export function removePlaces(table: WriteTable, senders: Uint8Array): void {
  for (const [, hash] of transactionHashes(senders)) table.removeSync(hash.slice(0, prefixBytes))
}

/** Removes the transactions of block `number` whose rows on disk still name it. */
export function cutPlaces(table: WriteBuffer, number: number, senders: Uint8Array): void {
  for (const [, hash] of transactionHashes(senders)) {
    const key = hash.slice(0, prefixBytes)
    const row = table.stored(key)
    // On a development chain a later block may have the same transaction.
    if (row !== undefined && readNumber(row, 0) === number) table.removeSync(key)
  }
}

/** Looks a transaction up; `blockAt` returns a canonical block's hash and `senders`. */
export function readPlace(
  table: ReadTable,
  hash: Hash32,
  blockAt: (number: number) => { readonly hash: Hash32; readonly senders: Uint8Array } | undefined,
): TransactionLocation | undefined {
  const row = table.getBrief(hash.subarray(0, prefixBytes))
  if (row === undefined) return readNamedPlace(table, hash)
  const index = readNumber(row, endOfNumber(row, 0))
  const number = readNumber(row, 0)
  const block = blockAt(number)
  const at = index * senderBytes + 20
  const own = block?.senders.subarray(at, at + hash.length)
  return block && own && equalBytes(own, hash)
    ? { blockHash: toHash32(block.hash.slice()), number, index }
    : undefined
}

/** Number and index alone, which another transaction with the same beginning could have; undefined for a gateway. */
export function readPlaceNumber(
  table: ReadTable,
  hash: Hash32,
): { readonly number: number; readonly index: number } | undefined {
  const row = table.viewUntilNextRead(hash.subarray(0, prefixBytes))
  if (row === undefined) return undefined
  return { number: readNumber(row, 0), index: readNumber(row, endOfNumber(row, 0)) }
}

/** The same as {@link readPlace} for a gateway. */
export function readNamedPlace(table: ReadTable, hash: Hash32): TransactionLocation | undefined {
  const row = table.getBinary(hash)
  return row && { blockHash: toHash32(row.subarray(0, 32)), index: readUint64(row, 32) }
}
