/**
 * Block access lists (EIP-7928): the accounts and slots that a block reads and writes, with every value after each
 * write. Owns their RLP, whose hash is in the header from Amsterdam on, its check, and its JSON. The entries of a block
 * follow from its execution.
 *
 * In RLP a list is `[[address, storageChanges, storageReads, balanceChanges, nonceChanges, codeChanges], …]` with
 * `storageChanges = [[slot, [[index, value], …]], …]`, `storageReads = [slot, …]` and lists of `[index, value]` for the
 * others. Slots and values are integers without leading zeros.
 */
import {
  addressBytes,
  bytesToHex,
  bytesToNumber,
  type Hash32,
  padLeft,
  toMinimalBytes,
  trimLeft,
} from '../../primitives/bytes.js'
import { ascii, closeBrace, type JsonBytes } from '../../primitives/jsonBytes.js'
import { keccak256 } from '../../primitives/keccak.js'
import {
  decodeRlp,
  encodeRlp,
  RlpError,
  type RlpItem,
  rlpBytes,
  rlpEndAt,
  rlpList,
  rlpPayloadAt,
} from '../../primitives/rlp.js'
import { writeHexItem, writeItems, writeQuantityItem } from './rlpJson.js'

/** A value after a part of a block: index 0 before transactions, 1 to n for transactions, n + 1 after them. */
export interface IndexedValue {
  readonly index: number
  /** A minimal big-endian integer (a slot's value, a balance in wei, a nonce), or code. */
  readonly value: Uint8Array
}

export interface SlotChanges {
  /** 32 bytes. */
  readonly slot: Uint8Array
  readonly changes: readonly IndexedValue[]
}

export interface AccountAccess {
  /** 20 bytes. */
  readonly address: Uint8Array
  readonly storageChanges: readonly SlotChanges[]
  /** Slots that are read but not changed, 32 bytes each. */
  readonly storageReads: readonly Uint8Array[]
  readonly balanceChanges: readonly IndexedValue[]
  readonly nonceChanges: readonly IndexedValue[]
  readonly codeChanges: readonly IndexedValue[]
}

/** Accounts in the order of their addresses; slots and indices ascend as well. */
export type BlockAccessList = readonly AccountAccess[]

/** Limits of a list in a block. */
interface BlockAccessLimits {
  readonly transactionCount: number
  readonly gasLimit: bigint
}

/** The bytes are not a valid block access list for this block. */
export class BlockAccessListError extends Error {
  override readonly name = 'BlockAccessListError'
}

/** EIP-7928: gas of the block's limit for each address and each slot. */
const itemGas = 2000n
const wordBytes = 32
/** EIP-7928: an index is a uint32, a nonce a uint64. */
const indexBytesMax = 4
const nonceBytesMax = 8

/** The list's RLP. `list` must be ordered as {@link BlockAccessList} requires. */
export function encodeBlockAccessList(list: BlockAccessList): Uint8Array<ArrayBuffer> {
  return encodeRlp(
    list.map((account) => [
      account.address,
      account.storageChanges.map(({ slot, changes }) => [trimLeft(slot), changes.map(indexedItem)]),
      account.storageReads.map(trimLeft),
      account.balanceChanges.map(indexedItem),
      account.nonceChanges.map(indexedItem),
      account.codeChanges.map(indexedItem),
    ]),
  )
}

function indexedItem({ index, value }: IndexedValue): RlpItem {
  return [toMinimalBytes(index), value]
}

/** The hash of a block's list in its header: Keccak-256 of the RLP. */
export function blockAccessListHash(rlp: Uint8Array): Hash32 {
  return keccak256(rlp)
}

/** Limits for a list whose items and whose block's transactions the importer has counted. */
export const anyBlock: BlockAccessLimits = { transactionCount: 2 ** 31, gasLimit: 2n ** 63n }

/**
 * Decodes a list from RLP and checks its form by EIP-7928. Checks cover order, uniqueness, minimal integers, indices,
 * and the number of items for the block's gas limit. Throws {@link BlockAccessListError}, which names the account and
 * the fault. Code and values are views of `rlp`.
 */
export function decodeBlockAccessList(rlp: Uint8Array, limits: BlockAccessLimits): BlockAccessList {
  try {
    return new ListDecoder(limits).decode(decodeRlp(rlp))
  } catch (error) {
    if (error instanceof RlpError) throw new BlockAccessListError(`block access list: ${error.message}`)
    throw error
  }
}

class ListDecoder {
  readonly #indexMax: number
  readonly #itemsMax: bigint
  #items = 0

  constructor({ transactionCount, gasLimit }: BlockAccessLimits) {
    this.#indexMax = transactionCount + 1
    this.#itemsMax = gasLimit / itemGas
  }

