/**
 * Block diffs without an execution: given changes of accounts and slots, with the resulting tries, in the importer's
 * form.
 */
import { forksUpToLondon } from '../../src/data/chain/forks.js'
import { decodeHeader, encodeHeader, type Header } from '../../src/data/chain/header.js'
import { decodeAccount, encodeAccount } from '../../src/data/state/account.js'
import { updateStorageRoot } from '../../src/data/state/stateView.js'
import { RecentTries, type TrieChange, updateTrieRows } from '../../src/data/state/trie.js'
import { headTries, rowSink } from '../../src/data/state/tries.js'
import type { BlockDiff, Change } from '../../src/data/store/blockDiff.js'
import type { ChainWriter } from '../../src/data/store/chainWriter.js'
import { sortChanges } from '../../src/execution/evm/blocks/stateChanges.js'
import { type Address, concatBytes, type Hash32 } from '../../src/primitives/bytes.js'
import { emptyCodeHash, emptyTrieRoot, keccak256 } from '../../src/primitives/keccak.js'
import { encodeRlp } from '../../src/primitives/rlp.js'
import { parseGenesis } from '../../src/sources/ingest/blocks/genesis.js'

/** geth-format genesis of every synthetic network: an empty state under the rules of Cancun. */
export const syntheticGenesis = JSON.stringify({
  config: {
    chainId: 84330,
    ...forksUpToLondon,
    terminalTotalDifficulty: 0,
    shanghaiTime: 0,
    cancunTime: 0,
  },
  timestamp: '0x67748580',
  gasLimit: '0x1c9c380',
  difficulty: '0x0',
  alloc: {},
})

const secondsPerBlock = 12

/** Changes of a block to one account. */
export interface AccountChange {
  readonly address: Address
  /** The balance; if undefined, it is unchanged, or 1 for a new account. */
  readonly balance?: bigint
  /** Slot (32 bytes) → value without leading zeros; empty for zero. In any order, each once. */
  readonly slots: readonly Change[]
}

/** Makes the blocks of a chain one after the other; each must be applied before the next is made. */
export class DiffBuilder {
  readonly #store: ChainWriter
  readonly #recent = new RecentTries()
  #parent: { readonly header: Header; readonly hash: Hash32 }

  /** Begins a chain in a new store. */
  constructor(store: ChainWriter) {
    const genesis = parseGenesis(syntheticGenesis)
    store.initialize(genesis.identity, genesis.blockDiff)
    this.#store = store
    this.#parent = { header: decodeHeader(genesis.blockDiff.header), hash: genesis.blockDiff.hash }
  }

  /** A block that changes these accounts, each listed once. */
  next(changes: readonly AccountChange[]): BlockDiff {
    const store = this.#store
    const trie: Change[] = []
    const tries = headTries(store)
    const accounts: Change[] = []
    const slots: Change[] = []
    const trieChanges: TrieChange[] = []
    for (const { address, balance, slots: own } of changes) {
      const row = store.readAccount(address)
      const before = row && decodeAccount(row)
      const root = before?.storageRoot ?? emptyTrieRoot
      const after = encodeAccount({
        nonce: before?.nonce ?? 1n,
        balance: balance ?? before?.balance ?? 1n,
        storageRoot: updateStorageRoot(root, own, tries(address), rowSink(trie, address), this.#recent),
        codeHash: before?.codeHash ?? emptyCodeHash,
      })
      accounts.push([address, after])
      trieChanges.push([keccak256(address), after])
      for (const [slot, value] of own) slots.push([concatBytes(address, slot), value])
    }
    const { header: parent, hash: parentHash } = this.#parent
    const header: Header = {
      ...parent,
      parentHash,
      stateRoot: updateTrieRows(parent.stateRoot, trieChanges, tries(), rowSink(trie), this.#recent),
      number: parent.number + 1,
      timestamp: Number(parent.timestamp) + secondsPerBlock,
    }
    const rlp = encodeHeader(header)
    const hash = keccak256(rlp)
    this.#parent = { header, hash }
    return {
      number: header.number,
      hash,
      parentHash,
      header: rlp,
      body: encodeRlp([[], [], []]),
      senders: new Uint8Array(0),
      receipts: encodeRlp([]),
      totalDifficulty: new Uint8Array(0),
      accounts: sortChanges(accounts),
      slots: sortChanges(slots),
      trie: sortChanges(trie),
      code: [],
    }
  }
}
