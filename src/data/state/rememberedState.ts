import { type Address, type Hash32, latin1Key } from '../../primitives/bytes.js'
import type { Account } from './account.js'
import type { StateView } from './stateView.js'
import type { Tries } from './tries.js'

/**
 * A state that caches accounts and code of the state below. It does not cache slots: a kernel keeps the slots that it
 * read, and asks once more only for those that it changed. Caching them takes longer than reading them again.
 */
export class RememberedState implements StateView {
  readonly stateRoot: Hash32
  readonly #accounts = new Map<string, Account | undefined>()
  readonly #codes = new Map<string, Uint8Array | undefined>()
  readonly #below: StateView

  constructor(below: StateView) {
    this.#below = below
    this.stateRoot = below.stateRoot
  }

  account(address: Address): Account | undefined {
    return remembered(this.#accounts, latin1Key(address), () => this.#below.account(address))
  }

  slot(address: Address, slot: Hash32): Uint8Array | undefined {
    return this.#below.slot(address, slot)
  }

  slotsOf(address: Address): Iterable<Hash32> {
    return this.#below.slotsOf(address)
  }

  code(hash: Hash32): Uint8Array | undefined {
    return remembered(this.#codes, latin1Key(hash), () => this.#below.code(hash))
  }

  get tries(): Tries {
    return this.#below.tries
  }

  get hasRows(): boolean {
    return this.#below.hasRows
  }
}

function remembered<T>(known: Map<string, T>, key: string, read: () => T): T {
  const value = known.get(key)
  if (value !== undefined || known.has(key)) return value as T
  const found = read()
  known.set(key, found)
  return found
}
