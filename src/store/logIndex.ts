/**
 * The log index: for each key (logKeys.ts) the numbers of the canonical blocks that have a log with it. Owns the rows
 * of the table `logs` and their encoding.
 *
 * A row is a list of block numbers: the last one, and then the difference to each previous one, as base-128 integers
 * (LEB128). So a block is added or removed at the front, whatever the length. The key alone has the newest row. When
 * a row with {@link chunkBytesMax} bytes gets another number, it moves to `key ‖ its last block`. So for a key with
 * logs in every block each block copies at most that many bytes, and a search can skip older rows. Removing a block
 * undoes exactly what adding it did.
 */
import { writeUint64 } from '../primitives/bytes.js'
import { logKeyBytes, logKeysOf } from './logKeys.js'
import type { ReadTable, WriteTable } from './readTable.js'

/**
 * Bytes above which a row gets no further block. Longer rows would cost more copying, shorter ones more reads; see
 * `bench/README.md`.
 */
export const chunkBytesMax = 512

/** Bytes of one number in a row: 2^53 has 8. */
const numberBytesMax = 8

const scratch = Buffer.alloc(chunkBytesMax + 3 * numberBytesMax)

/** Adds block `number`, the newest one, to the rows of its keys. */
export function addToLogIndex(table: WriteTable, receipts: Uint8Array, number: number): void {
  for (const text of logKeysOf(receipts)) addBlock(table, Buffer.from(text, 'latin1'), number)
}

/** Removes block `number`, the newest one. Throws where it is not in the index. */
export function cutFromLogIndex(table: WriteTable, receipts: Uint8Array, number: number): void {
  for (const text of logKeysOf(receipts)) cutBlock(table, Buffer.from(text, 'latin1'), number)
}

function addBlock(table: WriteTable, key: Uint8Array, number: number): void {
  const newest = table.getBinary(key)
  if (newest === undefined) return putChunk(table, key, number)
  const last = readNumber(newest, 0)
  if (newest.length >= chunkBytesMax) {
    table.putSync(chunkKey(key, last), newest)
    return putChunk(table, key, number)
  }
  let end = writeNumber(scratch, 0, number)
  end = writeNumber(scratch, end, number - last)
  scratch.set(newest.subarray(numberEnd(newest, 0)), end)
  end += newest.length - numberEnd(newest, 0)
  table.putSync(key, Uint8Array.from(scratch.subarray(0, end)))
}

function putChunk(table: WriteTable, key: Uint8Array, number: number): void {
  table.putSync(key, Uint8Array.from(scratch.subarray(0, writeNumber(scratch, 0, number))))
}

function cutBlock(table: WriteTable, key: Uint8Array, number: number): void {
  const newest = table.getBinary(key)
  if (newest === undefined || readNumber(newest, 0) !== number) {
    throw new Error(`block ${number} cannot be taken out of the index of logs: it is not its last one`)
  }
  const rest = numberEnd(newest, 0)
  if (rest < newest.length) {
    const end = writeNumber(scratch, 0, number - readNumber(newest, rest))
    const before = newest.subarray(numberEnd(newest, rest))
    scratch.set(before, end)
    table.putSync(key, Uint8Array.from(scratch.subarray(0, end + before.length)))
    return
  }
  const range = { start: chunkKey(key, number), end: key, reverse: true, limit: 1 }
  for (const { key: before, value } of table.getRange(range)) {
    table.putSync(key, Uint8Array.from(value))
    table.removeSync(Uint8Array.from(before))
    return
  }
  table.removeSync(key)
}

/**
 * Numbers of blocks that have a log with `key`, ascending, from `from` on: those of one row; empty where there are no
 * more. Takes one or two reads.
 */
export function readLogChunk(table: ReadTable, key: Uint8Array, from: number): readonly number[] {
  const range = { start: chunkKey(key, from), end: chunkKey(key, Number.MAX_SAFE_INTEGER), limit: 1 }
  for (const { value } of table.getRange(range)) return decodeChunk(value, from)
  const newest = table.getBinary(key)
  return newest === undefined ? [] : decodeChunk(newest, from)
}

/** Number of block numbers in the whole index. Takes time linear in them. */
export function countLogIndex(table: ReadTable): number {
  let count = 0
  for (const { value } of table.getRange()) count += decodeChunk(value, 0).length
  return count
}

function decodeChunk(row: Uint8Array, from: number): number[] {
  const numbers: number[] = []
  let number = readNumber(row, 0)
  for (let at = numberEnd(row, 0); number >= from; at = numberEnd(row, at)) {
    numbers.push(number)
    if (at === row.length) break
    number -= readNumber(row, at)
  }
  return numbers.reverse()
}

function chunkKey(key: Uint8Array, last: number): Uint8Array {
  const chunk = new Uint8Array(logKeyBytes + 8)
  chunk.set(key)
  writeUint64(chunk, last, logKeyBytes)
  return chunk
}

/** Writes a number; returns the offset after it. */
function writeNumber(target: Uint8Array, at: number, value: number): number {
  let rest = value
  let end = at
  while (rest >= 0x80) {
    target[end++] = (rest % 0x80) | 0x80
    rest = Math.floor(rest / 0x80)
  }
  target[end++] = rest
  return end
}

function readNumber(row: Uint8Array, at: number): number {
  let value = 0
  let factor = 1
  for (let i = at; ; i++) {
    const byte = row[i]
    if (byte === undefined) throw new Error('a row of the index of logs is cut short')
    value += (byte & 0x7f) * factor
    if (byte < 0x80) return value
    factor *= 0x80
  }
}

/** End of the number that begins at `at`. */
function numberEnd(row: Uint8Array, at: number): number {
  let end = at
  while ((row[end] as number) >= 0x80) end++
  return end + 1
}
