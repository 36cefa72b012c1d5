import type { AccountFields, StateManagerInterface } from '@ethereumjs/common'
import { Account as EvmAccount, type Address as EvmAddress } from '@ethereumjs/util'
import { type Account, emptyAccount, encodeAccount } from '../../src/data/state/account.js'
import { type Change, type StateView, slotChanges } from '../../src/data/state/stateView.js'
import { type TrieChange, updateTrie, updateTrieRows } from '../../src/data/state/trie.js'
import { rowSink } from '../../src/data/state/tries.js'
import type { StateChanges } from '../../src/execution/evm/blocks/stateChanges.js'
import {
  type Address,
  type Hash32,
  latin1Key,
  latin1KeyToBytes,
  trimLeft,
} from '../../src/primitives/bytes.js'
import { emptyCodeHash, emptyTrieRoot, keccak256 } from '../../src/primitives/keccak.js'

interface AccountEntry {
  readonly address: Address
  /** The account; undefined if there is none. */
  account: Account | undefined
  /** Slots written since the account was last wiped, by {@link latin1Key}; empty value for zero. */
  slots: Map<string, Uint8Array>
  /** Whether the slots of the view below no longer count (self-destruct, creation over old storage). */
  isWiped: boolean
  isDirty: boolean
}

const noBytes = new Uint8Array(0)

/**
 * State during execution for @ethereumjs: a {@link StateView} below, changes above it, and an undo log for checkpoints.
 * So the cost of a reverted call depends only on its changes. The underlying reads are synchronous; the interface
 * requires promises.
 */
export class JournaledState implements StateManagerInterface {
  readonly #entries = new Map<string, AccountEntry>()
  readonly #newCode = new Map<string, Uint8Array>()
  readonly #undoLog: (() => void)[] = []
  readonly #checkpoints: number[] = []
  /** The result of {@link buildChanges} until the next change: a block's root is read twice. */
  #built: StateChanges | undefined

  readonly originalStorageCache: StateManagerInterface['originalStorageCache']
  readonly #below: StateView

  constructor(below: StateView) {
    this.#below = below
    const originals = new Map<string, Uint8Array>()
    this.originalStorageCache = {
      get: async (address, key) => {
        const id = latin1Key(address.bytes) + latin1Key(key)
        let value = originals.get(id)
        if (value === undefined) {
          value = this.#readSlot(address.bytes as Address, key)
          originals.set(id, value)
        }
        return value
      },
      clear: () => originals.clear(),
    }
  }

  async getAccount(address: EvmAddress): Promise<EvmAccount | undefined> {
    const { account } = this.#entry(address.bytes as Address)
    return account && new EvmAccount(account.nonce, account.balance, account.storageRoot, account.codeHash)
  }

