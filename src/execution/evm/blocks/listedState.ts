/**
 * The states within a block, from its access list (EIP-7928). Values of the list cover those of the state before the
 * block.
 */
import type { AccountAccess, BlockAccessList, IndexedValue } from '../../../data/chain/blockAccessList.js'
import { type Account, emptyAccount, isEmptyAccount } from '../../../data/state/account.js'
import type { StateView } from '../../../data/state/stateView.js'
import { type Address, bytesToBigInt, type Hash32, latin1Key } from '../../../primitives/bytes.js'
import { emptyCodeHash, emptyTrieRoot, keccak256 } from '../../../primitives/keccak.js'

/** The part of a state that execution reads; all but the tries. */
type ReadState = Pick<StateView, 'account' | 'slot' | 'code'>

const noChanges: readonly IndexedValue[] = []

interface ListedSlot {
  /** Empty for a slot that is only read. */
  readonly changes: readonly IndexedValue[]
  /** Before the block, without leading zeros; undefined for zero. */
  readonly before: Uint8Array | undefined
}

interface ListedAccount {
  readonly access: AccountAccess
  /** Before the block. */
  readonly before: Account | undefined
  /** Slots by {@link latin1Key}. */
  readonly slots: ReadonlyMap<string, ListedSlot>
}

export class ListedBlock {
  /** Accounts, slots and changes of the list. */
  readonly entries: number
  readonly #byAddress = new Map<string, ListedAccount>()
  /** Code of the block diff, by its hash. */
  readonly #codes = new Map<string, Uint8Array>()
  /** Hashes of that code. */
  readonly #hashes = new Map<IndexedValue, Hash32>()

  /** Reads all accounts and slots of the list from the state before the block. */
  constructor(list: BlockAccessList, below: Pick<ReadState, 'account' | 'slot'>) {
    let entries = 0
    for (const access of list) {
      const address = access.address as Address
      const { balanceChanges, nonceChanges, codeChanges } = access
      const slots = new Map<string, ListedSlot>()
      for (const { slot, changes } of access.storageChanges) {
        slots.set(latin1Key(slot), { changes, before: below.slot(address, slot as Hash32) })
        entries += changes.length
      }
      for (const slot of access.storageReads) {
        slots.set(latin1Key(slot), { changes: noChanges, before: below.slot(address, slot as Hash32) })
      }
      this.#byAddress.set(latin1Key(address), { access, before: below.account(address), slots })
      for (const change of codeChanges) {
        const hash = change.value.length === 0 ? emptyCodeHash : keccak256(change.value)
        this.#hashes.set(change, hash)
        this.#codes.set(latin1Key(hash), change.value)
      }
      entries += 1 + slots.size + balanceChanges.length + nonceChanges.length + codeChanges.length
    }
    this.entries = entries
  }

  /**
   * The state before the block access index `index`, for execution alone. `below`, the state before the block, has
   * code, and all values that are not in the list.
   */
  before(index: number, below: ReadState): StateView {
    return {
      stateRoot: emptyTrieRoot,
      account: (address) => {
        const listed = this.#byAddress.get(latin1Key(address))
        return listed === undefined ? below.account(address) : this.#accountBefore(listed, index)
      },
      slot: (address, slot) => {
        const listed = this.#byAddress.get(latin1Key(address))?.slots.get(latin1Key(slot))
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

  /** An account before `index`, with its storage root before the block. */
  #accountBefore({ before, access }: ListedAccount, index: number): Account | undefined {
    const balance = lastBefore(access.balanceChanges, index)
    const nonce = lastBefore(access.nonceChanges, index)
    const code = lastBefore(access.codeChanges, index)
    if (balance === undefined && nonce === undefined && code === undefined) return before
    const account = before ?? emptyAccount
    const after = {
      nonce: nonce === undefined ? account.nonce : bytesToBigInt(nonce.value),
      balance: balance === undefined ? account.balance : bytesToBigInt(balance.value),
      codeHash: code === undefined ? account.codeHash : (this.#hashes.get(code) as Hash32),
      storageRoot: account.storageRoot,
    }
    return isEmptyAccount(after) ? undefined : after
  }
}

/** The last change before `index`, of changes in the order of their indices. */
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
