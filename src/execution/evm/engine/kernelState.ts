import type { Account } from '../../../data/state/account.js'
import type { StateView } from '../../../data/state/stateView.js'
import type { Tries } from '../../../data/state/tries.js'
import { type Address, type Hash32, latin1Key, trimLeft } from '../../../primitives/bytes.js'
import { emptyTrieRoot } from '../../../primitives/keccak.js'
import type { Kernel } from './kernel.js'

/** The current state of a kernel on top of `below`, to run another kernel on it. It is read-only. */
export class KernelState implements StateView {
  readonly #kernel: Kernel
  readonly #below: StateView
  /** Hash of code → handle of an account that has it. */
  readonly #owners = new Map<string, number>()

  constructor(kernel: Kernel, below: StateView) {
    this.#kernel = kernel
    this.#below = below
  }

  get stateRoot(): Hash32 {
    return this.#below.stateRoot
  }

  account(address: Address): Account | undefined {
    const kernel = this.#kernel
    const handle = kernel.account(address)
    if (!kernel.exists(handle)) return undefined
    const codeHash = kernel.codeHashOf(handle)
    this.#owners.set(latin1Key(codeHash), handle)
    // The root only shows whether there is any storage (EIP-7610).
    const storageRoot = kernel.isWiped(handle) ? undefined : this.#below.account(address)?.storageRoot
    return {
      nonce: kernel.nonceOf(handle),
      balance: kernel.balanceOf(handle),
      storageRoot: storageRoot ?? emptyTrieRoot,
      codeHash,
    }
  }

  slot(address: Address, slot: Hash32): Uint8Array | undefined {
    const value = trimLeft(this.#kernel.slotOf(this.#kernel.account(address), slot))
    return value.length === 0 ? undefined : value
  }

  slotsOf(): Iterable<Hash32> {
    throw new Error('the state of a kernel is never written to a store')
  }

  code(hash: Hash32): Uint8Array | undefined {
    const owner = this.#owners.get(latin1Key(hash))
    return owner === undefined ? this.#below.code(hash) : this.#kernel.codeOf(owner)
  }

  get tries(): Tries {
    return this.#below.tries
  }

  get hasRows(): boolean {
    return this.#below.hasRows
  }
}
