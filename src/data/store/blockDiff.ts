import type { Hash32 } from '../../primitives/bytes.js'

/**
 * Everything that one executed block adds to a store, and the only thing that a store applies. It is self-contained,
 * and deterministic: entries are in ascending key order. It is checkable: `accounts`, `slots` and `code`, applied to
 * the parent's state, give the state root in `header`.
 */
export interface BlockDiff {
  readonly number: number
  readonly hash: Hash32
  readonly parentHash: Hash32
  /** RLP. */
  readonly header: Uint8Array
  /** RLP list: transactions, uncles and, since Shanghai, withdrawals. */
  readonly body: Uint8Array
  /** Sender (20 bytes) ‖ transaction hash (32 bytes), per transaction. */
  readonly senders: Uint8Array
  /** RLP list of receipts in consensus encoding. */
  readonly receipts: Uint8Array
  /** RLP of the block access list (EIP-7928); undefined before Amsterdam. */
  readonly blockAccessList?: Uint8Array | undefined
  /** Total difficulty up to and including this block, shortest big-endian bytes. */
  readonly totalDifficulty: Uint8Array
  /** Address → account after the block (RLP); empty if it was removed. */
  readonly accounts: readonly Change[]
  /** Address ‖ slot → value after the block without leading zeros; empty for zero. */
  readonly slots: readonly Change[]
  /** Owner ‖ path → row of a trie (trieRow.ts) after the block; empty if it was removed. */
  readonly trie: readonly Change[]
  /** Hash → code deployed in the block. */
  readonly code: readonly Change[]
  /** Hash → new trie node (RLP), for a store whose tries are no rows; absent for any other. */
  readonly nodes?: readonly Change[]
}

/** State that a canonical block replaced, to unwind it: key → value before the block; empty if there was none. */
export interface ReplacedState {
  readonly accounts: readonly Change[]
  readonly slots: readonly Change[]
}

export type Change = readonly [key: Uint8Array, value: Uint8Array]
