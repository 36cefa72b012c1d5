/**
 * The log index: for each key (logKeys.ts) the numbers of the canonical blocks that have a log with it. Owns the rows
 * of the table `logs` and their encoding.
 *
 * A row is a list of block numbers: the last one, and then the difference to each previous one, as base-128 integers
 * (LEB128). So the newest block is added at the front, for any length. The key alone has the newest row. When a row
 * with {@link chunkBytesMax} bytes gets another number, it moves to `key ‖ its last block`. So for a key with logs in
 * every block each block copies at most that many bytes, and a search can skip older rows. A gateway adds blocks in any
 * order; a full row that gets one in between is cut in two.
 */
import { writeUint64 } from '../../primitives/bytes.js'
import { logKeyBytes, logKeysOf } from './layouts/logKeys.js'
import type { ReadTable, WriteTable } from './readTable.js'

/**
 * Bytes above which a row gets no further block. Longer rows would cost more copying, shorter ones more reads. Bitmaps
 * of up to 8 KiB for each 65,536 blocks, as in Roaring, take as many bytes and two to three times the CPU time.
 */
export const chunkBytesMax = 512

/** Bytes of one number in a row: 2^53 has 8. */
const numberBytesMax = 8

const scratch = Buffer.alloc(chunkBytesMax + 3 * numberBytesMax)

/** Adds block `number` to the rows of its keys; quickest for the newest block. Throws if the index has it already. */
export function addToLogIndex(table: WriteTable, receipts: Uint8Array, number: number): void {
  for (const text of logKeysOf(receipts)) addBlock(table, Buffer.from(text, 'latin1'), number)
}

/** Removes block `number`. Throws if it is not in the index. */
export function cutFromLogIndex(table: WriteTable, receipts: Uint8Array, number: number): void {
  for (const text of logKeysOf(receipts)) cutBlock(table, Buffer.from(text, 'latin1'), number)
}

/**
 * Removes the rows whose last block is `number`. Call it for every block in order, from the oldest on. Returns the
 * number of keys of the block. Some rows keep removed blocks; no search reads these.
 */
export function dropFromLogIndex(table: WriteTable, receipts: Uint8Array, number: number): number {
  const keys = logKeysOf(receipts)
  for (const text of keys) {
    const key = Buffer.from(text, 'latin1')
    const newest = table.getBinary(key)
    if (newest !== undefined && readNumber(newest, 0) === number) table.removeSync(key)
    else table.removeSync(chunkKey(key, number))
  }
  return keys.size
}

function addBlock(table: WriteTable, key: Uint8Array, number: number): void {
  const newest = table.getBinary(key)
  if (newest === undefined) return putRow(table, key, [number])
  const last = readNumber(newest, 0)
  if (number <= last) return insertBlock(table, key, number)
  if (newest.length >= chunkBytesMax) {
    table.putSync(chunkKey(key, last), newest)
    return putRow(table, key, [number])
  }
  let end = writeNumber(scratch, 0, number)
  end = writeNumber(scratch, end, number - last)
  scratch.set(newest.subarray(numberEnd(newest, 0)), end)
  end += newest.length - numberEnd(newest, 0)
  table.putSync(key, new Uint8Array(scratch.subarray(0, end)))
}

/** Adds a block below the last one of its key. A full row is cut in two at this place. */
function insertBlock(table: WriteTable, key: Uint8Array, number: number): void {
  const row = findRow(table, key, number)
  if (row === undefined) throw new Error('the newest row of a key is missing')
  const numbers = decodeRow(row.value, 0)
  const below = numbers.filter((each) => each < number)
  const above = numbers.filter((each) => each > number)
  if (below.length + above.length < numbers.length) {
    throw new Error(`block ${number} is in the index of logs already`)
  }
  if (row.value.length < chunkBytesMax) return putRow(table, row.key, [...below, number, ...above])
  putRow(table, row.key, above)
  putRow(table, chunkKey(key, number), [...below, number])
}

function cutBlock(table: WriteTable, key: Uint8Array, number: number): void {
  const row = findRow(table, key, number)
  const numbers = row === undefined ? [] : decodeRow(row.value, 0)
  if (row === undefined || !numbers.includes(number)) {
    throw new Error(`block ${number} cannot be taken out of the index of logs: it is not in it`)
  }
  const isNewest = row.key.length === logKeyBytes
  const rest = numbers.filter((each) => each !== number)
  const last = rest.at(-1)
  if (last !== undefined) {
    if (!isNewest && last < number) table.removeSync(row.key)
    return putRow(table, isNewest ? key : chunkKey(key, last), rest)
  }
  table.removeSync(row.key)
  if (!isNewest) return
  const range = { start: chunkKey(key, number), end: key, reverse: true, limit: 1 }
  for (const { key: before, value } of table.getRange(range)) {
    table.putSync(key, Uint8Array.from(value))
    table.removeSync(Uint8Array.from(before))
  }
}

/** The row of a key with the lowest number from `from` on, or its place if there is none. */
function findRow(
  table: ReadTable,
  key: Uint8Array,
  from: number,
): { readonly key: Uint8Array; readonly value: Uint8Array } | undefined {
  const range = { start: chunkKey(key, from), end: chunkKey(key, Number.MAX_SAFE_INTEGER), limit: 1 }
  for (const row of table.getRange(range)) {
    return { key: Uint8Array.from(row.key), value: Uint8Array.from(row.value) }
  }
  const newest = table.getBinary(key)
  return newest && { key, value: newest }
}

/** Writes a row of ascending numbers. */
function putRow(table: WriteTable, key: Uint8Array, numbers: readonly number[]): void {
  const row = new Uint8Array(numberBytesMax * numbers.length)
  let end = 0
  let above = 0
  for (const [index, number] of numbers.toReversed().entries()) {
    end = writeNumber(row, end, index === 0 ? number : above - number)
    above = number
  }
  table.putSync(key, row.slice(0, end))
}

/**
 * Ascending numbers of blocks from `from` on that have a log with `key`: those of one row; empty if there are no more.
 * Takes one or two reads.
 */
export function readLogChunk(table: ReadTable, key: Uint8Array, from: number): readonly number[] {
  const row = findRow(table, key, from)
  return row === undefined ? [] : decodeRow(row.value, from)
}

/** Number of entries from block `first` on in the whole index. Takes time linear in them. */
export function countLogIndex(table: ReadTable, first: number): number {
  let count = 0
  for (const { value } of table.getRange()) count += decodeRow(value, first).length
  return count
}

function decodeRow(row: Uint8Array, from: number): number[] {
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
