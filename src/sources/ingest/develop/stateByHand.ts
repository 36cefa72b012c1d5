/** Changes of accounts that a caller of a developer chain makes by hand, as rows of state and tries with their root. */
import { type Account, emptyAccount, encodeAccount } from '../../../data/state/account.js'
import { type StateView, slotChanges } from '../../../data/state/stateView.js'
import { type TrieChange, updateTrieRows } from '../../../data/state/trie.js'
import { rowSink } from '../../../data/state/tries.js'
import type { Change } from '../../../data/store/blockDiff.js'
import type { StateRows } from '../../../data/store/chainRows.js'
import { updateNodes } from '../../../execution/evm/blocks/stateChanges.js'
import {
  type Address,
  concatBytes,
  equalBytes,
  type Hash32,
  noBytes,
  trimLeft,
} from '../../../primitives/bytes.js'
import { emptyCodeHash, emptyTrieRoot, keccak256 } from '../../../primitives/keccak.js'

/** New values of an account from a caller; absent ones stay. */
export interface AccountByHand {
  readonly address: Address
  readonly nonce?: bigint
  /** Balance in wei. */
  readonly balance?: bigint
  readonly code?: Uint8Array
  /** 32 bytes each; each slot once. */
  readonly slots?: readonly (readonly [slot: Hash32, value: Uint8Array])[]
}

export interface BuiltByHand extends StateRows {
  readonly stateRoot: Hash32
  readonly code: readonly Change[]
  /** Hash → new trie node (RLP), if the tries of the state are no rows. */
  readonly nodes: readonly Change[]
}

/** The rows that apply these changes to `state`; each account once. An empty account is removed. */
export function buildByHand(state: StateView, wanted: readonly AccountByHand[]): BuiltByHand {
  const trie: Change[] = []
  const nodes: Change[] = []
  const code: Change[] = []
  const update = (root: Hash32, changes: readonly TrieChange[], address?: Address): Hash32 =>
    state.hasRows
      ? updateTrieRows(root, changes, state.tries(address), rowSink(trie, address))
      : updateNodes(root, changes, state.tries(address), (hash, rlp) => nodes.push([hash, rlp]))
  const slots: Change[] = []
  const accounts = wanted.map((each): readonly [Address, Uint8Array | undefined] => {
    const { address } = each
    const before = state.account(address) ?? emptyAccount
    const { nonce = before.nonce, balance = before.balance } = each
    let { storageRoot, codeHash } = before
    if (each.slots !== undefined && each.slots.length > 0) {
      const changes = each.slots.map(([slot, value]) => [slot, trimLeft(value)] as const)
      for (const [slot, value] of changes) slots.push([concatBytes(address, slot), value])
      // A read names the slot whose nodes are not stored; an update of the trie does not.
      if (!state.hasRows) for (const [slot] of changes) state.slot(address, slot)
      storageRoot = update(storageRoot, slotChanges(changes), address)
    }
    if (each.code !== undefined) codeHash = each.code.length === 0 ? emptyCodeHash : keccak256(each.code)
    if (each.code?.length) code.push([codeHash, each.code])
    const account: Account = { nonce, balance, storageRoot, codeHash }
    return [address, isNothing(account) ? undefined : encodeAccount(account)]
  })
  const stateRoot = update(
    state.stateRoot,
    accounts.map(([address, row]) => [keccak256(address), row]),
  )
  return {
    stateRoot,
    accounts: sorted(accounts.map(([address, row]) => [address, row ?? noBytes])),
    slots: sorted(slots),
    trie: sorted(trie),
    code,
    nodes,
  }
}

function sorted(changes: readonly Change[]): Change[] {
  return [...changes].sort(([a], [b]) => Buffer.compare(a, b))
}

function isNothing({ nonce, balance, codeHash, storageRoot }: Account): boolean {
  if (nonce !== 0n || balance !== 0n) return false
  return equalBytes(codeHash, emptyCodeHash) && equalBytes(storageRoot, emptyTrieRoot)
}
