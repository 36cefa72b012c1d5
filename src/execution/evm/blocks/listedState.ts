/**
 * A block as its access list tells it (EIP-7928): the states within it and after it, by the values that the list has, on
 * top of what the parent's state has of the list's accounts and slots; and whether what execution recorded is that list.
 * Nothing of a list may be believed before all of it was recorded.
 */
import type { AccountAccess, BlockAccessList, IndexedValue } from '../../../data/chain/blockAccessList.js'
import {
  type Account,
  decodeAccount,
  emptyAccount,
  encodeAccount,
  isEmptyAccount,
} from '../../../data/state/account.js'
import { type Change, type StateView, updateStorageRoot } from '../../../data/state/stateView.js'
import { type RecentTries, type TrieChange, updateTrieRows } from '../../../data/state/trie.js'
import { rowSink } from '../../../data/state/tries.js'
import {
  type Address,
  bytesToBigInt,
  concatBytes,
  equalBytes,
  type Hash32,
  joinBytes,
  latin1Key,
  noBytes,
} from '../../../primitives/bytes.js'
import { emptyCodeHash, emptyTrieRoot, keccak256 } from '../../../primitives/keccak.js'
import { isSameAccount, type StateChanges, sortChanges } from './stateChanges.js'

/** What execution reads of a state; all but the tries. */
type ReadState = Pick<StateView, 'account' | 'slot' | 'code'>

const noChanges: readonly IndexedValue[] = []

/** Values that something has one after the other; `mark` is the number of the first one's entry in the list. */
export interface ListedValues {
  readonly changes: readonly IndexedValue[]
  readonly mark: number
}

/** A slot of the list; without changes it is only read, and `mark` is the number of that entry. */
interface ListedSlot extends ListedValues {
  readonly slot: Uint8Array
  /** Before the block, without leading zeros; undefined for zero. */
  readonly before: Uint8Array | undefined
}

export interface ListedAccount {
  readonly access: AccountAccess
  readonly mark: number
  /** Before the block. */
  readonly before: Account | undefined
  /** By {@link latin1Key}, those that change first. */
  readonly slots: ReadonlyMap<string, ListedSlot>
  readonly balance: ListedValues
  readonly nonce: ListedValues
  readonly code: ListedValues
}

export class ListedBlock {
  /** In the order of the list. */
  readonly accounts: readonly ListedAccount[]
  /** Number of the list's entries: each account, slot that is only read, and change has a number below it. */
  readonly entries: number
  readonly #byAddress = new Map<string, ListedAccount>()
  /** Code that the block brings, by its hash. */
  readonly #codes = new Map<string, Uint8Array>()
  /** Hashes of that code. */
  readonly #hashes = new Map<IndexedValue, Hash32>()

  /** Reads from the state before the block all that the list names, in its order: an account, and then its slots. */
  constructor(list: BlockAccessList, below: Pick<ReadState, 'account' | 'slot'>) {
    let entries = 0
    const valuesOf = (changes: readonly IndexedValue[]): ListedValues => {
      entries += changes.length
      return { changes, mark: entries - changes.length }
    }
    this.accounts = list.map((access) => {
      const address = access.address as Address
      const { balanceChanges, nonceChanges, codeChanges } = access
      const before = below.account(address)
      const slots = new Map<string, ListedSlot>()
      for (const { slot, changes } of access.storageChanges) {
        const { mark } = valuesOf(changes)
        slots.set(latin1Key(slot), { slot, changes, mark, before: below.slot(address, slot as Hash32) })
      }
      for (const slot of access.storageReads) {
        const mark = entries++
        slots.set(latin1Key(slot), {
          slot,
          changes: noChanges,
          mark,
          before: below.slot(address, slot as Hash32),
        })
      }
      const [balance, nonce, code] = [balanceChanges, nonceChanges, codeChanges].map(valuesOf) as ThreeValues
      const account = { access, mark: entries++, before, slots, balance, nonce, code }
      this.#byAddress.set(latin1Key(address), account)
      for (const change of codeChanges) {
        const hash = change.value.length === 0 ? emptyCodeHash : keccak256(change.value)
        this.#hashes.set(change, hash)
        this.#codes.set(latin1Key(hash), change.value)
      }
      return account
    })
    this.entries = entries
  }

  find(address: Uint8Array): ListedAccount | undefined {
    return this.#byAddress.get(latin1Key(address))
  }

  /**
   * The state that what has the block access index `index` begins with, for execution alone. `below` has code, and what
   * the list does not name.
   */
  before(index: number, below: ReadState): StateView {
    return {
      stateRoot: emptyTrieRoot,
      account: (address) => {
        const listed = this.find(address)
        return listed === undefined ? below.account(address) : this.accountBefore(listed, index)
      },
      slot: (address, slot) => {
        const listed = this.find(address)?.slots.get(latin1Key(slot))
        if (listed === undefined) return below.slot(address, slot)
        const value = lastBefore(listed.changes, index)?.value
        if (value === undefined) return listed.before
        return value.length === 0 ? undefined : value
      },
      code: (hash) => this.#codes.get(latin1Key(hash)) ?? below.code(hash),
      slotsOf: neverAsked,
      tries: neverAsked,
      hasRows: true,
    }
  }

