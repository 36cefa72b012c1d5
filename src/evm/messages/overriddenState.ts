/** A state with a caller's overrides. */
import { type Address, type Hash32, mapKey, trimLeft } from '../../primitives/bytes.js'
import { emptyTrieRoot, keccak256 } from '../../primitives/keccak.js'
import { type Account, emptyAccount } from '../../state/account.js'
import type { StateView } from '../../state/stateView.js'
import type { AccountOverride } from './executionRequest.js'

/** A view with overrides on top, as the state before the call (`state` hides all other slots). */
export class OverriddenState implements StateView {
  readonly #accounts = new Map<string, Account>()
  readonly #slots = new Map<string, Uint8Array>()
  readonly #replaced = new Set<string>()
  readonly #codes = new Map<string, Uint8Array>()
  readonly #below: StateView

  constructor(below: StateView, overrides: readonly AccountOverride[]) {
    this.#below = below
    for (const override of overrides) this.#apply(override)
  }

  get stateRoot(): Hash32 {
    return this.#below.stateRoot
  }

  account(address: Address): Account | undefined {
    return this.#accounts.get(mapKey(address)) ?? this.#below.account(address)
  }

  slot(address: Address, slot: Hash32): Uint8Array | undefined {
    const owner = mapKey(address)
    const value = this.#slots.get(owner + mapKey(slot))
    if (value !== undefined) return value.length === 0 ? undefined : value
    return this.#replaced.has(owner) ? undefined : this.#below.slot(address, slot)
  }

  slotsOf(): Iterable<Hash32> {
    throw new Error('an overridden state is never written to a store')
  }

  code(hash: Hash32): Uint8Array | undefined {
    return this.#codes.get(mapKey(hash)) ?? this.#below.code(hash)
  }

  node(hash: Uint8Array): Uint8Array | undefined {
    return this.#below.node(hash)
  }

  #apply({ address, nonce, balance, code, state, stateDiff }: AccountOverride): void {
    const key = mapKey(address)
    const before = this.account(address as Address)
    const changes: { -readonly [F in keyof Account]?: Account[F] } = {}
    if (nonce !== undefined) changes.nonce = nonce
    if (balance !== undefined) changes.balance = balance
    if (code !== undefined) {
      changes.codeHash = code.length === 0 ? emptyAccount.codeHash : keccak256(code)
      this.#codes.set(mapKey(changes.codeHash), code)
    }
    for (const [slot, value] of state ?? stateDiff ?? []) {
      this.#slots.set(key + mapKey(slot), trimLeft(value))
    }
    if (state !== undefined) {
      this.#replaced.add(key)
      // This root is only used to tell whether there is any storage (EIP-7610).
      changes.storageRoot = state.length === 0 ? emptyTrieRoot : keccak256(address)
    }
    if (before !== undefined || Object.keys(changes).length > 0 || stateDiff !== undefined) {
      this.#accounts.set(key, { ...(before ?? emptyAccount), ...changes })
    }
  }
}
