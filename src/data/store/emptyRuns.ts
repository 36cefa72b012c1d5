/**
 * Runs of empty blocks of a developer chain: blocks without transactions, whose state is that of their parent. A run is
 * one row, and the hashes of its blocks; their headers are made when they are read. Owns these rows and the headers.
 *
 *   meta  'emptyRun' ‖ number of the first block → msgpack {@link EmptyRun}
 *         'emptyRunHashes' ‖ number of a block → hashes of it and those after it, at most {@link hashesPerRow}
 *         'belowRun' ‖ hash of the block after a run that was unwound → number ‖ hash of the head that was left
 *
 * The block after a run is stored like any other, so the head of a chain is never in a run.
 */
import { Packr, unpack } from 'msgpackr'
import {
  concatBytes,
  equalBytes,
  type Hash32,
  hashBytes,
  latin1Key,
  noBytes,
  readUint64,
  toMinimalBytes,
} from '../../primitives/bytes.js'
import { hashInputBytes, lendHashOfInput } from '../../primitives/keccak.js'
import { putNewest } from '../../primitives/putNewest.js'
import {
  decodeRlpList,
  encodeRlp,
  type RlpItem,
  rlpBytes,
  rlpEndAt,
  rlpPayloadAt,
} from '../../primitives/rlp.js'
import type { ReadTable, WriteTable } from './readTable.js'
import { storedBlockRow } from './storedBlock.js'
import { keyAfterPrefix, metaKeys, numberKey } from './tables.js'

/** A row of 32 KB: the hashes of a long run are few rows, and one is read in some microseconds. */
const hashesPerRow = 1_024
/** Blocks of runs whose number is cached by their hash: a reader asks for the parts of one block in turn. */
const knownMax = 1_024

export interface EmptyRun {
  /** Number of the last block. */
  readonly last: number
  /** Timestamp of the first block, in seconds. */
  readonly timestamp: number
  /** Seconds between two blocks. */
  readonly step: number
  /** Header of the first block, RLP. Others differ in number, time, parent hash and the hash of that (`mixHash`). */
  readonly header: Uint8Array
  /** RLP of the body. */
  readonly body: Uint8Array
  /** RLP list of receipts. */
  readonly receipts: Uint8Array
  readonly totalDifficulty: Uint8Array
}

/** A run with the number of its first block. */
export interface FoundRun extends EmptyRun {
  readonly first: number
}

const packr = new Packr({ useRecords: false })

/** Indexes of the fields of a header in which blocks of a run differ. */
const parentIndex = 0
const numberIndex = 8
const timeIndex = 11
const mixIndex = 13

/** Makes the headers of a run, each in the same memory. */
export class RunHeaders {
  readonly #items: RlpItem[]
  #bytes: Uint8Array = noBytes
  /** Offsets of the payloads of the four fields, by index. */
  readonly #at = new Map<number, number>()
  /** See {@link widthOf}; no value has the width -1. */
  #numberWidth = -1
  #timeWidth = -1

  /** `header`: RLP of any header of the run. */
  constructor(header: Uint8Array) {
    this.#items = [...decodeRlpList(header)]
  }