  /** An account before `index`, with the storage root that it has before the block. */
  accountBefore({ before, balance, nonce, code }: ListedAccount, index: number): Account | undefined {
    const newBalance = lastBefore(balance.changes, index)
    const newNonce = lastBefore(nonce.changes, index)
    const newCode = lastBefore(code.changes, index)
    if (newBalance === undefined && newNonce === undefined && newCode === undefined) return before
    const account = before ?? emptyAccount
    const after = {
      nonce: newNonce === undefined ? account.nonce : bytesToBigInt(newNonce.value),
      balance: newBalance === undefined ? account.balance : bytesToBigInt(newBalance.value),
      codeHash: newCode === undefined ? account.codeHash : (this.#hashes.get(newCode) as Hash32),
      storageRoot: account.storageRoot,
    }
    return isEmptyAccount(after) ? undefined : after
  }

  /** What the constructor read, to be read again by {@link listedReads}. */
  encodeReads(): Uint8Array<ArrayBuffer> {
    const parts: Uint8Array[] = []
    const put = (bytes: Uint8Array) => parts.push(lengths[bytes.length] as Uint8Array, bytes)
    for (const { before, slots } of this.accounts) {
      put(before === undefined ? noBytes : encodeAccount(before))
      for (const { before } of slots.values()) put(before ?? noBytes)
    }
    return joinBytes(parts)
  }
}

type ThreeValues = [ListedValues, ListedValues, ListedValues]

/** Each number up to the longest row of an account, as a byte. */
const lengths = Array.from({ length: 128 }, (_, length) => Uint8Array.of(length))

/** The reads of {@link ListedBlock.encodeReads}, in their order. */
export function listedReads(bytes: Uint8Array): Pick<ReadState, 'account' | 'slot'> {
  let at = 0
  const next = (): Uint8Array | undefined => {
    const start = at + 1
    at = start + (bytes[at] as number)
    return at === start ? undefined : bytes.subarray(start, at)
  }
  const account = () => {
    const row = next()
    return row && decodeAccount(row)
  }
  return { account, slot: next }
}

/** Of changes in the order of their indices. */
function lastBefore(changes: readonly IndexedValue[], index: number): IndexedValue | undefined {
  for (let at = changes.length - 1; at >= 0; at--) {
    const change = changes[at] as IndexedValue
    if (change.index < index) return change
  }
  return undefined
}

function neverAsked(): never {
  throw new Error('execution reads no tries')
}

/** What the block changes of the state before it, whose tries are rows, by the list's last values. */
export function listedChanges(
  block: ListedBlock,
  below: Pick<StateView, 'stateRoot' | 'tries'>,
  recent: RecentTries | undefined,
): StateChanges {
  const accounts: Change[] = []
  const slots: Change[] = []
  const trie: Change[] = []
  const code = new Map<string, Change>()
  const accountChanges: TrieChange[] = []
  for (const listed of block.accounts) {
    const { access, before } = listed
    const { address } = access
    const changed: Change[] = []
    for (const { slot, changes, before } of listed.slots.values()) {
      const value = changes.at(-1)?.value
      if (value === undefined || equalBytes(before ?? noBytes, value)) continue
      changed.push([slot, value])
      slots.push([concatBytes(address, slot), value])
    }
    const last = block.accountBefore(listed, Number.POSITIVE_INFINITY)
    const root = last?.storageRoot ?? emptyTrieRoot
    const put = rowSink(trie, address)
    const after = last && {
      ...last,
      storageRoot: updateStorageRoot(root, changed, below.tries(address), put, recent),
    }
    if (isSameAccount(before, after)) continue
    const newCode = access.codeChanges.at(-1)?.value ?? noBytes
    if (after !== undefined && newCode.length > 0 && !isOf(before, after.codeHash)) {
      code.set(latin1Key(after.codeHash), [after.codeHash, newCode])
    }
    const row = after && encodeAccount(after)
    accounts.push([address, row ?? noBytes])
    accountChanges.push([keccak256(address), row])
  }
  return {
    stateRoot: updateTrieRows(below.stateRoot, accountChanges, below.tries(), rowSink(trie), recent),
    accounts: sortChanges(accounts),
    slots: sortChanges(slots),
    trie: sortChanges(trie),
    nodes: [],
    code: sortChanges([...code.values()]),
  }
}

function isOf(account: Account | undefined, codeHash: Hash32): boolean {
  return account !== undefined && equalBytes(account.codeHash, codeHash)
}