  decode(item: RlpItem): BlockAccessList {
    const list = rlpList(item).map((account) => this.#account(account))
    requireAscending(list, ({ address }) => address, 'block access list: addresses')
    return list
  }

  #account(item: RlpItem): AccountAccess {
    const fields = rlpList(item)
    if (fields.length !== 6) {
      throw new BlockAccessListError(`block access list: an account has ${fields.length} fields instead of 6`)
    }
    const address = rlpBytes(fields[0])
    if (address.length !== addressBytes) {
      throw new BlockAccessListError(
        `block access list: an address has ${address.length} bytes instead of 20`,
      )
    }
    const where = `block access list: ${bytesToHex(address)}:`
    this.#count(where)
    const storageChanges = rlpList(fields[1]).map((entry) => this.#slotChanges(entry, where))
    const storageReads = rlpList(fields[2]).map((entry) => this.#slot(entry, where))
    requireAscending(storageChanges, ({ slot }) => slot, `${where} changed slots`)
    requireAscending(storageReads, (slot) => slot, `${where} read slots`)
    requireDisjoint(storageChanges, storageReads, where)
    const values = (index: number, name: string, bytesMax: number | undefined) =>
      this.#indexed(fields[index], `${where} ${name}`, bytesMax)
    return {
      address,
      storageChanges,
      storageReads,
      balanceChanges: values(3, 'balance', wordBytes),
      nonceChanges: values(4, 'nonce', nonceBytesMax),
      codeChanges: values(5, 'code', undefined),
    }
  }

  #slotChanges(item: RlpItem, where: string): SlotChanges {
    const fields = rlpList(item)
    if (fields.length !== 2) throw new BlockAccessListError(`${where} a changed slot is no pair`)
    const slot = this.#slot(fields[0], where)
    const changes = this.#indexed(fields[1], `${where} slot ${bytesToHex(slot)}`, wordBytes)
    if (changes.length === 0) {
      throw new BlockAccessListError(`${where} slot ${bytesToHex(slot)} has no change`)
    }
    return { slot, changes }
  }

  #slot(item: RlpItem | undefined, where: string): Uint8Array {
    this.#count(where)
    return padLeft(integer(item, `${where} slot`, wordBytes), wordBytes)
  }

  /** Values by index; `bytesMax` is undefined for code, which is not an integer. */
  #indexed(item: RlpItem | undefined, what: string, bytesMax: number | undefined): IndexedValue[] {
    let last = -1
    return rlpList(item).map((entry) => {
      const fields = rlpList(entry)
      if (fields.length !== 2) throw new BlockAccessListError(`${what}: a change is no pair`)
      const index = bytesToNumber(integer(fields[0], `${what}: index`, indexBytesMax))
      if (index <= last) {
        throw new BlockAccessListError(`${what}: index ${index} comes after ${last}, indices must ascend`)
      }
      if (index > this.#indexMax) {
        throw new BlockAccessListError(`${what}: index ${index} is above the block's last, ${this.#indexMax}`)
      }
      last = index
      const value = bytesMax === undefined ? rlpBytes(fields[1]) : integer(fields[1], what, bytesMax)
      return { index, value }
    })
  }

  #count(where: string): void {
    this.#items++
    if (this.#items > this.#itemsMax) {
      throw new BlockAccessListError(
        `${where} the list has more items than the block's gas limit allows, ${this.#itemsMax} addresses and slots`,
      )
    }
  }
}

function integer(item: RlpItem | undefined, what: string, bytesMax: number): Uint8Array {
  const bytes = rlpBytes(item)
  if (bytes[0] === 0) throw new BlockAccessListError(`${what} has leading zeros`)
  if (bytes.length > bytesMax) throw new BlockAccessListError(`${what} is longer than ${bytesMax} bytes`)
  return bytes
}

function requireAscending<T>(items: readonly T[], keyOf: (item: T) => Uint8Array, what: string): void {
  for (let i = 1; i < items.length; i++) {
    const before = keyOf(items[i - 1] as T)
    const key = keyOf(items[i] as T)
    const order = Buffer.compare(before, key)
    if (order === 0) throw new BlockAccessListError(`${what}: ${bytesToHex(key)} is there twice`)
    if (order > 0) {
      throw new BlockAccessListError(
        `${what}: ${bytesToHex(key)} comes after ${bytesToHex(before)}, not in order`,
      )
    }
  }
}

