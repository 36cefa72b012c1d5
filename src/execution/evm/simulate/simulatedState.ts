import { type Account, decodeAccount } from '../../../data/state/account.js'
import type { Change, StateView } from '../../../data/state/stateView.js'
import type { TrieNode } from '../../../data/state/trieNode.js'
import type { Tries } from '../../../data/state/tries.js'
import { type Address, type Hash32, latin1Key } from '../../../primitives/bytes.js'
import type { StateChanges } from '../blocks/stateChanges.js'

type Slots = Map<string, Uint8Array>

/** A state with the changes of simulated blocks on top: the state after the last of them. */
export class SimulatedState implements StateView {
  stateRoot: Hash32
  readonly #accounts = new Map<string, Account | undefined>()
  readonly #slots = new Map<string, Slots>()
  /** Accounts whose storage in the state below is ignored. */
  readonly #wiped = new Set<string>()
  readonly #codes = new Map<string, Uint8Array>()
  readonly #nodes = new Map<string, TrieNode>()
  readonly #below: StateView
  readonly hasRows = false

  constructor(below: StateView) {
    this.#below = below
    this.stateRoot = below.stateRoot
  }

  /** Adds a block's changes. `wiped`: accounts that lost their storage, with the slots that were set again. */
  add(changes: StateChanges, wiped: Iterable<readonly [address: Uint8Array, slots: Iterable<Change>]>): void {
    this.stateRoot = changes.stateRoot
    for (const [address, row] of changes.accounts) {
      this.#accounts.set(latin1Key(address), row.length === 0 ? undefined : decodeAccount(row))
    }
    for (const [key, value] of changes.slots) {
      this.#slotsOf(latin1Key(key.subarray(0, 20))).set(latin1Key(key.subarray(20)), value)
    }
    for (const [address, slots] of wiped) {
      const owner = latin1Key(address)
      this.#wiped.add(owner)
      this.#slots.delete(owner)
      for (const [slot, value] of slots) this.#slotsOf(owner).set(latin1Key(slot), value)
    }
    for (const [hash, code] of changes.code) this.#codes.set(latin1Key(hash), code)
    for (const [hash, node] of changes.nodes) this.#nodes.set(latin1Key(hash), node)
  }

  #slotsOf(owner: string): Slots {
    let slots = this.#slots.get(owner)
    if (slots === undefined) {
      slots = new Map()
      this.#slots.set(owner, slots)
    }
    return slots
  }

  account(address: Address): Account | undefined {
    const key = latin1Key(address)
    return this.#accounts.has(key) ? this.#accounts.get(key) : this.#below.account(address)
  }

  slot(address: Address, slot: Hash32): Uint8Array | undefined {
    const owner = latin1Key(address)
    const value = this.#slots.get(owner)?.get(latin1Key(slot))
    if (value !== undefined) return value.length === 0 ? undefined : value
    return this.#wiped.has(owner) ? undefined : this.#below.slot(address, slot)
  }

  /** Always empty: it only serves rows of slots of a wiped account, which a simulation never stores. */
  slotsOf(): Iterable<Hash32> {
    return []
  }

  code(hash: Hash32): Uint8Array | undefined {
    return this.#codes.get(latin1Key(hash)) ?? this.#below.code(hash)
  }

  readonly tries: Tries = (address) => {
    const readBelow = this.#below.tries(address)
    return (hash, path) => this.#nodes.get(latin1Key(hash)) ?? readBelow(hash, path)
  }
}
