/** Writes the table `held` within the transactions of its store: what was proved, what blocks change, and the way back. */
import { equalBytes, type Hash32, latin1KeyToBytes, noBytes } from '../../primitives/bytes.js'
import { decodeRlpList, rlpBytes } from '../../primitives/rlp.js'
import type { BlockName } from './chainRows.js'
import {
  decodeHeld,
  decodeReplaced,
  encodeHeld,
  encodeMarks,
  encodeReplaced,
  type HeldMarks,
  type HeldRow,
  heldKey,
  heldKinds,
  holdsAt,
  indexKey,
  indexKind,
  readIndexKey,
  readMarks,
  replacedKey,
  replacedKind,
  unknownRoot,
} from './heldRows.js'
import type { WriteTable } from './readTable.js'
import { metaKeys } from './tables.js'

/** What a block does to one account. */
export interface AccountChange {
  readonly address: Uint8Array
  /** The account after it, from that before it (RLP; empty for none); undefined where it does not follow from that. */
  after(before: Uint8Array): Uint8Array | undefined
  /** Code that it has since, with its hash. */
  readonly code: readonly [hash: Uint8Array, code: Uint8Array] | undefined
  /** Every slot that it changes: {@link latin1Key} of the slot → value without leading zeros. */
  readonly slots: ReadonlyMap<string, Uint8Array>
}

/** What a block does to the state: each account that it changes, by the {@link latin1Key} of its address. */
export type BlockChanges = ReadonlyMap<string, AccountChange>

/** An account and slots of it that were proved after a block. */
export interface ProvedValues {
  readonly address: Uint8Array
  /** RLP; empty where there is none. */
  readonly account: Uint8Array
  readonly slots: readonly (readonly [slot: Uint8Array, value: Uint8Array])[]
}

/** Least blocks of which the way back is kept: more than a branch that is followed may have. */
export const undoBlocksMin = 256
/** Rows of the past that are removed with one block; busy blocks replace fewer. */
const prunedMax = 8_192

/** Place of the storage root among the fields of an account (yellow paper 4.1). */
const rootAt = 2

export class HeldValues {
  readonly #held: WriteTable
  readonly #code: WriteTable
  readonly #meta: WriteTable

  constructor({ held, code, meta }: Readonly<Record<'held' | 'code' | 'meta', WriteTable>>) {
    this.#held = held
    this.#code = code
    this.#meta = meta
  }

