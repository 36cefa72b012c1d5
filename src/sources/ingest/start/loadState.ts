/**
 * Loads the whole state after a block, from a dump, into a new store, and compares its root with the block's header.
 * First all accounts and slots are sorted by the hashes that are their keys in the tries. Then the tries are made in
 * that order; their rows, and those of the flat state, are sorted by their own keys. Then the store is written. So
 * memory does not grow with the state, and nothing is read back from the store.
 */

import { encodeAccount } from '../../../data/state/account.js'
import { SortedTrie } from '../../../data/state/sortedTrie.js'
import type { Entry } from '../../../data/store/readTable.js'
import { SortedRuns } from '../../../data/store/sortedRuns.js'
import type { StateLoad } from '../../../data/store/startWriter.js'
import {
  bytesToBigInt,
  bytesToHex,
  bytesToNumber,
  concatBytes,
  equalBytes,
  type Hash32,
  hashBytes,
  noBytes,
  toHash32,
  toMinimalBytes,
} from '../../../primitives/bytes.js'
import { OperatorError } from '../../../primitives/faults.js'
import { emptyCodeHash, keccak256 } from '../../../primitives/keccak.js'
import { decodeRlpList, encodeRlp, rlpBytes } from '../../../primitives/rlp.js'
import { Turns } from '../thread/pace.js'
import type { DumpedAccount, DumpSink } from './stateDump.js'

/** Entries between two checks of the clock. */
const entriesPerLook = 256

/** Takes the entries of a dump, sorts them by hashes, and makes their tries. */
export class StateLoader implements DumpSink {
  readonly #load: StateLoad
  readonly #block: string
  readonly #stateRoot: Hash32
  /** Hash of an address → account; hash of an address ‖ hash of a slot → slot ‖ value. */
  readonly #byHash: SortedRuns
  /** Slots of the next account, by their keys: there may be more than fit in memory. */
  readonly #slots: SortedRuns
  #count = 0

  /** `block` names the block in messages; its state root must be `stateRoot`. */
  constructor(load: StateLoad, block: string, stateRoot: Hash32) {
    this.#load = load
    this.#block = block
    this.#stateRoot = stateRoot
    this.#byHash = new SortedRuns(`${load.folder}/hashed`)
    this.#slots = new SortedRuns(`${load.folder}/account`)
  }

