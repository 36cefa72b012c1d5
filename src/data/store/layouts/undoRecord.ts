/**
 * Keys that a block changed, each with the block since which it had the replaced value. Serves to unwind the block, and
 * to remove the values that it replaced. The values are rows of history, so a record does not repeat them.
 *
 *   record    accounts ‖ slots
 *   accounts  count ‖ (address ‖ since) …
 *   slots     count ‖ (address ‖ count ‖ (slot ‖ since) …) …, in key order
 *   since     block number as in datedValue.ts, or {@link noValue} if there was no value
 *   count     4 bytes, big-endian
 */
import { addressBytes, hashBytes, readUint32, writeUint32 } from '../../../primitives/bytes.js'
import type { WriteTable } from '../readTable.js'
import { numberKey } from '../tables.js'
import { endOfNumber, readNumber, writeNumber } from './datedValue.js'

/** A key (20 or 52 bytes) and the block since which it had the replaced value; undefined if it had none. */
export type UndoEntry = readonly [key: Uint8Array, since: number | undefined]

export interface UndoRecord {
  readonly accounts: readonly UndoEntry[]
  readonly slots: readonly UndoEntry[]
}

const noValue = 0xff
/** The longest number with its length. */
const sinceBytesMax = 8

export function encodeUndo({ accounts, slots }: UndoRecord): Uint8Array {
  const most =
    8 + (accounts.length + slots.length) * (addressBytes + 4 + sinceBytesMax) + slots.length * hashBytes
  const row = new Uint8Array(most)
  let at = 4
  writeUint32(row, accounts.length, 0)
  for (const [address, since] of accounts) {
    row.set(address, at)
    at = writeSince(row, since, at + addressBytes)
  }
  const countAt = at
  at += 4
  let owners = 0
  let owner: Uint8Array | undefined
  let ownAt = 0
  for (const [key, since] of slots) {
    if (owner === undefined || !startsWith(key, owner)) {
      owner = key
      owners++
      row.set(key.subarray(0, addressBytes), at)
      ownAt = at + addressBytes
      at = ownAt + 4
    }
    writeUint32(row, readUint32(row, ownAt) + 1, ownAt)
    row.set(key.subarray(addressBytes), at)
    at = writeSince(row, since, at + hashBytes)
  }
  writeUint32(row, owners, countAt)
  return row.slice(0, at)
}

/** Throws RangeError for a malformed row. Keys of accounts are views of the row. */
export function decodeUndo(row: Uint8Array): UndoRecord {
  const reader = new Cursor(row)
  const accounts: UndoEntry[] = []
  for (let left = reader.count(); left > 0; left--)
    accounts.push([reader.bytes(addressBytes), reader.since()])
  const slots: UndoEntry[] = []
  for (let owners = reader.count(); owners > 0; owners--) {
    const owner = reader.bytes(addressBytes)
    for (let left = reader.count(); left > 0; left--) {
      const key = new Uint8Array(addressBytes + hashBytes)
      key.set(owner)
      key.set(reader.bytes(hashBytes), addressBytes)
      slots.push([key, reader.since()])
    }
  }
  reader.end()
  return { accounts, slots }
}

class Cursor {
  #at = 0
  readonly #row: Uint8Array

  constructor(row: Uint8Array) {
    this.#row = row
  }

  count(): number {
    return readUint32(this.bytes(4), 0)
  }

  bytes(length: number): Uint8Array {
    const end = this.#at + length
    if (end > this.#row.length) throw new RangeError('an undo record is cut short')
    const bytes = this.#row.subarray(this.#at, end)
    this.#at = end
    return bytes
  }

  since(): number | undefined {
    if (this.#row[this.#at] === noValue) {
      this.#at++
      return undefined
    }
    const number = readNumber(this.#row, this.#at)
    this.#at = endOfNumber(this.#row, this.#at)
    return number
  }

  end(): void {
    if (this.#at !== this.#row.length) throw new RangeError('an undo record has extra bytes')
  }
}

function writeSince(row: Uint8Array, since: number | undefined, at: number): number {
  if (since !== undefined) return writeNumber(row, since, at)
  row[at] = noValue
  return at + 1
}

function startsWith(key: Uint8Array, owner: Uint8Array): boolean {
  for (let at = 0; at < addressBytes; at++) if (key[at] !== owner[at]) return false
  return true
}

/** Most old records that one block removes: some ms. */
const formerPerBlock = 1_024

/**
 * Removes the record of block `last`. If there are older ones, from a time when state history was limited, it also
 * removes some of these. So the records that are left are of successive blocks.
 */
export function dropUndo(changes: WriteTable, last: number): void {
  if (!changes.doesExist(numberKey(last - 1))) {
    changes.removeSync(numberKey(last))
    return
  }
  const range = { end: numberKey(last + 1), limit: formerPerBlock }
  const keys = Array.from(changes.getRange(range), ({ key }) => Uint8Array.from(key))
  for (const key of keys) changes.removeSync(key)
}
