/**
 * Checks that a state in flat tables equals the state of its tries. Both are walked once, in their own orders, without
 * a list of visited entries. Each entry is hashed with its place. The exclusive or of all these hashes is equal on both
 * sides only if the entries are. There is one for each bucket of accounts. So only accounts of a differing bucket are
 * looked up one by one, to name the wrong ones.
 */

import { decodeAccount } from '../../../data/state/account.js'
import { readTrie, trieLeaves } from '../../../data/state/trie.js'
import { historicalTries } from '../../../data/state/tries.js'
import type { ChainReader } from '../../../data/store/chainReader.js'
import {
  type Address,
  bytesToHex,
  equalBytes,
  type Hash32,
  joinBytes,
  readUint32,
} from '../../../primitives/bytes.js'
import { emptyCodeHash, keccak256 } from '../../../primitives/keccak.js'
import { encodeRlp } from '../../../primitives/rlp.js'

/** A state from the flat tables. Both lists may be walked twice. */
export interface FlatState {
  readonly name: string
  /** Accounts in the order of their addresses. */
  readonly accounts: () => Iterable<readonly [Address, Uint8Array]>
  /** By `address ‖ slot`, in key order. */
  readonly slots: () => Iterable<readonly [Uint8Array, Uint8Array]>
}

/**
 * Buckets by the first 8 bits of an account's hash: 4 KB. If one slot of ten million is wrong, some 40,000 are looked
 * up.
 */
const bucketBits = 8

/** 32-bit words of each hash that are kept: two different states seem equal once in 2^128. */
const lanes = 4

/** Digests of all buckets. */
class Digest {
  readonly #sums = new Uint32Array(lanes << bucketBits)

  /** Adds an entry of the account with this hash; a second call with the same entry removes it. */
  toggle(account: Uint8Array, ...entry: readonly Uint8Array[]): void {
    const hash = keccak256(joinBytes([account, ...entry]))
    const at = lanes * bucketOf(account)
    for (let lane = 0; lane < lanes; lane++) {
      this.#sums[at + lane] = (this.#sums[at + lane] as number) ^ readUint32(hash, 4 * lane)
    }
  }

  get isEmpty(): boolean {
    return this.#sums.every((sum) => sum === 0)
  }

  /** Whether the digest of this account's bucket is not zero. */
  hasLeft(account: Uint8Array): boolean {
    const at = lanes * bucketOf(account)
    return this.#sums.subarray(at, at + lanes).some((sum) => sum !== 0)
  }
}

function bucketOf(account: Uint8Array): number {
  return readUint32(account, 0) >>> (32 - bucketBits)
}

/**
 * Calls `fault` for each difference, and for missing code; returns how many accounts and slots were compared. Throws
 * MissingNodeError and RangeError as {@link trieLeaves} does.
 */
export function compareState(
  store: ChainReader,
  number: number,
  stateRoot: Hash32,
  flat: FlatState,
  fault: (sentence: string) => void,
): { readonly accounts: number; readonly slots: number } {
  const tries = historicalTries(store, number)
  const accounts = new Digest()
  const slots = new Digest()
  const counts = { accounts: 0, slots: 0 }
  const inTries = { accounts: 0, slots: 0 }
  for (const [account, row] of trieLeaves(stateRoot, tries())) {
    inTries.accounts++
    accounts.toggle(account, row)
  }
  for (const [address, row] of flat.accounts()) {
    counts.accounts++
    const account = keccak256(address)
    accounts.toggle(account, row)
    const { storageRoot, codeHash } = decodeAccount(row)
    // If the state trie has another root, the account differs and is reported.
    for (const [slot, value] of trieLeaves(storageRoot, tries(address))) {
      inTries.slots++
      slots.toggle(account, slot, value)
    }
    if (!equalBytes(codeHash, emptyCodeHash) && store.readCode(codeHash) === undefined) {
      fault(`${flat.name}: the code of ${bytesToHex(address)} is missing`)
    }
  }
  for (const [account, key, value] of withAccounts(flat.slots())) {
    counts.slots++
    slots.toggle(account, keccak256(key.subarray(20)), encodeRlp(value))
  }
  if (!accounts.isEmpty) findAccounts()
  if (!slots.isEmpty) findSlots()
  if (counts.accounts !== inTries.accounts)
    fault(`${flat.name}: it has ${counts.accounts} accounts, the state trie ${inTries.accounts}`)
  // The tries of missing accounts were not walked.
  if (counts.slots !== inTries.slots && counts.accounts === inTries.accounts)
    fault(`${flat.name}: it has ${counts.slots} slots, the storage tries of its accounts ${inTries.slots}`)
  return counts

  function findAccounts(): void {
    for (const [address, row] of flat.accounts()) {
      const account = keccak256(address)
      if (!accounts.hasLeft(account)) continue
      const inTrie = readTrie(stateRoot, account, tries())
      if (inTrie === undefined || !equalBytes(inTrie, row))
        fault(`${flat.name}: account ${bytesToHex(address)} differs from the state trie`)
    }
  }

  function findSlots(): void {
    for (const [account, key, value] of withAccounts(flat.slots())) {
      if (!slots.hasLeft(account)) continue
      const row = readTrie(stateRoot, account, tries())
      const slot = key.subarray(20)
      const readNode = tries(key.subarray(0, 20))
      const inTrie = row && readTrie(decodeAccount(row).storageRoot, keccak256(slot), readNode)
      if (inTrie === undefined || !equalBytes(inTrie, encodeRlp(value)))
        fault(
          `${flat.name}: slot ${bytesToHex(slot)} of ${bytesToHex(key.subarray(0, 20))} differs from its storage trie`,
        )
    }
  }
}

/** Slots with the hashes of their addresses; each hash is computed once. */
function* withAccounts(
  slots: Iterable<readonly [Uint8Array, Uint8Array]>,
): Generator<readonly [account: Uint8Array, key: Uint8Array, value: Uint8Array]> {
  let address: Uint8Array = new Uint8Array(0)
  let account: Uint8Array = address
  for (const [key, value] of slots) {
    if (!equalBytes(address, key.subarray(0, 20))) {
      address = key.slice(0, 20)
      account = keccak256(address)
    }
    yield [account, key, value]
  }
}
