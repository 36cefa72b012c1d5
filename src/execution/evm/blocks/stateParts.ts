/**
 * Parts of whole states, in go-ethereum's form (`debug_` methods). They are accounts and slots in the order of their
 * hashes, roots within a block, and changed accounts of blocks. Owns the search for the addresses and slots behind a
 * trie's hashes, which scans rows. Does not own single reads (state/stateReader.ts).
 */
import type { Header } from '../../../data/chain/header.js'
import { requireKeptBefore } from '../../../data/chain/removedHistory.js'
import { type Account, decodeAccount } from '../../../data/state/account.js'
import type { OpenRows } from '../../../data/state/provedRows.js'
import type { StateView } from '../../../data/state/stateView.js'
import { trieLeaves } from '../../../data/state/trie.js'
import { MissingNodeError } from '../../../data/state/trieNode.js'
import { provedState } from '../../../data/state/trieState.js'
import { type Tries, triesAfter } from '../../../data/state/tries.js'
import { toChecksumAddress } from '../../../primitives/addresses.js'
import {
  type Address,
  bytesToHex,
  equalBytes,
  type Hash32,
  hexDigits,
  latin1Key,
  latin1KeyToBytes,
  toAddress,
  toHash32,
} from '../../../primitives/bytes.js'
import { FaultError, messageRefused } from '../../../primitives/faults.js'
import { emptyCodeHash, emptyTrieRoot, keccak256 } from '../../../primitives/keccak.js'
import { decodeRlp, rlpBytes } from '../../../primitives/rlp.js'
import { JobWatch } from '../engine/jobWatch.js'
import { OwnKernel } from '../engine/kernel.js'
import type { BlockReference } from '../messages/executionRequest.js'
import type { TraceLimits } from '../tracers/traceRequest.js'
import { BlockReplays, type ReplayedBlock } from './blockReplay.js'
import { statusOf } from './blockState.js'
import { buildChanges } from './stateChanges.js'

type NamedBlock = Pick<BlockReference, 'number' | 'hash'>

export type StatePartsRequest =
  /**
   * Slots of an account before the first transaction of a block, from the key `start` (of hashes) on. `index` is only
   * checked, because go-ethereum's answer also lacks the changes of earlier transactions of the block.
   */
  | {
      readonly kind: 'storageRange'
      readonly blockHash: Uint8Array
      readonly index: number
      readonly address: Uint8Array
      readonly start: Uint8Array
      readonly count: number
    }
  /** Accounts after a block. */
  | {
      readonly kind: 'accountRange'
      readonly block: NamedBlock
      readonly start: Uint8Array
      readonly count: number
      readonly withCode: boolean
      readonly withStorage: boolean
    }
  /** Roots of the state after each transaction of a block. */
  | { readonly kind: 'roots'; readonly blockHash: Uint8Array }
  /** Accounts that differ between two canonical blocks and are there after the later one. */
  | { readonly kind: 'modified'; readonly first: NamedBlock; readonly last: NamedBlock }

/** Limit of accounts compared for one answer: their names and rows take 200 MB. */
const modifiedMax = 500_000

/** Memory above which the kernel is replaced, because WebAssembly never frees any. */
const grownBytesMax = 2 ** 26

export class StateParts {
  readonly #store: OpenRows
  readonly #limits: TraceLimits
  readonly #replays: BlockReplays
  readonly #own = new OwnKernel(grownBytesMax)

  constructor(store: OpenRows, limits: TraceLimits) {
    this.#store = store
    this.#limits = limits
    this.#replays = new BlockReplays(store)
  }

