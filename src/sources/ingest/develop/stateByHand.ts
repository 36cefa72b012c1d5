/** Changes of one account that a caller of a developer chain makes by hand, as rows of state and tries with their root. */
import { type Account, emptyAccount, encodeAccount } from '../../../data/state/account.js'
import { type StateView, slotChanges } from '../../../data/state/stateView.js'
import { updateTrieRows } from '../../../data/state/trie.js'
import { rowSink } from '../../../data/state/tries.js'
import type { Change } from '../../../data/store/blockDiff.js'
import type { StateRows } from '../../../data/store/chainRows.js'
import {
  type Address,
  concatBytes,
  equalBytes,
  type Hash32,
  noBytes,
  trimLeft,
} from '../../../primitives/bytes.js'
import { emptyCodeHash, emptyTrieRoot, keccak256 } from '../../../primitives/keccak.js'

/** What a caller sets; all else stays. */
export interface AccountByHand {
  readonly nonce?: bigint
  /** In wei. */
  readonly balance?: bigint
  readonly code?: Uint8Array
  /** 32 bytes each. */
  readonly slot?: readonly [slot: Hash32, value: Uint8Array]
}

export interface BuiltByHand extends StateRows {
  readonly stateRoot: Hash32
  readonly code: readonly Change[]
}

/** The rows with which `state` becomes what the caller wants. An account without anything is removed. */
export function buildByHand(state: StateView, address: Address, wanted: AccountByHand): BuiltByHand {
  const before = state.account(address) ?? emptyAccount
  const trie: Change[] = []
  const slots: Change[] = []
  let { storageRoot, codeHash } = before
  if (wanted.slot !== undefined) {
    const [slot, value] = wanted.slot
    const change = [slot, trimLeft(value)] as const
    slots.push([concatBytes(address, slot), change[1]])
    storageRoot = updateTrieRows(
      storageRoot,
      slotChanges([change]),
      state.tries(address),
      rowSink(trie, address),
    )
  }
  if (wanted.code !== undefined) codeHash = wanted.code.length === 0 ? emptyCodeHash : keccak256(wanted.code)
  const { nonce = before.nonce, balance = before.balance } = wanted
  const account: Account = { nonce, balance, storageRoot, codeHash }
  const row = isNothing(account) ? undefined : encodeAccount(account)
  const stateRoot = updateTrieRows(
    state.stateRoot,
    [[keccak256(address), row]],
    state.tries(),
    rowSink(trie, undefined),
  )
  return {
    stateRoot,
    accounts: [[address, row ?? noBytes]],
    slots,
    trie: trie.sort(([a], [b]) => Buffer.compare(a, b)),
    code: wanted.code?.length ? [[codeHash, wanted.code]] : [],
  }
}

function isNothing({ nonce, balance, codeHash, storageRoot }: Account): boolean {
  if (nonce !== 0n || balance !== 0n) return false
  return equalBytes(codeHash, emptyCodeHash) && equalBytes(storageRoot, emptyTrieRoot)
}
