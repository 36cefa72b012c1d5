/**
 * The state after one block, for execution. The head's state comes from the latest tables, that of older canonical
 * blocks from history. Block diffs that are not yet stored may lie on top of either. `trieState.ts` does the same for
 * blocks that are not canonical.
 */
import { type Address, type Hash32, latin1Key, latin1KeyToBytes, toHash32 } from '../../primitives/bytes.js'
import { keccak256 } from '../../primitives/keccak.js'
import { encodeRlp } from '../../primitives/rlp.js'
import type { BlockDiff, Change } from '../store/blockDiff.js'
import type { ChainRows } from '../store/chainRows.js'
import { type Account, decodeAccount } from './account.js'
import type { RowSink } from './newRows.js'
import { type RecentTries, type TrieChange, updateTrieRows } from './trie.js'
import type { NodeReader } from './trieNode.js'
import { hasRows, headTries, historicalTries, TrieOverlay, type Tries } from './tries.js'

/** Key → value after a block; empty if it was removed. */
export type { Change } from '../store/blockDiff.js'

export interface StateView {
  readonly stateRoot: Hash32
  /** Undefined if the account does not exist. */
  account(address: Address): Account | undefined
  /** Value without leading zeros; undefined for zero. */
  slot(address: Address, slot: Hash32): Uint8Array | undefined
  /** Every non-zero slot of an account. */
  slotsOf(address: Address): Iterable<Hash32>
  code(hash: Hash32): Uint8Array | undefined
  readonly tries: Tries
  /** Whether its tries are rows by path, so that changes must name changed rows; otherwise they name new nodes. */
  readonly hasRows: boolean
}

/** The state after the head of a store. Valid until the head changes. */
export function headState(store: ChainRows, stateRoot: Hash32): StateView {
  return {
    code: (hash) => store.readCode(hash),
    tries: headTries(store),
    hasRows: hasRows(store),
    stateRoot,
    account: (address) => decodeIfThere(store.readAccount(address)),
    slot: (address, slot) => store.readSlot(address, slot),
    *slotsOf(address) {
      for (const [slot] of store.slotsOf(address)) yield slot
    },
  }
}

/** The state after the canonical block `number`. Valid until that block is unwound. */
export function historicalState(store: ChainRows, number: number, stateRoot: Hash32): StateView {
  return {
    code: (hash) => store.readCode(hash),
    tries: historicalTries(store, number),
    hasRows: hasRows(store),
    stateRoot,
    account: (address) => decodeIfThere(store.readAccountAt(address, number)),
    slot: (address, slot) => store.readSlotAt(address, slot, number),
    *slotsOf(address) {
      for (const [slot] of store.slotsOfAt(address, number)) yield slot
    },
  }
}

/** A view with block diffs on top that no store has applied yet: the state after the last of them. */
export class BranchState implements StateView {
  readonly #accounts = new Map<string, Uint8Array>()
  readonly #slots = new Map<string, Uint8Array>()
  readonly #codes = new Map<string, Uint8Array>()
  readonly #rows = new TrieOverlay()
  readonly #below: StateView
  readonly tries: Tries
  readonly hasRows = true
  stateRoot: Hash32

  constructor(below: StateView) {
    this.#below = below
    this.tries = this.#rows.over(below.tries)
    this.stateRoot = below.stateRoot
  }

  add(blockDiff: BlockDiff, stateRoot: Hash32): void {
    for (const [key, value] of blockDiff.accounts) this.#accounts.set(latin1Key(key), value)
    for (const [key, value] of blockDiff.slots) this.#slots.set(latin1Key(key), value)
    for (const [key, value] of blockDiff.code) this.#codes.set(latin1Key(key), value)
    this.#rows.add(blockDiff.trie)
    this.stateRoot = stateRoot
  }

  account(address: Address): Account | undefined {
    const row = this.#accounts.get(latin1Key(address))
    if (row === undefined) return this.#below.account(address)
    return row.length === 0 ? undefined : decodeAccount(row)
  }

  slot(address: Address, slot: Hash32): Uint8Array | undefined {
    const row = this.#slots.get(latin1Key(address) + latin1Key(slot))
    if (row === undefined) return this.#below.slot(address, slot)
    return row.length === 0 ? undefined : row
  }

  *slotsOf(address: Address): Generator<Hash32> {
    const prefix = latin1Key(address)
    for (const [key, value] of this.#slots) {
      if (key.startsWith(prefix) && value.length > 0) yield toHash32(latin1KeyToBytes(key.slice(20)))
    }
    for (const slot of this.#below.slotsOf(address))
      if (!this.#slots.has(prefix + latin1Key(slot))) yield slot
  }

  code(hash: Hash32): Uint8Array | undefined {
    return this.#codes.get(latin1Key(hash)) ?? this.#below.code(hash)
  }
}

/** The storage root after `changes` of an account's slots (empty value: removed); changed rows go to `put`. */
export function updateStorageRoot(
  storageRoot: Hash32,
  changes: Iterable<Change>,
  readNode: NodeReader,
  put: RowSink,
  recent?: RecentTries,
): Hash32 {
  return updateTrieRows(storageRoot, slotChanges(changes), readNode, put, recent)
}

/** Changes of an account's slots (empty value: removed) in the form of its trie. */
export function slotChanges(changes: Iterable<Change>): TrieChange[] {
  const hashed: TrieChange[] = []
  for (const [slot, value] of changes) {
    hashed.push([keccak256(slot), value.length === 0 ? undefined : encodeRlp(value)])
  }
  return hashed
}

function decodeIfThere(row: Uint8Array | undefined): Account | undefined {
  return row && decodeAccount(row)
}
