/**
 * Proved values of a gateway's state, each with the blocks after which it holds: rows of table `held`. A replaced value
 * is kept as long as the past is, under the number of the block that replaced it. It serves reads at older blocks, and
 * unwinding. Owns the layout and its reading; storedValues.ts owns the writing.
 *
 * A key is a kind (1 byte) ‖ address ‖ slot if it is one. Its row is first block ‖ last block (8 bytes each) ‖ value.
 * The value holds from the first to the last block. If the last is not below {@link ValueBounds.from}, it holds up to the
 * head, because the changes of each block since then were applied. An empty value means no account, or a zero slot.
 *
 * The row of a replaced value is a byte ‖ the old row. The byte is 1 if the value held up to the block before. The old
 * row is empty if there was none.
 */
import { addressBytes, concatBytes, noBytes, readUint64, writeUint64 } from '../../../primitives/bytes.js'
import type { ReadTable } from '../readTable.js'
import { metaKeys } from '../tables.js'

/** First byte of keys. The key of a replaced value has {@link replacedKind} added, and ends with the block number. */
export const storedKinds = {
  /** Account, RLP. Its storage root is {@link unknownRoot} if it changed and the new root is not known. */
  account: 0,
  /** Slot value without leading zeros. */
  slot: 1,
  /** Marks an account with all slots stored: slots without a row are zero. The value is empty. */
  whole: 2,
} as const
export const replacedKind = 0x10
/** 0x20 ‖ block number ‖ key → nothing: the keys that a block replaced or proved first. */
export const indexKind = 0x20

const numberBytes = 8
const rangeBytes = 2 * numberBytes

/** In place of an unknown storage root: no trie has it. */
export const unknownRoot = new Uint8Array(32)

/** Validity of all rows. */
export interface ValueBounds {
  /** From this block on, up to the head, the changes of every block were applied. */
  readonly from: number
  /** Before this block no value is known. */
  readonly floor: number
}

/** The stored form: 8 bytes each ‖ hash of the head for which they are right. */
export interface StoredBounds extends ValueBounds {
  readonly head: Uint8Array
}

export interface StoredValue {
  readonly first: number
  readonly last: number
  readonly value: Uint8Array
}

export function storedValueKey(
  kind: keyof typeof storedKinds,
  address: Uint8Array,
  slot?: Uint8Array,
): Uint8Array {
  const key = new Uint8Array(1 + addressBytes + (slot?.length ?? 0))
  key[0] = storedKinds[kind]
  key.set(address, 1)
  if (slot !== undefined) key.set(slot, 1 + addressBytes)
  return key
}

/** Key of the value that block `number` replaced. */
export function replacedKey(key: Uint8Array, number: number): Uint8Array {
  const replaced = new Uint8Array(key.length + numberBytes)
  replaced.set(key)
  replaced[0] = (key[0] as number) + replacedKind
  writeUint64(replaced, number, key.length)
  return replaced
}

export function indexKey(number: number, key: Uint8Array = new Uint8Array(0)): Uint8Array {
  const index = new Uint8Array(1 + numberBytes + key.length)
  index[0] = indexKind
  writeUint64(index, number, 1)
  index.set(key, 1 + numberBytes)
  return index
}

/** Splits a key of {@link indexKey} into block number and key. */
export function readIndexKey(index: Uint8Array): readonly [number: number, key: Uint8Array] {
  return [readUint64(index, 1), index.slice(1 + numberBytes)]
}

export function encodeStoredValue({ first, last, value }: StoredValue): Uint8Array {
  const row = new Uint8Array(rangeBytes + value.length)
  writeUint64(row, first, 0)
  writeUint64(row, last, numberBytes)
  row.set(value, rangeBytes)
  return row
}

export function decodeStoredValue(row: Uint8Array): StoredValue {
  return { first: readUint64(row, 0), last: readUint64(row, numberBytes), value: row.subarray(rangeBytes) }
}

/** Encodes a replaced row; `wasCurrent`: it held up to the block before. */
export function encodeReplaced(row: StoredValue | undefined, wasCurrent: boolean): Uint8Array {
  return row === undefined ? noBytes : concatBytes(Uint8Array.of(Number(wasCurrent)), encodeStoredValue(row))
}

/** The row that a block replaced; undefined if there was none. */
export function decodeReplaced(bytes: Uint8Array): StoredValue | undefined {
  return bytes.length === 0 ? undefined : decodeStoredValue(bytes.subarray(1))
}

export function encodeBounds({ from, floor, head }: StoredBounds): Uint8Array {
  const row = new Uint8Array(rangeBytes + head.length)
  writeUint64(row, from, 0)
  writeUint64(row, floor, numberBytes)
  row.set(head, rangeBytes)
  return row
}

/** Undefined if no value was ever stored. */
export function readBounds(meta: ReadTable): StoredBounds | undefined {
  const row = meta.getBrief(metaKeys.valueBounds)
  return (
    row && { from: readUint64(row, 0), floor: readUint64(row, numberBytes), head: row.subarray(rangeBytes) }
  )
}

/** Whether a row's value holds after block `number`, which is not above the head. */
export function holdsAt({ first, last }: StoredValue, number: number, { from, floor }: ValueBounds): boolean {
  return number >= floor && first <= number && (number <= last || last >= from)
}

/**
 * The value under a key after canonical block `number`, which is not above the head. Empty for none or zero; undefined
 * if it is not known.
 */
export function readStoredValue(
  table: ReadTable,
  bounds: ValueBounds,
  key: Uint8Array,
  number: number,
): Uint8Array | undefined {
  const stored = table.getBrief(key)
  if (stored !== undefined) {
    const row = decodeStoredValue(stored)
    if (row.first <= number) return holdsAt(row, number, bounds) ? row.value : undefined
  }
  const range = {
    start: replacedKey(key, number + 1),
    end: replacedKey(key, Number.MAX_SAFE_INTEGER),
    limit: 1,
  }
  for (const { value } of table.getRange(range)) {
    const replaced = Uint8Array.from(value)
    const row = decodeReplaced(replaced)
    const from = replaced[0] === 1 ? 0 : Number.POSITIVE_INFINITY
    return row && holdsAt(row, number, { from, floor: bounds.floor }) ? row.value : undefined
  }
  return undefined
}

/** Like {@link readStoredValue}, but for a slot. In an account with all slots stored, a slot without a row is zero. */
export function readStoredSlot(
  table: ReadTable,
  bounds: ValueBounds,
  address: Uint8Array,
  slot: Uint8Array,
  number: number,
): Uint8Array | undefined {
  const value = readStoredValue(table, bounds, storedValueKey('slot', address, slot), number)
  if (value !== undefined) return value
  return readStoredValue(table, bounds, storedValueKey('whole', address), number)
}
