/**
 * Contracts by number. Keys of slots and of storage tries have a number of 4 bytes in place of an address of 20. Each
 * store assigns its own numbers, from 1 on, in the order in which contracts get their first row. A number is never
 * changed, removed or reused, so cached numbers stay right. A contract takes some 50 bytes for good, even if the block
 * that made it is unwound. Rows are
 *
 *   address (20 bytes) → number (4 bytes)
 *   number (4 bytes)   → address
 *   0 (4 bytes)        → the last number that was assigned
 */
import { addressBytes, equalBytes, readUint32, writeUint32 } from '../../primitives/bytes.js'
import type { ReadTable, WriteTable } from './readTable.js'

export const idBytes = 4

/** Stands for the trie of accounts, which belongs to no contract. */
export const noContract = 0
/** One less than the maximum, so that a key after all keys of each number exists. */
const idMax = 2 ** 32 - 2

/**
 * Size of the cache of contract numbers, 384 KiB at most for each thread that has the store open. With random reads of
 * 1,000 contracts, one of 33 reads collides and reads the table (scenario `slots-large`).
 */
const placeBits = 14

/** Five words of the address and one of the number. */
const placeWords = 6

const lastKey = new Uint8Array(idBytes)

export class ContractIds {
  readonly #table: ReadTable
  /** Addresses by place: the five words of an address, and its number; 0 if the place is free. */
  readonly #places = new Uint32Array(placeWords << placeBits)
  /** Buffer for the key of a read: a new one for each read would be garbage. */
  readonly #asked = new Uint8Array(addressBytes)

  constructor(table: ReadTable) {
    this.#table = table
  }

  /**
   * The number of the contract whose address is at `at` in `key`; {@link noContract} for one without rows. A missing
   * number is looked up each time, because another process may assign it.
   */
  find(key: Uint8Array, at: number): number {
    const a = readUint32(key, at)
    const b = readUint32(key, at + 4)
    const c = readUint32(key, at + 8)
    const d = readUint32(key, at + 12)
    const e = readUint32(key, at + 16)
    const mixed = a ^ Math.imul(e, 0x85ebca6b)
    const place = placeWords * (Math.imul(mixed ^ (mixed >>> 15), 0x9e3779b1) >>> (32 - placeBits))
    const places = this.#places
    if (
      places[place] === a &&
      places[place + 1] === b &&
      places[place + 2] === c &&
      places[place + 3] === d &&
      places[place + 4] === e &&
      places[place + 5] !== noContract
    )
      return places[place + 5] as number
    for (let byte = 0; byte < addressBytes; byte++) this.#asked[byte] = key[at + byte] as number
    const row = this.#table.viewUntilNextRead(this.#asked)
    if (row === undefined) return noContract
    const id = readUint32(row, 0)
    places.set([a, b, c, d, e, id], place)
    return id
  }

  /** Throws RangeError for a number that was never assigned. */
  addressOf(id: number): Uint8Array {
    const address = id === noContract ? undefined : this.#table.getBinary(idKey(id))
    if (address?.length === addressBytes) return address
    throw new RangeError(`no contract has the number ${id} that rows are of`)
  }

  /** The last number that was assigned. */
  protected get last(): number {
    const row = this.#table.getBinary(lastKey)
    return row === undefined ? noContract : readUint32(row, 0)
  }

  /** Faults of the table: the two rows of each contract must name each other. */
  *faults(): Generator<string> {
    const { last } = this
    let rows = 0
    for (const { key, value } of this.#table.getRange()) {
      if (equalBytes(key, lastKey)) continue
      rows++
      const lengths = key.length === idBytes ? addressBytes : key.length === addressBytes ? idBytes : -1
      const other = value.length === lengths ? this.#table.getBinary(value) : undefined
      if (other === undefined || !equalBytes(other, key))
        yield `the row ${Buffer.from(key).toString('hex')} has no other that names it`
      else if (key.length === idBytes && readUint32(key, 0) > last)
        yield `number ${readUint32(key, 0)} is above the last, ${last}`
    }
    if (rows !== 2 * last) yield `there are ${rows} rows of ${last} numbers`
  }

  /** Empties the cache, because a failed transaction may have assigned numbers in it. */
  forget(): void {
    this.#places.fill(noContract)
  }
}

/** Numbers contracts for a writer, in the transaction of their first rows. */
export class NewContractIds extends ContractIds {
  readonly #table: WriteTable

  constructor(table: WriteTable) {
    super(table)
    this.#table = table
  }

  /** Like {@link find}, but assigns a new number to a contract without one. */
  findOrGive(key: Uint8Array, at: number): number {
    const found = this.find(key, at)
    if (found !== noContract) return found
    const { last } = this
    if (last >= idMax) throw new Error(`the store has numbers for ${idMax} contracts, and all are given`)
    const address = key.slice(at, at + addressBytes)
    const id = idKey(last + 1)
    this.#table.putSync(address, id)
    this.#table.putSync(id, address)
    this.#table.putSync(lastKey, id)
    return last + 1
  }
}

export function idKey(id: number): Uint8Array {
  const key = new Uint8Array(idBytes)
  writeUint32(key, id, 0)
  return key
}