/** Throws if a slot is in both lists, which are ordered. */
function requireDisjoint(changed: readonly SlotChanges[], read: readonly Uint8Array[], where: string): void {
  let at = 0
  for (const { slot } of changed) {
    while (at < read.length && Buffer.compare(read[at] as Uint8Array, slot) < 0) at++
    if (at < read.length && Buffer.compare(read[at] as Uint8Array, slot) === 0) {
      throw new BlockAccessListError(`${where} slot ${bytesToHex(slot)} is among changes and reads`)
    }
  }
}

/** Number of addresses and slots in a well-formed list, which EIP-7928 limits by the block's gas limit. */
export function blockAccessItems(rlp: Uint8Array): number {
  let items = 0
  forEachItem(rlp, 0, (account) => {
    items++
    const storageChanges = rlpEndAt(rlp, rlpPayloadAt(rlp, account))
    const storageReads = rlpEndAt(rlp, storageChanges)
    forEachItem(rlp, storageChanges, () => items++)
    forEachItem(rlp, storageReads, () => items++)
  })
  return items
}

/** Throws {@link BlockAccessListError} if a well-formed list has more items than the block's gas limit allows. */
export function checkBlockAccessItems(rlp: Uint8Array, gasLimit: bigint): void {
  const items = blockAccessItems(rlp)
  const itemsMax = gasLimit / itemGas
  if (items > itemsMax) {
    throw new BlockAccessListError(
      `block access list: ${items} addresses and slots, the block's gas limit allows ${itemsMax}`,
    )
  }
}

/** Calls `visit` with the offset of each item of the list at `offset`. */
function forEachItem(rlp: Uint8Array, offset: number, visit: (at: number) => void): void {
  const end = rlpEndAt(rlp, offset)
  for (let at = rlpPayloadAt(rlp, offset); at < end; at = rlpEndAt(rlp, at)) visit(at)
}

const addressName = ascii('{"address":')
const storageChangesName = ascii(',"storageChanges":')
const storageReadsName = ascii(',"storageReads":')
const balanceChangesName = ascii(',"balanceChanges":')
const nonceChangesName = ascii(',"nonceChanges":')
const codeChangesName = ascii(',"codeChanges":')
const keyName = ascii('{"key":')
const changesName = ascii(',"changes":')
const indexName = ascii('{"index":')
const valueName = ascii(',"value":')
const codeName = ascii(',"code":')

/**
 * Writes the list in the form of execution-apis (schema BlockAccessList), from well-formed RLP. Slots and their values
 * have 32 bytes; indices, balances and nonces are quantities.
 */
export function writeBlockAccessList(json: JsonBytes, rlp: Uint8Array): void {
  writeItems(json, rlp, 0, (account) => {
    const address = rlpPayloadAt(rlp, account)
    const storageChanges = rlpEndAt(rlp, address)
    const storageReads = rlpEndAt(rlp, storageChanges)
    const balances = rlpEndAt(rlp, storageReads)
    const nonces = rlpEndAt(rlp, balances)
    const code = rlpEndAt(rlp, nonces)
    json.constant(addressName)
    writeHexItem(json, rlp, address)
    json.constant(storageChangesName)
    writeItems(json, rlp, storageChanges, (entry) => {
      const slot = rlpPayloadAt(rlp, entry)
      json.constant(keyName)
      writeWord(json, rlp, slot)
      json.constant(changesName)
      writeIndexed(json, rlp, rlpEndAt(rlp, slot), writeWord)
      json.constant(closeBrace)
    })
    json.constant(storageReadsName)
    writeItems(json, rlp, storageReads, (slot) => writeWord(json, rlp, slot))
    json.constant(balanceChangesName)
    writeIndexed(json, rlp, balances, writeQuantityItem)
    json.constant(nonceChangesName)
    writeIndexed(json, rlp, nonces, writeQuantityItem)
    json.constant(codeChangesName)
    writeIndexed(json, rlp, code, writeHexItem, codeName)
    json.constant(closeBrace)
  })
}

function writeIndexed(
  json: JsonBytes,
  rlp: Uint8Array,
  list: number,
  writeValue: (json: JsonBytes, rlp: Uint8Array, at: number) => void,
  name = valueName,
): void {
  writeItems(json, rlp, list, (change) => {
    const index = rlpPayloadAt(rlp, change)
    json.constant(indexName)
    writeQuantityItem(json, rlp, index)
    json.constant(name)
    writeValue(json, rlp, rlpEndAt(rlp, index))
    json.constant(closeBrace)
  })
}

const word = new Uint8Array(wordBytes)

/** Writes an integer as 32 bytes. */
function writeWord(json: JsonBytes, rlp: Uint8Array, at: number): void {
  const start = rlpPayloadAt(rlp, at)
  const end = rlpEndAt(rlp, at)
  word.fill(0)
  word.set(rlp.subarray(start, end), wordBytes - (end - start))
  json.hex(word)
}
