/** Writes the table `held` within the transactions of its store: proved values, changes of blocks, and unwinding. */
import { equalBytes, type Hash32, latin1KeyToBytes, noBytes } from '../../primitives/bytes.js'
import { decodeRlpList, rlpBytes } from '../../primitives/rlp.js'
import type { BlockName } from './chainRows.js'
import {
  decodeReplaced,
  decodeStoredValue,
  encodeBounds,
  encodeReplaced,
  encodeStoredValue,
  holdsAt,
  indexKey,
  indexKind,
  readBounds,
  readIndexKey,
  replacedKey,
  replacedKind,
  type StoredValue,
  storedKinds,
  storedValueKey,
  unknownRoot,
  type ValueBounds,
} from './layouts/storedValueRows.js'
import type { WriteTable } from './readTable.js'
import { metaKeys } from './tables.js'

/** Effect of a block on one account. */
export interface AccountChange {
  readonly address: Uint8Array
  /** The account after the block, from `before` (RLP; empty for none); undefined if `before` does not determine it. */
  after(before: Uint8Array): Uint8Array | undefined
  /** The account's new code with its hash. */
  readonly code: readonly [hash: Uint8Array, code: Uint8Array] | undefined
  /** Every slot that the block changes: {@link latin1Key} of the slot → value without leading zeros. */
  readonly slots: ReadonlyMap<string, Uint8Array>
}

/** Effect of a block on the state: each changed account, by the {@link latin1Key} of its address. */
export type BlockChanges = ReadonlyMap<string, AccountChange>

/** An account and some of its slots, proved after a block. */
export interface ProvedValues {
  readonly address: Uint8Array
  /** RLP of the account; empty if it does not exist. */
  readonly account: Uint8Array
  readonly slots: readonly (readonly [slot: Uint8Array, value: Uint8Array])[]
}

/** Least number of blocks that can be unwound: more than the longest branch that is followed. */
export const undoBlocksMin = 256
/** Past rows that are removed with one block; busy blocks replace fewer. */
const prunedMax = 8_192

/** Place of the storage root among the fields of an account (yellow paper 4.1). */
const rootAt = 2

export class StoredValues {
  readonly #values: WriteTable
  readonly #code: WriteTable
  readonly #meta: WriteTable

  constructor({ values, code, meta }: Readonly<Record<'values' | 'code' | 'meta', WriteTable>>) {
    this.#values = values
    this.#code = code
    this.#meta = meta
  }

