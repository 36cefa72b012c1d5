/**
 * A network of any size, the same on every machine: N accounts with three slots each, and one contract, the vault,
 * with S slots. Written through the store's own bundles, so that a server opens it as any other network and every
 * proof of it verifies against the state root of its head. No transactions stand behind these blocks: the state is
 * consistent, but no execution leads to it.
 *
 * Keys are taken in the order of their hashes. A chunk then touches only the right edge of the trie, so nothing is
 * written twice however many chunks there are.
 */
import { decodeHeader, encodeHeader, type Header } from '../../src/chain/header.js'
import { parseGenesis } from '../../src/ingest/genesis.js'
import {
  type Address,
  concatBytes,
  type Hash32,
  hexToBytes,
  padLeft,
  toAddress,
  toHash32,
  toMinimalBytes,
} from '../../src/primitives/bytes.js'
import { emptyCodeHash, emptyTrieRoot, keccak256 } from '../../src/primitives/keccak.js'
import { encodeRlp } from '../../src/primitives/rlp.js'
import { encodeAccount } from '../../src/state/account.js'
import { type TrieChange, updateTrieRows } from '../../src/state/trie.js'
import { headTries, rowSink } from '../../src/state/tries.js'
import type { Change } from '../../src/store/blockDiff.js'
import { ChainWriter } from '../../src/store/chainWriter.js'
import { scatter } from './scatter.js'

export interface SyntheticSize {
  readonly accounts: number
  /** Slots of the vault. */
  readonly slots: number
}

/** Raised with every change of what is generated: it is part of the name of a cached network. */
export const generatorVersion = 2

/** geth-format genesis of every synthetic network: an empty state under the rules of Cancun. */
export const syntheticGenesis = JSON.stringify({
  config: {
    chainId: 84330,
    homesteadBlock: 0,
    eip150Block: 0,
    eip155Block: 0,
    eip158Block: 0,
    byzantiumBlock: 0,
    constantinopleBlock: 0,
    petersburgBlock: 0,
    istanbulBlock: 0,
    berlinBlock: 0,
    londonBlock: 0,
    terminalTotalDifficulty: 0,
    shanghaiTime: 0,
    cancunTime: 0,
  },
  timestamp: '0x67748580',
  gasLimit: '0x1c9c380',
  difficulty: '0x0',
  alloc: {},
})

export const vaultAddress = toAddress(hexToBytes(`0x${'0'.repeat(36)}5a17`))
/** Slots 0 to 2 of every account hold something. */
export const slotsPerAccount = 3

/**
 * Keys taken into one block. More take more memory (about 1 KB each until the block is written), fewer write each
 * page of the flat tables more often.
 */
const keysPerBlockDefault = 250_000
const secondsPerBlock = 12

/** Eight hex digits of a 32-bit number. */
const digits = (value: number): string => value.toString(16).padStart(8, '0')

/** Address of an account as hex; scattered, as real ones are, so that reads find no neighbours. */
export function accountHex(index: number): string {
  return `0x${digits(scatter(index))}${'0'.repeat(24)}${digits(index)}`
}

/** Slot of the vault as hex, scattered like the hashes that mappings make. */
export function vaultSlotHex(index: number): string {
  return `0x${digits(scatter(index))}${'0'.repeat(48)}${digits(index)}`
}

/** What slot `slot` of account `index` holds; never zero. */
function accountSlotValue(index: number, slot: number): Uint8Array {
  return toMinimalBytes(index * slotsPerAccount + slot + 1)
}

/** What a slot of the vault holds; never zero. */
export function vaultValue(index: number): Uint8Array {
  return toMinimalBytes(scatter(index) + 1)
}

/** Writes the network into a new store at `path`. Some 4,000 accounts or 14,000 slots a second. */
export async function writeSyntheticNetwork(
  path: string,
  size: SyntheticSize,
  onProgress: (done: number, total: number) => void = () => undefined,
  keysPerBlock = keysPerBlockDefault,
): Promise<void> {
  const store = ChainWriter.openForWriting({ path })
  try {
    const genesis = parseGenesis(syntheticGenesis)
    store.initialize(genesis.identity, genesis.blockDiff)
    const builder = new BlockBuilder(store)
    const total = size.accounts + size.slots
    let done = 0
    for (const chunk of inHashOrder(size.slots, keysPerBlock, (i) => hexToBytes(vaultSlotHex(i)))) {
      builder.addVaultSlots(chunk)
      builder.seal()
      done += chunk.length
      onProgress(done, total)
    }
    for (const chunk of inHashOrder(size.accounts, keysPerBlock, (i) => hexToBytes(accountHex(i)))) {
      for (const entry of chunk) builder.addAccount(entry)
      builder.seal()
      done += chunk.length
      onProgress(done, total)
    }
  } finally {
    await store.close()
  }
}

interface Keyed {
  readonly index: number
  readonly key: Uint8Array
  readonly hash: Hash32
}

/** Entries that one sort takes: a number of 53 bits holds 29 bits of a key above an entry's place. */
const placeMax = 2 ** 24

/** Sorts as the first 29 bits of `bytes` from `at` on, and among equals as `place`. */
function sortable(bytes: Uint8Array, at: number, place: number): number {
  const [a, b, c, d] = [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]] as [
    number,
    number,
    number,
    number,
  ]
  return (a * 2 ** 21 + b * 2 ** 13 + c * 2 ** 5 + (d >>> 3)) * placeMax + place
}