  get marks(): HeldMarks {
    return readMarks(this.#meta) ?? { from: 0, floor: 0 }
  }

  /** Whether it was kept with every head up to this one: no other program moved it. */
  isAt(head: Hash32): boolean {
    const marks = readMarks(this.#meta)
    return marks !== undefined && equalBytes(marks.head, head)
  }

  /** Begins anew at a block: what was held before may belong to another chain, and holds nowhere. */
  restart({ number, hash }: BlockName): void {
    this.#meta.putSync(metaKeys.held, encodeMarks({ from: number, floor: number, head: hash }))
  }

  /** From a block on changes are taken in, and before it some were missed: what was held holds no longer. */
  miss({ number, hash }: BlockName): void {
    this.#meta.putSync(metaKeys.held, encodeMarks({ ...this.marks, from: number, head: hash }))
  }

  /** Takes in what a block changes of what is held. Its parent is the newest that was taken in. */
  apply({ number, hash }: BlockName, changes: BlockChanges): void {
    const { marks } = this
    this.#meta.putSync(metaKeys.held, encodeMarks({ ...marks, head: hash }))
    for (const change of changes.values()) {
      const { address, slots, code } = change
      const key = heldKey('account', address)
      const account = this.#read(key)
      if (account !== undefined && holdsAt(account, number - 1, marks)) {
        const value = change.after(account.value)
        if (value === undefined) this.#forget(number, key)
        else if (!equalBytes(value, account.value)) this.#replace(number, key, value, marks)
        if (code !== undefined) this.#code.putSync(...code)
      }
      const whole = slots.size === 0 ? undefined : this.#read(heldKey('whole', address))
      const isWhole = whole !== undefined && holdsAt(whole, number - 1, marks)
      for (const [name, value] of slots) {
        const slot = heldKey('slot', address, latin1KeyToBytes(name))
        if (isWhole || this.#held.doesExist(slot)) this.#replace(number, slot, value, marks)
      }
    }
  }

  /** Holds what was proved after the head. False where something else was held for right: then all has to be proved again. */
  prove(head: BlockName, { address, account, slots }: ProvedValues): boolean {
    const isRight = this.#prove(head.number, heldKey('account', address), account)
    const areRight = slots.map(([slot, value]) =>
      this.#prove(head.number, heldKey('slot', address, slot), value),
    )
    if (isRight && !areRight.includes(false)) return true
    this.restart(head)
    return false
  }

  /** Holds all slots of an account after the head: those that are not zero are given. */
  proveWhole(head: BlockName, proved: ProvedValues): boolean {
    if (!this.prove(head, proved)) return false
    const { number } = head
    // For as long as the rest is known to be zero, these must not be unknown.
    for (const [slot] of proved.slots) {
      const key = heldKey('slot', proved.address, slot)
      const row = this.#read(key)
      if (row === undefined || row.last >= number) continue
      this.#keepReplaced(number, key, row, true)
      this.#held.putSync(key, encodeHeld({ ...row, last: number }))
    }
    const key = heldKey('whole', proved.address)
    const { marks } = this
    const before = this.#read(key)
    if (before === undefined || !holdsAt(before, number, marks)) this.#replace(number, key, noBytes, marks)
    return true
  }

  /** Slots of an account of which a newest value is held. */
  *slotsOf(address: Uint8Array): Generator<Hash32> {
    const start = heldKey('slot', address)
    const end = heldKey('slot', address, new Uint8Array(33).fill(0xff))
    for (const { key } of this.#held.getRange({ start, end })) yield key.slice(start.length) as Hash32
  }

  /** Whether all slots of an account are held after the head, block `number`. */
  isWhole(address: Uint8Array, number: number): boolean {
    const row = this.#read(heldKey('whole', address))
    return row !== undefined && holdsAt(row, number, this.marks)
  }

  /** Takes back what block `number`, which is the head, changed, and what was proved after it. */
  unwind(number: number): void {
    const range = { start: indexKey(number), end: indexKey(number + 1) }
    const indexes = Array.from(this.#held.getRange(range), ({ key }) => Uint8Array.from(key))
    for (const index of indexes) {
      const [, key] = readIndexKey(index)
      this.#held.removeSync(index)
      const replaced = replacedKey(key, number)
      const before = this.#held.getBinary(replaced)
      if (before === undefined) {
        this.#cutShort(key, number - 1)
        continue
      }
      const row = decodeReplaced(Uint8Array.from(before))
      this.#held.removeSync(replaced)
      if (row === undefined) this.#held.removeSync(key)
      else this.#held.putSync(key, encodeHeld(row))
    }
    const marks = readMarks(this.#meta)
    if (marks === undefined || marks.from < number) return
    this.#meta.putSync(metaKeys.held, encodeMarks({ ...marks, from: Math.max(number - 1, 0) }))
  }

  /** Removes values that were replaced in blocks up to `number`, some thousand at a time. Returns whether there are more. */
  prune(number: number): boolean {
    const range = { start: indexKey(0), end: indexKey(Math.max(number, 0) + 1), limit: prunedMax }
    const indexes = Array.from(this.#held.getRange(range), ({ key }) => Uint8Array.from(key))
    for (const index of indexes) {
      const [at, key] = readIndexKey(index)
      this.#held.removeSync(replacedKey(key, at))
      this.#held.removeSync(index)
    }
    const marks = readMarks(this.#meta)
    if (indexes.length > 0 && marks !== undefined && marks.floor < number) {
      this.#meta.putSync(metaKeys.held, encodeMarks({ ...marks, floor: number }))
    }
    return indexes.length === prunedMax
  }

  /** Number of the oldest block whose way back is kept; undefined where there is none. */
  get oldest(): number | undefined {
    const range = { start: Uint8Array.of(indexKind), end: Uint8Array.of(indexKind + 1), limit: 1 }
    for (const { key } of this.#held.getRange(range)) return readIndexKey(key)[0]
    return undefined
  }

  /** Up to `limit` keys of newest values from `start` on, in order. */
  keysFrom(start: Uint8Array, limit: number): Uint8Array[] {
    const range = { start, end: Uint8Array.of(replacedKind), limit }
    return Array.from(this.#held.getRange(range), ({ key }) => Uint8Array.from(key))
  }

  /** Drops a value, which is proved again when it is asked for. Without it nobody can say that other slots are zero. */
  drop(key: Uint8Array): void {
    this.#held.removeSync(key)
    const whole = heldKey('whole', key.subarray(1, 21))
    if (!this.#held.doesExist(whole)) return
    const range = { start: replacedKey(whole, 0), end: replacedKey(whole, Number.MAX_SAFE_INTEGER) }
    const replaced = Array.from(this.#held.getRange(range), (entry) => Uint8Array.from(entry.key))
    for (const each of [whole, ...replaced]) this.#held.removeSync(each)
  }

  #prove(number: number, key: Uint8Array, value: Uint8Array): boolean {
    const { marks } = this
    const row = this.#read(key)
    if (row === undefined || !holdsAt(row, number, marks)) {
      const isNext = row !== undefined && row.last === number - 1 && equalBytes(row.value, value)
      if (isNext) this.#extend(number, key, row)
      else this.#replace(number, key, value, marks)
      return true
    }
    if (equalBytes(row.value, value)) return true
    if (key[0] !== heldKinds.account || !areSameButRoot(row.value, value)) return false
    // What it was replaced by, and when, stays as it is.
    if (isRootUnknown(row.value)) this.#held.putSync(key, encodeHeld({ ...row, value }))
    else if (!isRootUnknown(value)) return false
    return true
  }

  /** A value that was proved after the block before holds after one more. */
  #extend(number: number, key: Uint8Array, row: HeldRow): void {
    this.#held.putSync(indexKey(number, key), noBytes)
    this.#held.putSync(key, encodeHeld({ ...row, last: number }))
  }

  #replace(number: number, key: Uint8Array, value: Uint8Array, marks: HeldMarks): void {
    const row = this.#read(key)
    const isHeld = row !== undefined && holdsAt(row, number - 1, marks)
    if (isHeld && equalBytes(row.value, value) && row.last >= marks.from) return
    this.#keepReplaced(number, key, row, isHeld)
    this.#held.putSync(key, encodeHeld({ first: number, last: number, value }))
  }

  #forget(number: number, key: Uint8Array): void {
    this.#keepReplaced(number, key, this.#read(key), true)
    this.#held.removeSync(key)
  }

  /** What a block replaces first is what was there before it. */
  #keepReplaced(number: number, key: Uint8Array, row: HeldRow | undefined, isHeld: boolean): void {
    const replaced = replacedKey(key, number)
    if (this.#held.doesExist(replaced)) return
    this.#held.putSync(indexKey(number, key), noBytes)
    this.#held.putSync(replaced, encodeReplaced(row, isHeld))
  }

  /** A value that was extended holds up to block `last` at most. */
  #cutShort(key: Uint8Array, last: number): void {
    const row = this.#read(key)
    if (row === undefined || row.last <= last) return
    if (row.first > last) this.#held.removeSync(key)
    else this.#held.putSync(key, encodeHeld({ ...row, last }))
  }

  #read(key: Uint8Array): HeldRow | undefined {
    const row = this.#held.getBinary(key)
    return row && decodeHeld(Uint8Array.from(row))
  }
}

/** Whether two accounts (RLP) are alike but for their storage roots. */
function areSameButRoot(account: Uint8Array, other: Uint8Array): boolean {
  if (account.length === 0 || other.length === 0) return false
  const own = decodeRlpList(account).map(rlpBytes)
  const its = decodeRlpList(other).map(rlpBytes)
  return own.every((field, at) => at === rootAt || equalBytes(field, its[at] as Uint8Array))
}

/** Whether nobody told the storage root of an account (RLP). */
function isRootUnknown(account: Uint8Array): boolean {
  return equalBytes(rlpBytes(decodeRlpList(account)[rootAt]), unknownRoot)
}
