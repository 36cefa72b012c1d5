/**
 * The state below a call: rows of the store kept between jobs of the same state root, and the caller's overrides
 * on top. Owns which rows are kept and for how long.
 */
import { type Address, type Hash32, mapKey, trimLeft } from '../primitives/bytes.js'
import { emptyTrieRoot, keccak256 } from '../primitives/keccak.js'
import { type Account, emptyAccount } from '../state/account.js'
import type { StateView } from '../state/stateView.js'
import type { AccountOverride } from './execution.js'

/** Rows kept of one state root: 20,000 of about 250 bytes are 5 MB, and more than a block touches. */
const rowsMax = 20_000
/** State roots of which rows are kept: the head and a few blocks that somebody works on. */
const rootsMax = 4
/** Code kept, over all roots, with its analysis (ten times its size): 200 of the largest contracts. */
const codeBytesMax = 4 * 1024 * 1024

/** Rows and code that jobs have read; see the constants above for its bounds. */
export class HotState {
  private readonly roots = new Map<string, CachedState>()
  private readonly codes = new Map<string, Uint8Array>()
  private codeBytes = 0

  /** `view` with what was read of it before. Views of one root have to be of one store. */
  over(view: StateView): StateView {
    const key = mapKey(view.stateRoot)
    const cached =
      this.roots.get(key) ?? new CachedState(view.stateRoot, (hash, read) => this.code(hash, read))
    cached.below = view
    this.roots.delete(key)
    this.roots.set(key, cached)
    if (this.roots.size > rootsMax) this.roots.delete(this.roots.keys().next().value as string)
    return cached
  }

  /** Forgets all rows: they may be of a branch that was left while they were read. Code is named by its hash. */
  clear(): void {
    this.roots.clear()
  }

  /** One object for the same code, so that its analysis is found again. */
  private code(hash: Hash32, read: () => Uint8Array | undefined): Uint8Array | undefined {
    const key = mapKey(hash)
    const held = this.codes.get(key)
    if (held !== undefined) return held
    const code = read()
    if (code === undefined) return undefined
    this.codes.set(key, code)
    this.codeBytes += code.length
    for (const [oldest, { length }] of this.codes) {
      if (this.codeBytes <= codeBytesMax || oldest === key) break
      this.codes.delete(oldest)
      this.codeBytes -= length
    }
    return code
  }
}

type CodeReader = (hash: Hash32, read: () => Uint8Array | undefined) => Uint8Array | undefined

class CachedState implements StateView {
  /** A view of the same state that is valid now. */
  below: StateView | undefined
  private accounts = new Map<string, Account | undefined>()
  private slots = new Map<string, Uint8Array | undefined>()

  constructor(
    readonly stateRoot: Hash32,
    private readonly readCode: CodeReader,
  ) {}

  account(address: Address): Account | undefined {
    const key = mapKey(address)
    const held = this.accounts.get(key)
    if (held !== undefined || this.accounts.has(key)) return held
    const account = this.view.account(address)
    if (this.accounts.size >= rowsMax) this.accounts = new Map()
    this.accounts.set(key, account)
    return account
  }

  slot(address: Address, slot: Hash32): Uint8Array | undefined {
    const key = mapKey(address) + mapKey(slot)
    const held = this.slots.get(key)
    if (held !== undefined || this.slots.has(key)) return held
    const value = this.view.slot(address, slot)
    if (this.slots.size >= rowsMax) this.slots = new Map()
    this.slots.set(key, value)
    return value
  }

  slotsOf(address: Address): Iterable<Hash32> {
    return this.view.slotsOf(address)
  }

  code(hash: Hash32): Uint8Array | undefined {
    return this.readCode(hash, () => this.view.code(hash))
  }

  node(hash: Uint8Array): Uint8Array | undefined {
    return this.view.node(hash)
  }

  private get view(): StateView {
    if (this.below === undefined) throw new Error('a cached state needs a view below it')
    return this.below
  }
}

/** A view with overrides on top, which count as the state before the call (`state` hides every other slot). */
export class OverriddenState implements StateView {
  private readonly accounts = new Map<string, Account>()
  private readonly slots = new Map<string, Uint8Array>()
  private readonly replaced = new Set<string>()
  private readonly codes = new Map<string, Uint8Array>()

  constructor(
    private readonly below: StateView,
    overrides: readonly AccountOverride[],
  ) {
    for (const override of overrides) this.apply(override)
  }

  get stateRoot(): Hash32 {
    return this.below.stateRoot
  }

  account(address: Address): Account | undefined {
    return this.accounts.get(mapKey(address)) ?? this.below.account(address)
  }

  slot(address: Address, slot: Hash32): Uint8Array | undefined {
    const owner = mapKey(address)
    const value = this.slots.get(owner + mapKey(slot))
    if (value !== undefined) return value.length === 0 ? undefined : value
    return this.replaced.has(owner) ? undefined : this.below.slot(address, slot)
  }

  slotsOf(): Iterable<Hash32> {
    throw new Error('an overridden state is never written to a store')
  }

  code(hash: Hash32): Uint8Array | undefined {
    return this.codes.get(mapKey(hash)) ?? this.below.code(hash)
  }

  node(hash: Uint8Array): Uint8Array | undefined {
    return this.below.node(hash)
  }

  private apply({ address, nonce, balance, code, state, stateDiff }: AccountOverride): void {
    const key = mapKey(address)
    const before = this.account(address as Address)
    const changes: { -readonly [F in keyof Account]?: Account[F] } = {}
    if (nonce !== undefined) changes.nonce = nonce
    if (balance !== undefined) changes.balance = balance
    if (code !== undefined) {
      changes.codeHash = code.length === 0 ? emptyAccount.codeHash : keccak256(code)
      this.codes.set(mapKey(changes.codeHash), code)
    }
    for (const [slot, value] of state ?? stateDiff ?? []) {
      this.slots.set(key + mapKey(slot), trimLeft(value))
    }
    if (state !== undefined) {
      this.replaced.add(key)
      // Only whether there is storage at all is ever asked of it (EIP-7610).
      changes.storageRoot = state.length === 0 ? emptyTrieRoot : keccak256(address)
    }
    if (before !== undefined || Object.keys(changes).length > 0 || stateDiff !== undefined) {
      this.accounts.set(key, { ...(before ?? emptyAccount), ...changes })
    }
  }
}