  get bounds(): ValueBounds {
    return readBounds(this.#meta) ?? { from: 0, floor: 0 }
  }

  /** Whether the table was updated with every head up to this one, and no other program moved the head. */
  isAt(head: Hash32): boolean {
    const bounds = readBounds(this.#meta)
    return bounds !== undefined && equalBytes(bounds.head, head)
  }

  /** Starts over at a block: earlier values may belong to another chain and are valid at no block. */
  restart({ number, hash }: BlockName): void {
    this.#meta.putSync(metaKeys.valueBounds, encodeBounds({ from: number, floor: number, head: hash }))
  }

  /** Changes are applied from this block on, and some before it were missed: earlier values are no longer valid. */
  miss({ number, hash }: BlockName): void {
    this.#meta.putSync(metaKeys.valueBounds, encodeBounds({ ...this.bounds, from: number, head: hash }))
  }

  /** Applies the changes of a block to the stored values. Its parent must be the last block that was applied. */
  apply({ number, hash }: BlockName, changes: BlockChanges): void {
    const { bounds } = this
    this.#meta.putSync(metaKeys.valueBounds, encodeBounds({ ...bounds, head: hash }))
    for (const change of changes.values()) {
      const { address, slots, code } = change
      const key = storedValueKey('account', address)
      const account = this.#read(key)
      if (account !== undefined && holdsAt(account, number - 1, bounds)) {
        const value = change.after(account.value)
        if (value === undefined) this.#forget(number, key)
        else if (!equalBytes(value, account.value)) this.#replace(number, key, value, bounds)
        if (code !== undefined) this.#code.putSync(...code)
      }
      const whole = slots.size === 0 ? undefined : this.#read(storedValueKey('whole', address))
      const isWhole = whole !== undefined && holdsAt(whole, number - 1, bounds)
      for (const [name, value] of slots) {
        const slot = storedValueKey('slot', address, latin1KeyToBytes(name))
        if (isWhole || this.#values.doesExist(slot)) this.#replace(number, slot, value, bounds)
      }
    }
  }

  /**
   * Stores values proved after the head. Returns false if they contradict stored ones: then all must be proved again.
   */
  prove(head: BlockName, { address, account, slots }: ProvedValues): boolean {
    const isRight = this.#prove(head.number, storedValueKey('account', address), account)
    const areRight = slots.map(([slot, value]) =>
      this.#prove(head.number, storedValueKey('slot', address, slot), value),
    )
    if (isRight && !areRight.includes(false)) return true
    this.restart(head)
    return false
  }

  /** Stores that all slots of an account after the head are known: the given ones, and zero for the others. */
  proveWhole(head: BlockName, proved: ProvedValues): boolean {
    if (!this.prove(head, proved)) return false
    const { number } = head
    // While the other slots are known to be zero, these must be known, too.
    for (const [slot] of proved.slots) {
      const key = storedValueKey('slot', proved.address, slot)
      const row = this.#read(key)
      if (row === undefined || row.last >= number) continue
      this.#keepReplaced(number, key, row, true)
      this.#values.putSync(key, encodeStoredValue({ ...row, last: number }))
    }
    const key = storedValueKey('whole', proved.address)
    const { bounds } = this
    const before = this.#read(key)
    if (before === undefined || !holdsAt(before, number, bounds)) this.#replace(number, key, noBytes, bounds)
    return true
  }

  /** Slots of an account that have a row of a newest value. */
  *slotsOf(address: Uint8Array): Generator<Hash32> {
    const start = storedValueKey('slot', address)
    const end = storedValueKey('slot', address, new Uint8Array(33).fill(0xff))
    for (const { key } of this.#values.getRange({ start, end })) yield key.slice(start.length) as Hash32
  }

  /** Whether all slots of an account are known after the head, block `number`. */
  isWhole(address: Uint8Array, number: number): boolean {
    const row = this.#read(storedValueKey('whole', address))
    return row !== undefined && holdsAt(row, number, this.bounds)
  }

  /** Reverts the changes of block `number`, which is the head, and drops values proved after it. */
  unwind(number: number): void {
    const range = { start: indexKey(number), end: indexKey(number + 1) }
    const indexes = Array.from(this.#values.getRange(range), ({ key }) => Uint8Array.from(key))
    for (const index of indexes) {
      const [, key] = readIndexKey(index)
      this.#values.removeSync(index)
      const replaced = replacedKey(key, number)
      const before = this.#values.getBinary(replaced)
      if (before === undefined) {
        this.#cutShort(key, number - 1)
        continue
      }
      const row = decodeReplaced(Uint8Array.from(before))
      this.#values.removeSync(replaced)
      if (row === undefined) this.#values.removeSync(key)
      else this.#values.putSync(key, encodeStoredValue(row))
    }
    const bounds = readBounds(this.#meta)
    if (bounds === undefined || bounds.from < number) return
    this.#meta.putSync(metaKeys.valueBounds, encodeBounds({ ...bounds, from: Math.max(number - 1, 0) }))
  }

  /**
   * Removes values that were replaced in blocks up to `number`, some thousand at a time. Returns whether there are
   * more.
   */
  prune(number: number): boolean {
    const range = { start: indexKey(0), end: indexKey(Math.max(number, 0) + 1), limit: prunedMax }
    const indexes = Array.from(this.#values.getRange(range), ({ key }) => Uint8Array.from(key))
    for (const index of indexes) {
      const [at, key] = readIndexKey(index)
      this.#values.removeSync(replacedKey(key, at))
      this.#values.removeSync(index)
    }
    const bounds = readBounds(this.#meta)
    if (indexes.length > 0 && bounds !== undefined && bounds.floor < number) {
      this.#meta.putSync(metaKeys.valueBounds, encodeBounds({ ...bounds, floor: number }))
    }
    return indexes.length === prunedMax
  }

  /** Number of the oldest block that can be unwound; undefined if there is none. */
  get oldest(): number | undefined {
    const range = { start: Uint8Array.of(indexKind), end: Uint8Array.of(indexKind + 1), limit: 1 }
    for (const { key } of this.#values.getRange(range)) return readIndexKey(key)[0]
    return undefined
  }

  /** Up to `limit` keys of newest values from `start` on, in order. */
  keysFrom(start: Uint8Array, limit: number): Uint8Array[] {
    const range = { start, end: Uint8Array.of(replacedKind), limit }
    return Array.from(this.#values.getRange(range), ({ key }) => Uint8Array.from(key))
  }

  /**
   * Drops a value; it is proved again on the next read. Then other slots of the account are no longer known to be zero.
   */
  drop(key: Uint8Array): void {
    this.#values.removeSync(key)
    const whole = storedValueKey('whole', key.subarray(1, 21))
    if (!this.#values.doesExist(whole)) return
    const range = { start: replacedKey(whole, 0), end: replacedKey(whole, Number.MAX_SAFE_INTEGER) }
    const replaced = Array.from(this.#values.getRange(range), (entry) => Uint8Array.from(entry.key))
    for (const each of [whole, ...replaced]) this.#values.removeSync(each)
  }

  #prove(number: number, key: Uint8Array, value: Uint8Array): boolean {
    const { bounds } = this
    const row = this.#read(key)
    if (row === undefined || !holdsAt(row, number, bounds)) {
      const isNext = row !== undefined && row.last === number - 1 && equalBytes(row.value, value)
      if (isNext) this.#extend(number, key, row)
      else this.#replace(number, key, value, bounds)
      return true
    }
    if (equalBytes(row.value, value)) return true
    if (key[0] !== storedKinds.account || !areSameButRoot(row.value, value)) return false
    // The values that it replaced stay as they are.
    if (isRootUnknown(row.value)) this.#values.putSync(key, encodeStoredValue({ ...row, value }))
    else if (!isRootUnknown(value)) return false
    return true
  }

  /** A value that was proved after the previous block is also valid after this one. */
  #extend(number: number, key: Uint8Array, row: StoredValue): void {
    this.#values.putSync(indexKey(number, key), noBytes)
    this.#values.putSync(key, encodeStoredValue({ ...row, last: number }))
  }

  #replace(number: number, key: Uint8Array, value: Uint8Array, bounds: ValueBounds): void {
    const row = this.#read(key)
    const wasCurrent = row !== undefined && holdsAt(row, number - 1, bounds)
    if (wasCurrent && equalBytes(row.value, value) && row.last >= bounds.from) return
    this.#keepReplaced(number, key, row, wasCurrent)
    this.#values.putSync(key, encodeStoredValue({ first: number, last: number, value }))
  }

  #forget(number: number, key: Uint8Array): void {
    this.#keepReplaced(number, key, this.#read(key), true)
    this.#values.removeSync(key)
  }

  /** Keeps the row as it was before the block; only the first replacement in a block counts. */
  #keepReplaced(number: number, key: Uint8Array, row: StoredValue | undefined, wasCurrent: boolean): void {
    const replaced = replacedKey(key, number)
    if (this.#values.doesExist(replaced)) return
    this.#values.putSync(indexKey(number, key), noBytes)
    this.#values.putSync(replaced, encodeReplaced(row, wasCurrent))
  }

  /** Limits an extended value to block `last`. */
  #cutShort(key: Uint8Array, last: number): void {
    const row = this.#read(key)
    if (row === undefined || row.last <= last) return
    if (row.first > last) this.#values.removeSync(key)
    else this.#values.putSync(key, encodeStoredValue({ ...row, last }))
  }

  #read(key: Uint8Array): StoredValue | undefined {
    const row = this.#values.getBinary(key)
    return row && decodeStoredValue(Uint8Array.from(row))
  }
}

/** Whether two accounts (RLP) differ only in their storage roots. */
function areSameButRoot(account: Uint8Array, other: Uint8Array): boolean {
  if (account.length === 0 || other.length === 0) return false
  const own = decodeRlpList(account).map(rlpBytes)
  const its = decodeRlpList(other).map(rlpBytes)
  return own.every((field, at) => at === rootAt || equalBytes(field, its[at] as Uint8Array))
}

/** Whether the storage root of an account (RLP) is not known. */
function isRootUnknown(account: Uint8Array): boolean {
  return equalBytes(rlpBytes(decodeRlpList(account)[rootAt]), unknownRoot)
}