  /**
   * Builds the JSON answer. Throws FaultError for unknown blocks, for exceeded limits, and if the store lacks whole
   * tries.
   */
  buildJson(request: StatePartsRequest, shouldStop: () => boolean): Uint8Array {
    this.#store.refresh()
    const watch = new JobWatch(shouldStop, this.#limits)
    try {
      return Buffer.from(JSON.stringify(this.#build(request, watch)))
    } catch (error) {
      if (!(error instanceof MissingNodeError)) throw error
      throw messageRefused('this network does not hold whole states')
    } finally {
      this.#own.trim()
    }
  }

  #build(request: StatePartsRequest, watch: JobWatch): unknown {
    switch (request.kind) {
      case 'storageRange':
        return this.#storageRange(request, watch)
      case 'accountRange':
        return this.#accountRange(request, watch)
      case 'roots':
        return this.#roots(request.blockHash, watch)
      case 'modified':
        return this.#modified(request.first, request.last, watch)
    }
  }

  #storageRange(
    { blockHash, index, address, start, count }: StatePartsRequest & { kind: 'storageRange' },
    watch: JobWatch,
  ): unknown {
    const { header, transactions } = this.#readWithTries(blockHash)
    if (index >= transactions.length && index > 0) {
      throw messageRefused(`transaction index ${index} out of range for block ${bytesToHex(blockHash)}`)
    }
    const parent = this.#replays.readHeader(header.parentHash)
    const account = this.#wholeState(header.parentHash, parent).account(address as Address)
    const before = { number: parent.number, hash: header.parentHash }
    const slots = account && this.#slotsFrom(before, address, account, start, count + 1, watch)
    if (account === undefined || slots === undefined) return { storage: null, nextKey: null }
    const names = this.#slotNames(before, address, slots, watch)
    const entries = slots
      .slice(0, count)
      .map(({ hash, value }) => [
        hash,
        { key: names.get(hash) ?? null, value: `0x${value.padStart(64, '0')}` },
      ])
    return { storage: Object.fromEntries(entries), nextKey: slots[count]?.hash ?? null }
  }

  #accountRange(
    { block, start, count, withCode, withStorage }: StatePartsRequest & { kind: 'accountRange' },
    watch: JobWatch,
  ): unknown {
    const { stateRoot } = this.#replays.readHeader(block.hash)
    const found: { hash: string; account: Account }[] = []
    for (const [key, row] of trieLeaves(stateRoot, this.#tries(block)(), start)) {
      found.push({ hash: bytesToHex(key), account: decodeAccount(row) })
      if (found.length > count) break
    }
    const next = found[count]?.hash
    const names = this.#addresses(block, new Set(found.slice(0, count).map(({ hash }) => hash)), watch)
    const accounts: Record<string, unknown> = {}
    let bytes = 0
    for (const { hash, account } of found) {
      const address = names.get(hash)
      // Accounts of an abandoned branch may be known by hash alone. They are skipped, as in go-ethereum.
      if (address === undefined) continue
      const code =
        withCode && !equalBytes(account.codeHash, emptyCodeHash) && this.#store.readCode(account.codeHash)
      const storage = withStorage ? this.#wholeStorage(block, address, account, watch) : {}
      bytes += 600 + (code ? code.length * 2 : 0) + Object.keys(storage).length * 140
      if (bytes > this.#limits.answerBytesMax) {
        throw new FaultError({ kind: 'TraceTooLarge', limitBytes: this.#limits.answerBytesMax })
      }
      accounts[toChecksumAddress(address)] = {
        balance: String(account.balance),
        nonce: Number(account.nonce),
        root: bytesToHex(account.storageRoot),
        codeHash: bytesToHex(account.codeHash),
        ...(code ? { code: bytesToHex(code) } : {}),
        ...(Object.keys(storage).length === 0 ? {} : { storage }),
        address: bytesToHex(address),
        key: hash,
      }
    }
    return { root: hexDigits(stateRoot), accounts, ...(next === undefined ? {} : { next }) }
  }

  #wholeStorage(block: NamedBlock, address: Uint8Array, account: Account, watch: JobWatch): object {
    const slots =
      this.#slotsFrom(block, address, account, new Uint8Array(0), Number.POSITIVE_INFINITY, watch) ?? []
    const names = this.#slotNames(block, address, slots, watch)
    return Object.fromEntries(slots.map(({ hash, value }) => [names.get(hash) ?? hash, value]))
  }

  /** Slots in the order of their hashes, values as digits; undefined if the account has none at all. */
  #slotsFrom(
    block: NamedBlock,
    address: Uint8Array,
    { storageRoot }: Account,
    start: Uint8Array,
    count: number,
    watch: JobWatch,
  ): { hash: string; value: string }[] | undefined {
    if (equalBytes(storageRoot, emptyTrieRoot)) return undefined
    const slots: { hash: string; value: string }[] = []
    for (const [key, row] of trieLeaves(storageRoot, this.#tries(block)(address), start)) {
      watch.take(50)
      if (slots.length * 140 > this.#limits.answerBytesMax) {
        throw new FaultError({ kind: 'TraceTooLarge', limitBytes: this.#limits.answerBytesMax })
      }
      slots.push({ hash: bytesToHex(key), value: hexDigits(rlpBytes(decodeRlp(row))) })
      if (slots.length >= count) break
    }
    return slots
  }

  /** Hash → key of these slots, as far as rows of the canonical chain contain them. */
  #slotNames(
    block: NamedBlock,
    address: Uint8Array,
    slots: readonly { readonly hash: string }[],
    watch: JobWatch,
  ): Map<string, string> {
    const wanted = new Set(slots.map(({ hash }) => hash))
    const rows =
      statusOf(this.#store, block) === 'head'
        ? this.#store.slotsOf(address as Address)
        : this.#store.slotsOfAt(address as Address, block.number)
    return namesOf(rows, wanted, watch, bytesToHex)
  }

  /** Hash → address of these accounts. Most exist at the head, where fewer rows have to be searched. */
  #addresses(block: NamedBlock, wanted: Set<string>, watch: JobWatch): Map<string, Uint8Array> {
    const copy = (address: Uint8Array) => address.slice()
    const names = namesOf(this.#store.accounts(), wanted, watch, copy)
    if (wanted.size === 0) return names
    return new Map([...names, ...namesOf(this.#store.accountsAt(block.number), wanted, watch, copy)])
  }

  /** Reads a block before which the state is stored with its tries. Throws FaultError as {@link BlockReplays.read}. */
  #readWithTries(hash: Uint8Array): ReplayedBlock {
    const block = this.#replays.read(hash)
    const name = { number: block.header.number, hash: toHash32(Uint8Array.from(hash)) }
    requireKeptBefore(this.#store, name, ['trie'])
    return block
  }

  /** The state after a block with all storage roots. */
  #wholeState(hash: Hash32, header: Header): StateView {
    if (!this.#store.mayLack) return this.#replays.stateAfter(hash, header)
    return provedState(this.#store, header.stateRoot, hash)
  }

  #roots(blockHash: Uint8Array, watch: JobWatch): unknown {
    const block = this.#readWithTries(blockHash)
    if (block.transactions.length === 0) return null
    const { kernel } = this.#own
    const { parentHash } = block.header
    const below = this.#wholeState(parentHash, this.#replays.readHeader(parentHash))
    const changed = new Set<number>()
    try {
      this.#replays.begin(kernel, block, watch)
      return block.transactions.map((transaction) => {
        this.#replays.run(kernel, block, transaction, watch)
        watch.look()
        for (const account of kernel.takeChanged()) changed.add(account)
        return bytesToHex(buildChanges(kernel, changed, below, undefined).stateRoot)
      })
    } finally {
      kernel.clear()
    }
  }

  #modified(first: NamedBlock, last: NamedBlock, watch: JobWatch): unknown {
    const store = this.#store
    if (store.mayLack) throw new FaultError({ kind: 'NoAccountHistory' })
    for (const { number, hash } of [first, last]) {
      if (!store.isCanonical(number, hash)) throw new FaultError({ kind: 'HashNotCanonical' })
    }
    const changed = new Set<string>()
    for (const address of store.accountsChangedIn(first.number + 1, last.number, () => watch.take(50))) {
      changed.add(latin1Key(address))
      if (changed.size > modifiedMax) throw messageRefused(`more than ${modifiedMax} accounts were changed`)
    }
    const modified: (readonly [hash: Hash32, address: string])[] = []
    for (const name of changed) {
      watch.take(50)
      const address = toAddress(latin1KeyToBytes(name))
      const after = store.readAccountAt(address, last.number)
      const before = store.readAccountAt(address, first.number)
      if (after === undefined || (before !== undefined && Buffer.compare(after, before) === 0)) continue
      modified.push([toHash32(keccak256(address)), bytesToHex(address)])
    }
    modified.sort(([a], [b]) => Buffer.compare(a, b))
    return modified.length === 0 ? null : modified.map(([, address]) => address)
  }

  #tries({ number, hash }: NamedBlock): Tries {
    return triesAfter(this.#store, { number, hash: toHash32(Uint8Array.from(hash)) })
  }
}

/** Hash → name of the rows whose key has a wanted hash. Removes found hashes from `wanted`. */
function namesOf<T>(
  rows: Iterable<readonly [key: Uint8Array, value: Uint8Array]>,
  wanted: Set<string>,
  watch: JobWatch,
  nameOf: (key: Uint8Array) => T,
): Map<string, T> {
  const names = new Map<string, T>()
  if (wanted.size === 0) return names
  for (const [key] of rows) {
    watch.take(20)
    const hash = bytesToHex(keccak256(key))
    if (!wanted.delete(hash)) continue
    names.set(hash, nameOf(key))
    if (wanted.size === 0) break
  }
  return names
}