/**
 * The numbers from 0 to `count` with their keys in the order of the keys' hashes, in chunks that end where the first
 * two bytes of the hash change. Numbers are sorted, and by 29 bits only: whoever updates a trie sorts what is almost
 * in order at little cost.
 */
function* inHashOrder(
  count: number,
  keysPerBlock: number,
  keyOf: (index: number) => Uint8Array,
): Generator<Keyed[]> {
  if (count > placeMax) throw new RangeError(`expected at most ${placeMax} of a kind, got ${count}`)
  const hashes = new Uint8Array(count * 32)
  const order = new Float64Array(count)
  for (let index = 0; index < count; index++) {
    const hash = keccak256(keyOf(index))
    hashes.set(hash, index * 32)
    order[index] = sortable(hash, 0, index)
  }
  order.sort()
  let chunk: Keyed[] = []
  let bucket = 0
  for (const sorted of order) {
    const index = sorted % placeMax
    const hash = toHash32(hashes.slice(index * 32, index * 32 + 32))
    const ownBucket = ((hash[0] as number) << 8) | (hash[1] as number)
    if (ownBucket !== bucket && chunk.length >= keysPerBlock) {
      yield chunk
      chunk = []
    }
    bucket = ownBucket
    chunk.push({ index, key: keyOf(index), hash })
  }
  if (chunk.length > 0) yield chunk
}

/** Collects what one block changes and writes it. */
class BlockBuilder {
  readonly #accountSlotHashes = Array.from({ length: slotsPerAccount }, (_, slot) =>
    keccak256(slotBytes(slot)),
  )
  #parent: { readonly header: Header; readonly hash: Hash32 }
  #vaultRoot: Hash32 = emptyTrieRoot
  #accounts: Change[] = []
  #slots: Change[] = []
  #trie: Change[] = []
  #trieChanges: TrieChange[] = []
  readonly #store: ChainWriter

  constructor(store: ChainWriter) {
    this.#store = store
    const { blockDiff } = parseGenesis(syntheticGenesis)
    this.#parent = { header: decodeHeader(blockDiff.header), hash: blockDiff.hash }
  }

  addVaultSlots(entries: readonly Keyed[]): void {
    const changes: TrieChange[] = []
    for (const { index, key, hash } of entries) {
      const value = vaultValue(index)
      this.#slots.push([concatBytes(vaultAddress, key), value])
      changes.push([hash, encodeRlp(value)])
    }
    this.#vaultRoot = this.#update(this.#vaultRoot, changes, vaultAddress)
    this.#setAccount(vaultAddress, keccak256(vaultAddress), 1, this.#vaultRoot)
  }

  addAccount({ index, key, hash }: Keyed): void {
    const address = toAddress(key)
    const changes: TrieChange[] = []
    for (const [slot, slotHash] of this.#accountSlotHashes.entries()) {
      const value = accountSlotValue(index, slot)
      this.#slots.push([concatBytes(address, slotBytes(slot)), value])
      changes.push([slotHash, encodeRlp(value)])
    }
    const storageRoot = this.#update(emptyTrieRoot, changes, address)
    this.#setAccount(address, hash, index, storageRoot)
  }

  #setAccount(address: Address, hash: Hash32, index: number, storageRoot: Hash32): void {
    const balance = 10n ** 18n + BigInt(index)
    const row = encodeAccount({ nonce: BigInt(index % 100), balance, storageRoot, codeHash: emptyCodeHash })
    this.#accounts.push([address, row])
    this.#trieChanges.push([hash, row])
  }

  #update(root: Hash32, changes: readonly TrieChange[], address?: Address): Hash32 {
    return updateTrieRows(root, changes, headTries(this.#store)(address), rowSink(this.#trie, address))
  }

  /** Writes what was added as the next block. */
  seal(): void {
    const { header: parent, hash: parentHash } = this.#parent
    const header: Header = {
      ...parent,
      parentHash,
      stateRoot: this.#update(parent.stateRoot, this.#trieChanges),
      number: parent.number + 1,
      timestamp: Number(parent.timestamp) + secondsPerBlock,
    }
    const rlp = encodeHeader(header)
    const hash = keccak256(rlp)
    this.#store.apply(parent.number, [
      {
        number: header.number,
        hash,
        parentHash,
        header: rlp,
        body: encodeRlp([[], [], []]),
        senders: new Uint8Array(0),
        receipts: encodeRlp([]),
        totalDifficulty: new Uint8Array(0),
        accounts: inKeyOrder(this.#accounts),
        slots: inKeyOrder(this.#slots),
        trie: this.#trie.sort(([a], [b]) => Buffer.compare(a, b)),
        code: [],
      },
    ])
    this.#parent = { header, hash }
    this.#accounts = []
    this.#slots = []
    this.#trie = []
    this.#trieChanges = []
  }
}

function slotBytes(slot: number): Hash32 {
  return toHash32(padLeft(toMinimalBytes(slot), 32))
}

/**
 * Changes in the order of their keys, of which the first `shared` bytes are the same. Compares keys only once they are
 * almost in order: half the time of comparing from the start.
 */
function inKeyOrder(changes: readonly Change[], shared = 0): Change[] {
  const order = Float64Array.from(changes, ([key], place) => sortable(key, shared, place)).sort()
  return Array.from(order, (sorted) => changes[sorted % placeMax] as Change).sort(([a], [b]) =>
    Buffer.compare(a, b),
  )
}
