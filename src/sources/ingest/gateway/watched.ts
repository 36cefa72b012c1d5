/**
 * Contracts that are always stored: their accounts and code, and all their slots if an upstream lists them
 * (`debug_storageRangeAt`). The storage root, computed from the slots, proves that none is missing.
 */
import { decodeHeader, headOf } from '../../../data/chain/header.js'
import { decodeAccount, emptyAccount, hasCode } from '../../../data/state/account.js'
import { updateStorageRoot } from '../../../data/state/stateView.js'
import type { Change } from '../../../data/store/blockDiff.js'
import type { GatewayWriter } from '../../../data/store/gatewayWriter.js'
import {
  type Address,
  bytesOfHex,
  bytesToHex,
  equalBytes,
  type Hash32,
  latin1Key,
  trimLeft,
} from '../../../primitives/bytes.js'
import { emptyTrieRoot, keccak256 } from '../../../primitives/keccak.js'
import type { ProofFetcher } from './proofFetcher.js'

/** Maximum slots of a contract that is stored whole: about 15 MB on disk, and the same in memory during the proof. */
const slotsMax = 100_000
/** Slots of one request: an answer of 200 KB. */
const slotsPerPage = 1_024
/** Wait before a contract is tried again after its slots could not be fetched. */
const retryMs = 30_000

const method = 'debug_storageRangeAt'

interface WatchedOptions {
  readonly addresses: readonly Address[]
  /** Gets sentences about problems, for the operator. */
  readonly log: (text: string) => void
}

export class Watched {
  readonly #store: GatewayWriter
  readonly #fetcher: ProofFetcher
  readonly #options: WatchedOptions
  /** Address → time of the next attempt, in the time of `performance.now()`. */
  readonly #retryAt = new Map<string, number>()
  #working: Promise<void> | undefined
  #isClosed = false

  constructor(store: GatewayWriter, fetcher: ProofFetcher, options: WatchedOptions) {
    this.#store = store
    this.#fetcher = fetcher
    this.#options = options
  }

  /** The number of contracts that are stored whole. */
  get whole(): number {
    return this.#options.addresses.filter((address) => this.#store.holdsWhole(address)).length
  }

  /** Call this after each head if its changes are known. */
  wake(): void {
    if (this.#isClosed || this.#options.addresses.length === 0) return
    this.#working ??= this.#work().finally(() => {
      this.#working = undefined
    })
  }

  /** Resolves once the store is no longer used. The caller must also end the requests that it waits for. */
  async close(): Promise<void> {
    this.#isClosed = true
    await this.#working
  }

  /** Never rejects: no caller waits for it, and the other contracts are still stored without it. */
  async #work(): Promise<void> {
    for (const address of this.#options.addresses) {
      const name = bytesToHex(address)
      const isDue = performance.now() >= (this.#retryAt.get(name) ?? 0)
      if (this.#isClosed || !isDue) continue
      try {
        if (this.#store.holdsWhole(address)) continue
        const why = await this.#hold(address)
        // The head may have moved too far meanwhile: the next one wakes this again.
        if (why === undefined || why === 'moved') continue
        this.#options.log(`contract ${name} is stored only as far as it is read: ${why}`)
      } catch (error) {
        if (!this.#isClosed) this.#options.log(`contract ${name}: ${(error as Error).message}`)
      }
      this.#retryAt.set(name, performance.now() + retryMs)
    }
  }

  /** Stores the contract; returns the reason if it cannot be stored whole, or `moved`. */
  async #hold(address: Address): Promise<string | undefined> {
    const head = headOf(this.#store)
    if (head === undefined) return 'there is no head yet'
    const { parentHash, stateRoot } = head.header
    await this.#fetcher.fetch({ kind: 'state', block: head.hash, stateRoot, address, slots: [] })
    // The listed slots are those before the first transaction of a block.
    const parent = this.#store.readHeader(parentHash)
    if (parent === undefined) return 'the parent of the head is not stored'
    const proved = await this.#fetcher.prove(
      { address, slots: [] },
      parentHash,
      decodeHeader(parent).stateRoot,
    )
    const { account } = proved.values
    const { codeHash, storageRoot } = account.length === 0 ? emptyAccount : decodeAccount(account)
    if (
      account.length > 0 &&
      hasCode(decodeAccount(account)) &&
      this.#store.readCode(codeHash) === undefined
    ) {
      await this.#fetcher.fetch({ kind: 'code', hash: codeHash })
    }
    const slots = await this.#enumerate(address, head.hash)
    if (typeof slots === 'string') return slots
    const root = updateStorageRoot(
      emptyTrieRoot,
      slots,
      () => undefined,
      () => undefined,
    )
    if (!equalBytes(root, storageRoot)) return `the slots that ${method} reports are not all of its slots`
    const now = this.#store.readHead()
    const current = now && this.#fetcher.recent.bring({ address, account, slots }, parentHash, now, true)
    if (current === undefined) return 'moved'
    if (!this.#store.holdWhole(current)) return 'other values were stored; all are proved again'
    return undefined
  }

  /** All slots before the first transaction of a block that are not zero; a reason if they cannot be fetched. */
  async #enumerate(address: Address, block: Hash32): Promise<readonly Change[] | string> {
    const slots = new Map<string, Change>()
    let start = `0x${'0'.repeat(64)}`
    for (;;) {
      const params = [bytesToHex(block), 0, bytesToHex(address), start, slotsPerPage]
      const page = await this.#fetcher.proving.guess(method, params)
      if (page === undefined) return `no upstream has ${method}`
      const { storage, nextKey } = (page ?? {}) as { readonly storage?: unknown; readonly nextKey?: unknown }
      if (typeof storage !== 'object' || storage === null) return `${method} reports no slots`
      for (const [hash, entry] of Object.entries(storage)) {
        const reported = (entry ?? {}) as { readonly key?: unknown; readonly value?: unknown }
        const slot = bytesOfHex(reported.key, 32)
        const bytes = bytesOfHex(reported.value, 32)
        if (slot === undefined || bytes === undefined || bytesToHex(keccak256(slot)) !== hash.toLowerCase()) {
          return `${method} does not report the names of its slots`
        }
        const name = latin1Key(slot)
        const value = trimLeft(bytes)
        // The root is computed by adding slots to an empty trie, which shows neither of these errors.
        if (slots.has(name) || value.length === 0)
          return `${method} reports a slot twice, or one that is zero`
        slots.set(name, [slot, value])
      }
      if (slots.size > slotsMax) return `it has more than ${slotsMax} slots`
      if (nextKey === null || nextKey === undefined) return [...slots.values()]
      if (typeof nextKey !== 'string' || nextKey <= start) return `${method} does not go on`
      start = nextKey
    }
  }
}
