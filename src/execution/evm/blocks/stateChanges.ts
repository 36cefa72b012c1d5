/** Changes made by execution, for a block diff: rows of state and tries, and code, relative to the underlying state. */

import { type Account, encodeAccount } from '../../../data/state/account.js'
import type { RowSink } from '../../../data/state/newRows.js'
import { type Change, type StateView, slotChanges } from '../../../data/state/stateView.js'
import { type RecentTries, type TrieChange, updateTrie, updateTrieRows } from '../../../data/state/trie.js'
import {
  MissingNodeError,
  type NodeReader,
  type NodeSink,
  type TrieNode,
} from '../../../data/state/trieNode.js'
import { rowSink } from '../../../data/state/tries.js'
import {
  type Address,
  concatBytes,
  equalBytes,
  type Hash32,
  latin1Key,
  noBytes,
  trimLeft,
} from '../../../primitives/bytes.js'
import { emptyTrieRoot, keccak256 } from '../../../primitives/keccak.js'
import { encodeRlp } from '../../../primitives/rlp.js'
import type { JobWatch } from '../engine/jobWatch.js'
import type { Kernel } from '../engine/kernel.js'

/** Sorted by key; empty values for removed entries. */
export interface StateChanges {
  readonly stateRoot: Hash32
  readonly accounts: readonly Change[]
  readonly slots: readonly Change[]
  /** Changed rows of tries, if the underlying state stores tries as rows. */
  readonly trie: readonly Change[]
  /** New nodes of tries by their hashes, if it does not. */
  readonly nodes: readonly NewNode[]
  readonly code: readonly Change[]
}

/** Steps of {@link JobWatch.take} for making and hashing a node, and for comparing an account or a slot. */
const stepsPerNode = 100
const stepsPerSlot = 50

type NewNode = readonly [hash: Hash32, node: TrieNode]

/**
 * Changes that `kernel` made to the accounts (handles) `changed`. Nodes of `recent` are not read from `below`. Throws
 * the errors of the job's watch.
 */
export function buildChanges(
  kernel: Kernel,
  changed: Iterable<number>,
  below: StateView,
  recent: RecentTries | undefined,
): StateChanges {
  const accounts: Change[] = []
  const slots: Change[] = []
  const trie: Change[] = []
  const nodes: NewNode[] = []
  const code = new Map<string, Change>()
  const watch = kernel.answers.host?.watch
  const emit: NodeSink = (hash, _, node) => {
    watch?.take(stepsPerNode)
    nodes.push([hash, node])
  }
  const update = (root: Hash32, changes: readonly TrieChange[], address?: Address): Hash32 =>
    below.hasRows
      ? updateTrieRows(root, changes, below.tries(address), watchedSink(trie, address, watch), recent)
      : updateNodes(root, changes, below.tries(address), emit, recent)
  const accountChanges: TrieChange[] = []
  for (const handle of changed) {
    watch?.take(stepsPerNode)
    const address = kernel.addressOf(handle) as Address
    const before = below.account(address)
    const own = changedSlots(kernel, handle, address, below, before)
    for (const [slot, value] of own.changed) slots.push([concatBytes(address, slot), value])
    // Removing each slot finds the rows of a deleted trie; nodes stored by hash simply stay.
    const isNew = own.isWiped && !below.hasRows
    const storageRoot = isNew
      ? update(emptyTrieRoot, slotChanges(own.written), address)
      : update(before?.storageRoot ?? emptyTrieRoot, slotChanges(own.changed), address)
    let after: Account | undefined
    if (kernel.exists(handle)) {
      const codeHash = kernel.codeHashOf(handle)
      after = { nonce: kernel.nonceOf(handle), balance: kernel.balanceOf(handle), storageRoot, codeHash }
      const hasNewCode = before === undefined || !equalBytes(before.codeHash, codeHash)
      if (hasNewCode && kernel.hasCode(handle))
        code.set(latin1Key(codeHash), [codeHash, kernel.codeOf(handle)])
    }
    if (isSameAccount(before, after)) continue
    const row = after && encodeAccount(after)
    accounts.push([address, row ?? noBytes])
    accountChanges.push([keccak256(address), row])
  }
  return {
    stateRoot: update(below.stateRoot, accountChanges),
    accounts: sortChanges(accounts),
    slots: sortChanges(slots),
    trie: sortChanges(trie),
    nodes,
    code: sortChanges([...code.values()]),
  }
}