  async putAccount(address: EvmAddress, account?: EvmAccount): Promise<void> {
    if (account === undefined) return this.deleteAccount(address)
    this.#setAccount(this.#entry(address.bytes as Address), {
      nonce: account.nonce,
      balance: account.balance,
      storageRoot: account.storageRoot as Hash32,
      codeHash: account.codeHash as Hash32,
    })
  }

  async deleteAccount(address: EvmAddress): Promise<void> {
    const entry = this.#entry(address.bytes as Address)
    this.#wipe(entry)
    this.#setAccount(entry, undefined)
  }

  async modifyAccountFields(address: EvmAddress, fields: AccountFields): Promise<void> {
    const entry = this.#entry(address.bytes as Address)
    const account = entry.account ?? emptyAccount
    this.#setAccount(entry, {
      nonce: fields.nonce ?? account.nonce,
      balance: fields.balance ?? account.balance,
      storageRoot: (fields.storageRoot as Hash32 | undefined) ?? account.storageRoot,
      codeHash: (fields.codeHash as Hash32 | undefined) ?? account.codeHash,
    })
  }

  async putCode(address: EvmAddress, code: Uint8Array): Promise<void> {
    const codeHash = code.length === 0 ? emptyCodeHash : keccak256(code)
    if (code.length > 0) this.#newCode.set(latin1Key(codeHash), Uint8Array.from(code))
    await this.modifyAccountFields(address, { codeHash })
  }

  async getCode(address: EvmAddress): Promise<Uint8Array> {
    const { account } = this.#entry(address.bytes as Address)
    if (account === undefined) return noBytes
    const key = latin1Key(account.codeHash)
    if (key === emptyCodeKey) return noBytes
    const code = this.#newCode.get(key) ?? this.#below.code(account.codeHash)
    if (code === undefined)
      throw new Error(`code ${Buffer.from(account.codeHash).toString('hex')} is missing`)
    return code
  }

  async getCodeSize(address: EvmAddress): Promise<number> {
    return (await this.getCode(address)).length
  }

  async getStorage(address: EvmAddress, key: Uint8Array): Promise<Uint8Array> {
    return this.#readSlot(address.bytes as Address, key)
  }

  async putStorage(address: EvmAddress, key: Uint8Array, value: Uint8Array): Promise<void> {
    const entry = this.#entry(address.bytes as Address)
    if (entry.account === undefined) throw new Error('a slot was written to an address without an account')
    const { slots } = entry
    const id = latin1Key(key)
    const before = slots.get(id)
    slots.set(id, Uint8Array.from(trimLeft(value)))
    this.#markDirty(entry)
    this.#undoLog.push(() => {
      if (before === undefined) slots.delete(id)
      else slots.set(id, before)
    })
  }

  async clearStorage(address: EvmAddress): Promise<void> {
    this.#wipe(this.#entry(address.bytes as Address))
  }

  async checkpoint(): Promise<void> {
    this.#checkpoints.push(this.#undoLog.length)
  }

  async commit(): Promise<void> {
    this.#checkpoints.pop()
    if (this.#checkpoints.length === 0) this.#undoLog.length = 0
  }

  async revert(): Promise<void> {
    const mark = this.#checkpoints.pop() ?? 0
    this.#built = undefined
    while (this.#undoLog.length > mark) (this.#undoLog.pop() as () => void)()
  }

  /** Root of the current state; receipts before Byzantium have it after each transaction. */
  async getStateRoot(): Promise<Uint8Array> {
    return this.buildChanges().stateRoot
  }

  async setStateRoot(): Promise<void> {
    throw new Error('the state below an execution is fixed')
  }

  async hasStateRoot(): Promise<boolean> {
    return false
  }

  clearCaches(): void {}

  shallowCopy(): StateManagerInterface {
    return new JournaledState(this.#below)
  }

  /** All changes so far, with the changed rows of tries and the resulting root. */
  buildChanges(): StateChanges {
    this.#built ??= this.#computeChanges()
    return this.#built
  }

  #computeChanges(): StateChanges {
    const accounts: Change[] = []
    const slots: Change[] = []
    const trie: Change[] = []
    const below = this.#below
    const update = (root: Hash32, changes: readonly TrieChange[], address?: Address) =>
      below.hasRows
        ? updateTrieRows(root, changes, below.tries(address), rowSink(trie, address))
        : updateTrie(root, changes, below.tries(address), undefined)
    const accountChanges: TrieChange[] = []
    for (const entry of this.#entries.values()) {
      if (!entry.isDirty) continue
      const before = this.#below.account(entry.address)
      const changed = this.#changedSlots(entry)
      for (const [slot, value] of changed) slots.push([Buffer.concat([entry.address, slot]), value])
      const isNew = entry.isWiped && !this.#below.hasRows
      const storageRoot = update(
        isNew ? emptyTrieRoot : (before?.storageRoot ?? emptyTrieRoot),
        slotChanges(isNew ? writtenSlots(entry) : changed),
        entry.address,
      )
      const after = entry.account && { ...entry.account, storageRoot }
      const row = after === undefined ? noBytes : encodeAccount(after)
      const rowBefore = before === undefined ? noBytes : encodeAccount(before)
      if (Buffer.compare(row, rowBefore) === 0) continue
      accounts.push([entry.address, row])
      accountChanges.push([keccak256(entry.address), after === undefined ? undefined : row])
    }
    const stateRoot = update(below.stateRoot, accountChanges)
    const live = new Set(accounts.map(([, row]) => codeKeyOfRow(row)))
    const code = [...this.#newCode].filter(([key]) => live.has(key))
    return {
      stateRoot,
      accounts: sorted(accounts),
      slots: sorted(slots),
      trie: sorted(trie),
      nodes: [],
      code: sorted(code.map(([key, bytes]) => [latin1KeyToBytes(key), bytes])),
    }
  }

  /** Slots whose value differs from the view below, zeros included. */
  #changedSlots(entry: AccountEntry): Change[] {
    const changed: Change[] = []
    for (const [id, value] of entry.slots) {
      const slot = latin1KeyToBytes(id)
      const before = this.#below.slot(entry.address, slot as Uint8Array as Hash32) ?? noBytes
      if (Buffer.compare(before, value) !== 0) changed.push([slot, value])
    }
    if (entry.isWiped) {
      for (const slot of this.#below.slotsOf(entry.address)) {
        if (!entry.slots.has(latin1Key(slot))) changed.push([slot, noBytes])
      }
    }
    return changed
  }

  #readSlot(address: Address, key: Uint8Array): Uint8Array {
    const entry = this.#entry(address)
    const written = entry.slots.get(latin1Key(key))
    if (written !== undefined) return written
    if (entry.isWiped) return noBytes
    return this.#below.slot(address, key as Hash32) ?? noBytes
  }

  #entry(address: Address): AccountEntry {
    const key = latin1Key(address)
    let entry = this.#entries.get(key)
    if (entry === undefined) {
      entry = {
        address: Uint8Array.from(address) as Uint8Array as Address,
        account: this.#below.account(address),
        slots: new Map(),
        isWiped: false,
        isDirty: false,
      }
      this.#entries.set(key, entry)
    }
    return entry
  }

  #setAccount(entry: AccountEntry, account: Account | undefined): void {
    const before = entry.account
    entry.account = account
    this.#markDirty(entry)
    this.#undoLog.push(() => {
      entry.account = before
    })
  }

  #wipe(entry: AccountEntry): void {
    const { slots, isWiped, account } = entry
    entry.slots = new Map()
    entry.isWiped = true
    if (account !== undefined) entry.account = { ...account, storageRoot: emptyTrieRoot }
    this.#markDirty(entry)
    this.#undoLog.push(() => {
      entry.slots = slots
      entry.isWiped = isWiped
      entry.account = account
    })
  }

  /**
   * Marks an entry as changed. The mark stays when a change is undone: {@link buildChanges} compares with the view
   * below anyway.
   */
  #markDirty(entry: AccountEntry): void {
    entry.isDirty = true
    this.#built = undefined
  }
}

const emptyCodeKey = latin1Key(emptyCodeHash)

/** The slots of a wiped account, which are all new. */
function* writtenSlots(entry: AccountEntry): Generator<Change> {
  for (const [id, value] of entry.slots) if (value.length > 0) yield [latin1KeyToBytes(id), value]
}

/** The code hash that ends an account's RLP, as a Map key. */
function codeKeyOfRow(row: Uint8Array): string {
  return row.length === 0 ? '' : latin1Key(row.subarray(row.length - 32))
}

function sorted(changes: Change[]): Change[] {
  return changes.sort(([a], [b]) => Buffer.compare(a, b))
}