  root(root: Uint8Array): void {
    if (equalBytes(root, this.#stateRoot)) return
    throw new OperatorError(
      `the dump is of a state with the root ${bytesToHex(root)}, and ${this.#block} has ${bytesToHex(this.#stateRoot)}; ` +
        'name the header of the block that was dumped',
    )
  }

  slot(slot: Uint8Array, value: Uint8Array): void {
    this.#slots.add(slot, value)
  }

  account({ line, address, nonce, balance, code, codeHash: said, storageRoot }: DumpedAccount): void {
    const where = `line ${line}: account ${bytesToHex(address)}`
    const hash = keccak256(address)
    const codeHash = code.length === 0 ? emptyCodeHash : keccak256(code)
    if (said !== undefined && !equalBytes(said, codeHash)) {
      throw new OperatorError(
        `${where}: its code has the hash ${bytesToHex(codeHash)}, and "codeHash" is ${bytesToHex(said)}`,
      )
    }
    if (code.length > 0) this.#load.addCode(codeHash, code)
    const numbers = [line, nonce, balance].map(toMinimalBytes)
    this.#byHash.add(hash, encodeRlp([...numbers, address, codeHash, storageRoot ?? noBytes]))
    let last: Uint8Array | undefined
    for (const { key, value } of this.#slots.inOrder()) {
      if (last !== undefined && equalBytes(last, key))
        throw new OperatorError(`${where}: slot ${bytesToHex(key)} is given twice`)
      last = Uint8Array.from(key)
      this.#byHash.add(concatBytes(hash, keccak256(last)), concatBytes(last, value))
    }
    this.#count++
  }

  /**
   * Makes the tries, after all entries were taken. `onMade` gets the finished share of accounts, and stops this by
   * returning false. Resolves to whether all were made. Rejects with OperatorError if the root is not that of the
   * block.
   */
  async finish(onMade: (share: number) => boolean): Promise<boolean> {
    const load = this.#load
    const accounts = new SortedTrie((path, row) => load.addTrieRow(undefined, path, row))
    let current: LoadedAccount | undefined
    const end = () => {
      if (current === undefined) return
      const { address, rlp } = current.finish()
      accounts.add(current.hash, rlp)
      load.addAccount(address, rlp)
    }
    const turns = new Turns()
    let entries = 0
    for (const { key, value } of this.#byHash.inOrder()) {
      if (key.length === hashBytes) {
        end()
        current = LoadedAccount.after(current, { key, value }, load)
      } else current?.addSlot(key, value)
      if (++entries % entriesPerLook > 0 || !turns.isDue) continue
      await turns.take()
      if (!onMade(load.counts.accounts / this.#count)) return false
    }
    end()
    const root = accounts.finish()
    if (equalBytes(root, this.#stateRoot)) return true
    throw new OperatorError(
      `the ${load.counts.accounts} accounts and ${load.counts.slots} slots of the dump lead to the state root ` +
        `${bytesToHex(root)}, and ${this.#block} has ${bytesToHex(this.#stateRoot)}: an account, a slot or code is ` +
        'missing or wrong in it; make the dump again',
    )
  }

  close(): void {
    this.#byHash.close()
    this.#slots.close()
  }
}

/** An account whose slots follow one by one. */
class LoadedAccount {
  readonly hash: Hash32
  readonly #load: StateLoad
  readonly #line: number
  readonly #nonce: bigint
  readonly #balance: bigint
  readonly #address: Uint8Array
  readonly #codeHash: Hash32
  readonly #storageRoot: Uint8Array
  readonly #storage: SortedTrie
  #contract: number | undefined

  /**
   * The account of an entry, whose bytes the next step overwrites. Throws OperatorError if `before` is the same
   * account.
   */
  static after(before: LoadedAccount | undefined, entry: Entry, load: StateLoad): LoadedAccount {
    const account = new LoadedAccount(entry, load)
    if (before === undefined || !equalBytes(before.hash, account.hash)) return account
    const [first, second] = [before.#line, account.#line].sort((a, b) => a - b)
    throw new OperatorError(
      `account ${bytesToHex(account.#address)} is in line ${first} and in line ${second}; make the dump again`,
    )
  }

  constructor({ key, value }: Entry, load: StateLoad) {
    const items = decodeRlpList(Uint8Array.from(value)).map(rlpBytes)
    const [line, nonce, balance, address, codeHash, storageRoot] = items as [Uint8Array, ...Uint8Array[]]
    this.hash = toHash32(Uint8Array.from(key))
    this.#line = bytesToNumber(line)
    this.#nonce = bytesToBigInt(nonce as Uint8Array)
    this.#balance = bytesToBigInt(balance as Uint8Array)
    this.#address = address as Uint8Array
    this.#codeHash = toHash32(codeHash as Uint8Array)
    this.#storageRoot = storageRoot as Uint8Array
    this.#load = load
    this.#storage = new SortedTrie((path, row) => load.addTrieRow(this.#contract, path, row))
  }

  /** Adds the next slot, from the key and value of its entry. */
  addSlot(key: Uint8Array, slotAndValue: Uint8Array): void {
    this.#contract ??= this.#load.addContract(this.#address)
    const value = slotAndValue.subarray(hashBytes)
    this.#load.addSlot(this.#contract, this.#address, slotAndValue.subarray(0, hashBytes), value)
    this.#storage.add(Uint8Array.from(key.subarray(hashBytes)), encodeRlp(value))
  }

  finish(): { readonly address: Uint8Array; readonly rlp: Uint8Array } {
    const storageRoot = this.#storage.finish()
    if (this.#storageRoot.length > 0 && !equalBytes(storageRoot, this.#storageRoot)) {
      throw new OperatorError(
        `line ${this.#line}: the slots of account ${bytesToHex(this.#address)} lead to the root ` +
          `${bytesToHex(storageRoot)}, and "root" is ${bytesToHex(this.#storageRoot)}: one is missing or wrong, or the ` +
          'node that made the dump knows only the hashes of slots (it needs preimages)',
      )
    }
    const account = { nonce: this.#nonce, balance: this.#balance, storageRoot, codeHash: this.#codeHash }
    return { address: this.#address, rlp: Uint8Array.from(encodeAccount(account)) }
  }
}