/** RLP of the empty string: the value of a slot that is zero and whose leaf stays. */
const emptyValue = encodeRlp(noBytes)

/**
 * Like {@link updateTrie}. Removing a leaf may need its neighbour in the trie, which no proof of the leaf contains. If
 * the neighbour is not stored, the leaf stays, with an empty value.
 */
export function updateNodes(
  root: Hash32,
  changes: readonly TrieChange[],
  readNode: NodeReader,
  emit: NodeSink,
  recent?: RecentTries,
): Hash32 {
  try {
    return updateTrie(root, changes, readNode, emit, recent)
  } catch (error) {
    const isRemoval = changes.some(([, value]) => value === undefined)
    if (!(error instanceof MissingNodeError) || !isRemoval) throw error
    const kept = changes.map(([key, value]): TrieChange => [key, value ?? emptyValue])
    return updateTrie(root, kept, readNode, emit, recent)
  }
}

/** Like {@link rowSink}; counts rows as steps if the job has a watch. */
function watchedSink(rows: Change[], address: Address | undefined, watch: JobWatch | undefined): RowSink {
  const put = rowSink(rows, address)
  if (watch === undefined) return put
  return (path, content) => {
    watch.take(stepsPerNode)
    put(path, content)
  }
}

/** Whether two accounts are equal; undefined means no account. */
export function isSameAccount(a: Account | undefined, b: Account | undefined): boolean {
  if (a === undefined || b === undefined) return a === b
  return (
    a.nonce === b.nonce &&
    a.balance === b.balance &&
    equalBytes(a.storageRoot, b.storageRoot) &&
    equalBytes(a.codeHash, b.codeHash)
  )
}

interface OwnSlots {
  /** Slots whose value differs from the underlying state, zeros included. */
  readonly changed: readonly Change[]
  /** For an account that was destroyed and created again: all its slots. */
  readonly written: readonly Change[]
  readonly isWiped: boolean
}

function changedSlots(
  kernel: Kernel,
  handle: number,
  address: Address,
  below: StateView,
  account: Account | undefined,
): OwnSlots {
  // An empty account with slots loses them when it is removed.
  const hadSlots = account !== undefined && !equalBytes(account.storageRoot, emptyTrieRoot)
  const isGone = hadSlots && !kernel.exists(handle)
  const isWiped = isGone || kernel.isWiped(handle)
  const changed: Change[] = []
  const written: Change[] = []
  const seen = new Set<string>()
  for (const [slot, word] of kernel.slotsOf(handle)) {
    kernel.answers.host?.watch?.take(stepsPerSlot)
    const value = isGone ? noBytes : trimLeft(word)
    if (isWiped) {
      seen.add(latin1Key(slot))
      if (value.length > 0) written.push([slot, value])
    }
    const before = below.slot(address, slot as Hash32) ?? noBytes
    if (Buffer.compare(before, value) !== 0) changed.push([slot, value])
  }
  if (isWiped) {
    for (const slot of below.slotsOf(address)) if (!seen.has(latin1Key(slot))) changed.push([slot, noBytes])
  }
  return { changed, written, isWiped }
}

/** Sorts by key, in place. */
export function sortChanges(changes: Change[]): Change[] {
  // Most keys differ in their first byte, and a call out of compiled code takes longer than comparing it.
  return changes.sort(([a], [b]) => (a[0] as number) - (b[0] as number) || Buffer.compare(a, b))
}