  /** RLP of a header, valid until the next call. */
  at(number: number, timestamp: number, parentHash: Uint8Array): Uint8Array {
    const numberWidth = widthOf(number)
    const timeWidth = widthOf(timestamp)
    if (numberWidth !== this.#numberWidth || timeWidth !== this.#timeWidth) this.#encode(number, timestamp)
    const bytes = this.#bytes
    writeInteger(bytes, this.#at.get(numberIndex) as number, number, numberWidth)
    writeInteger(bytes, this.#at.get(timeIndex) as number, timestamp, timeWidth)
    bytes.set(parentHash, this.#at.get(parentIndex))
    hashInputBytes.set(parentHash)
    bytes.set(lendHashOfInput(hashBytes), this.#at.get(mixIndex))
    return bytes
  }

  #encode(number: number, timestamp: number): void {
    this.#items[numberIndex] = toMinimalBytes(number)
    this.#items[timeIndex] = toMinimalBytes(timestamp)
    const bytes = encodeRlp(this.#items)
    let field = rlpPayloadAt(bytes, 0)
    for (let index = 0; index < this.#items.length; index++) {
      this.#at.set(index, rlpPayloadAt(bytes, field))
      field = rlpEndAt(bytes, field)
    }
    this.#bytes = bytes
    this.#numberWidth = widthOf(number)
    this.#timeWidth = widthOf(timestamp)
  }
}

/** Whether two headers, RLP, differ only in the fields in which blocks of a run do. */
export function canFollowInRun(header: Uint8Array, next: Uint8Array): boolean {
  const items = decodeRlpList(header)
  const others = decodeRlpList(next)
  const free = [parentIndex, numberIndex, timeIndex, mixIndex]
  return (
    items.length === others.length &&
    items.every((item, at) => free.includes(at) || equalBytes(rlpBytes(item), rlpBytes(others[at])))
  )
}

/** Bytes after the header of an integer in RLP; 0 for a small one, which has no header. */
function widthOf(value: number): number {
  if (value < 0x80) return 0
  let bytes = 0
  for (let rest = value; rest > 0; rest = Math.floor(rest / 256)) bytes++
  return bytes
}

function writeInteger(bytes: Uint8Array, at: number, value: number, width: number): void {
  let rest = value
  for (let index = at + Math.max(width, 1) - 1; index >= at; index--) {
    bytes[index] = rest % 256
    rest = Math.floor(rest / 256)
  }
}

/** The hashes of the blocks of a run, one after the other. */
export function hashRun(
  first: number,
  run: Omit<EmptyRun, 'body' | 'receipts' | 'totalDifficulty'>,
): Uint8Array {
  const headers = new RunHeaders(run.header)
  const count = run.last - first + 1
  const hashes = new Uint8Array(count * hashBytes)
  let parentHash = decodeRlpList(run.header)[parentIndex] as Uint8Array
  for (let at = 0; at < count; at++) {
    const header = headers.at(first + at, run.timestamp + at * run.step, parentHash)
    hashInputBytes.set(header)
    hashes.set(lendHashOfInput(header.length), at * hashBytes)
    parentHash = hashes.subarray(at * hashBytes, (at + 1) * hashBytes)
  }
  return hashes
}

/** Reads runs. The results for a block outside of them are undefined. */
export class EmptyRuns {
  readonly #meta: ReadTable
  /** Numbers by hash; a number may be of a block that is not canonical any more. */
  readonly #known = new Map<string, number>()
  /** The run that was found last, of {@link #revision}. */
  #found: FoundRun | undefined
  #revision = -1

  constructor(meta: ReadTable) {
    this.#meta = meta
  }

  /** `revision` of {@link ByHand}, which changes with the runs. */
  of(revision: number): this {
    if (revision !== this.#revision) this.#found = undefined
    this.#revision = revision
    return this
  }

  find(number: number): FoundRun | undefined {
    const found = this.#found
    if (found !== undefined && number >= found.first && number <= found.last) return found
    const read = this.#read(number)
    if (read !== undefined) this.#found = read
    return read
  }

  #read(number: number): FoundRun | undefined {
    const start = concatBytes(metaKeys.emptyRun, numberKey(number))
    const range = { start, end: metaKeys.emptyRun, reverse: true, limit: 1 }
    for (const { key, value } of this.#meta.getRange(range)) {
      const first = readUint64(key, metaKeys.emptyRun.length)
      // The next read may overwrite the row.
      const run = unpack(Uint8Array.from(value)) as EmptyRun
      return number <= run.last ? { first, ...run } : undefined
    }
    return undefined
  }

  /** Number of blocks in runs above a block. */
  countAbove(number: number): number {
    const start = concatBytes(metaKeys.emptyRun, numberKey(number + 1))
    const inside = this.find(number)
    let count = inside === undefined ? 0 : inside.last - number
    for (const { key, value } of this.#meta.getRange({ start, end: keyAfterPrefix(metaKeys.emptyRun) }))
      count += (unpack(value) as EmptyRun).last - readUint64(key, metaKeys.emptyRun.length) + 1
    return count
  }

  hashAt(number: number): Hash32 | undefined {
    const run = this.find(number)
    return run && this.#hashIn(run, number)
  }

  #hashIn({ first }: FoundRun, number: number): Hash32 {
    const index = (number - first) % hashesPerRow
    const row = this.#meta.viewUntilNextRead(hashesKey(number - index))
    if (row === undefined) throw new Error(`the hash of block ${number} of a run is missing`)
    const hash = row.slice(index * hashBytes, (index + 1) * hashBytes) as Hash32
    putNewest(this.#known, latin1Key(hash), number, knownMax)
    return hash
  }

  /** The row of a block, in the form of storedBlock.ts. */
  rowAt(number: number): Uint8Array | undefined {
    const run = this.find(number)
    if (run === undefined) return undefined
    const { first, timestamp, step, body, totalDifficulty } = run
    const firstParent = decodeRlpList(run.header)[parentIndex] as Uint8Array
    const parentHash = number === first ? firstParent : this.#hashIn(run, number - 1)
    const header = new RunHeaders(run.header).at(number, timestamp + (number - first) * step, parentHash)
    return storedBlockRow(this.#hashIn(run, number), { header, body, totalDifficulty, senders: noBytes })
  }

  /** Time is linear in the number of blocks in runs, some 10 ms a million, unless the hash was read just before. */
  numberOf(hash: Uint8Array): number | undefined {
    const known = this.#known.get(latin1Key(hash))
    const found = known === undefined ? undefined : this.hashAt(known)
    if (found !== undefined && equalBytes(found, hash)) return known
    const range = { start: metaKeys.emptyRunHashes, end: keyAfterPrefix(metaKeys.emptyRunHashes) }
    for (const { key, value } of this.#meta.getRange(range)) {
      const at = indexOfHash(value, hash)
      if (at < 0) continue
      const number = readUint64(key, metaKeys.emptyRunHashes.length) + at
      putNewest(this.#known, latin1Key(hash), number, knownMax)
      return number
    }
    return undefined
  }

  /** The run that has a block with this hash. */
  runOf(hash: Uint8Array): FoundRun | undefined {
    const number = this.numberOf(hash)
    return number === undefined ? undefined : this.find(number)
  }
}

function hashesKey(number: number): Uint8Array {
  return concatBytes(metaKeys.emptyRunHashes, numberKey(number))
}

function indexOfHash(row: Uint8Array, hash: Uint8Array): number {
  const bytes = Buffer.from(row.buffer, row.byteOffset, row.byteLength)
  let at = bytes.indexOf(hash)
  while (at >= 0 && at % hashBytes !== 0) at = bytes.indexOf(hash, at + 1)
  return at < 0 ? -1 : at / hashBytes
}

/** Writes a run with the hashes of its blocks. */
export function putRun(meta: WriteTable, first: number, run: EmptyRun, hashes: Uint8Array): void {
  meta.putSync(concatBytes(metaKeys.emptyRun, numberKey(first)), packr.pack(run))
  const rowBytes = hashesPerRow * hashBytes
  for (let at = 0; at < hashes.length; at += rowBytes)
    meta.putSync(hashesKey(first + at / hashBytes), hashes.slice(at, at + rowBytes))
}

/** Removes the blocks of a run from number `from` on. */
export function cutRun(meta: WriteTable, { first, ...run }: FoundRun, from: number): void {
  const key = concatBytes(metaKeys.emptyRun, numberKey(first))
  if (from <= first) meta.removeSync(key)
  else meta.putSync(key, packr.pack({ ...run, last: from - 1 }))
  for (let number = first; number <= run.last; number += hashesPerRow) {
    const kept = from - number
    if (kept >= hashesPerRow) continue
    const row = kept > 0 ? meta.getBinary(hashesKey(number)) : undefined
    if (row === undefined) meta.removeSync(hashesKey(number))
    else meta.putSync(hashesKey(number), row.slice(0, kept * hashBytes))
  }
}
