/**
 * Reads a block's data before another thread executes it, so that their pages are in memory. Reads the entries of its
 * access list, or else senders and recipients with their code, and the access lists of transactions. Also reads the
 * trie nodes above all changes of the block. With data on disk, blocks that change 2,000 random ones of 600,000 slots
 * were imported in 0.74 of the time.
 */
import { anyBlock, BlockAccessListError, decodeBlockAccessList } from '../../../data/chain/blockAccessList.js'
import { headOf } from '../../../data/chain/header.js'
import { hasCode } from '../../../data/state/account.js'
import { headState, type StateView } from '../../../data/state/stateView.js'
import { readTrie } from '../../../data/state/trie.js'
import type { ChainReader } from '../../../data/store/chainReader.js'
import { RecoveredKeys, transactionHash } from '../../../execution/evm/transactions/recoveredKeys.js'
import { type Address, type Hash32, latin1Key, toAddress, toHash32 } from '../../../primitives/bytes.js'
import { keccak256 } from '../../../primitives/keccak.js'
import {
  decodeRlpList,
  RlpError,
  type RlpItem,
  rlpBytes,
  rlpList,
  rlpListSpans,
  rlpSpanAt,
} from '../../../primitives/rlp.js'
import { transactionTypes } from '../../../primitives/transactionTypes.js'
import { accessListIndex } from './block.js'

/**
 * Least number of major page faults since the last block for which a block is read ahead. Each takes some 0.1 ms. If
 * all pages are in memory, reading everything twice makes imports of transfers a fifth slower.
 */
const faultsWorthReading = 16

/** Most accounts that are remembered as read, to skip them; then all are forgotten. They take 8 MB. */
const rememberedMax = 65_536

export class ReadAhead {
  #reader: ChainReader | undefined
  #opening: Promise<void> | undefined
  #faults = 0
  readonly #remembered = new Set<string>()
  readonly #path: string
  readonly #faultsWorthReading: number

  /** The store of the network is opened at the first block that is worth reading ahead. */
  constructor(path: string, faults = faultsWorthReading) {
    this.#path = path
    this.#faultsWorthReading = faults
  }

  /** Opens the store. No block waits for it: loading the store's reader takes as long as loading all else here. */
  open(): Promise<void> {
    this.#opening ??= import('../../../data/store/chainReader.js').then(({ ChainReader }) => {
      this.#reader = ChainReader.open({ path: this.#path })
    })
    return this.#opening
  }

  /**
   * Reads ahead for a block (RLP) until `shouldStop`, once the store is open and while pages come from the disk. `keys`
   * are those found by {@link recoverKeys}. Malformed lists and transactions are ignored; the importer reports them.
   */
  read(block: Uint8Array, keys: Uint8Array, shouldStop: () => boolean): void {
    const { majorPageFault } = process.resourceUsage()
    const faults = majorPageFault - this.#faults
    this.#faults = majorPageFault
    if (faults < this.#faultsWorthReading) return
    if (this.#reader === undefined) return void this.open()
    try {
      this.#read(this.#reader, block, keys, shouldStop)
    } catch (error) {
      const isOfBlock = [RlpError, BlockAccessListError, RangeError].some((kind) => error instanceof kind)
      if (!isOfBlock) throw error
    }
  }

  #read(reader: ChainReader, block: Uint8Array, keys: Uint8Array, shouldStop: () => boolean): void {
    reader.refresh()
    const head = headOf(reader)
    if (head === undefined) return
    const state = headState(reader, head.header.stateRoot)
    const span = rlpListSpans(block, rlpSpanAt(block, 0))[accessListIndex]
    if (span !== undefined) return readListed(block.subarray(span.start, span.end), state, shouldStop)
    if (this.#remembered.size > rememberedMax) this.#remembered.clear()
    readTransactions(rlpList(decodeRlpList(block)[1]), keys, state, shouldStop, this.#remembered)
  }
}

/**
 * Reads all entries of a list (RLP) from a state, until `shouldStop`. Throws BlockAccessListError for a malformed list.
 */
export function readListed(list: Uint8Array, state: StateView, shouldStop: () => boolean): void {
  for (const access of decodeBlockAccessList(list, anyBlock)) {
    if (shouldStop()) return
    const address = access.address as Address
    const account = state.account(address)
    const { storageChanges, balanceChanges, nonceChanges, codeChanges } = access
    const changes = storageChanges.length + balanceChanges.length + nonceChanges.length + codeChanges.length
    if (changes > 0) readTrie(state.stateRoot, keccak256(address), state.tries())
    for (const slot of access.storageReads) state.slot(address, slot as Hash32)
    for (const { slot } of storageChanges) {
      state.slot(address, slot as Hash32)
      if (account !== undefined) readTrie(account.storageRoot, keccak256(slot), state.tries(address))
    }
  }
}

/**
 * Reads, until `shouldStop`, the accounts and slots of transactions from a state: senders, whose `keys`
 * {@link recoverKeys} found, recipients and access lists. Skips accounts in `remembered`, and adds the others there.
 * Throws RlpError for a malformed transaction.
 */
export function readTransactions(
  transactions: readonly RlpItem[],
  keys: Uint8Array,
  state: StateView,
  shouldStop: () => boolean,
  remembered: Set<string>,
): void {
  const recovered = new RecoveredKeys(() => undefined)
  recovered.hold(keys)
  for (const transaction of transactions) {
    if (shouldStop()) return
    const isTyped = transaction instanceof Uint8Array
    const type = transactionTypes.get(isTyped ? (transaction[0] ?? 0) : 0)
    if (type === undefined) continue
    const to = type.placeOf('to')
    const accessList = type.placeOf('accessList')
    const fields = isTyped ? decodeRlpList(transaction.subarray(1)) : transaction
    for (const address of [
      recovered.senderOf(transaction, transactionHash(transaction)),
      to === undefined ? undefined : rlpBytes(fields[to]),
    ]) {
      // Undefined if the signature has no sender, empty if a contract is created.
      if (address?.length) readChanging(toAddress(address), state, remembered)
    }
    if (accessList === undefined) continue
    for (const entry of rlpList(fields[accessList])) {
      const [listed, slots] = rlpList(entry)
      const address = toAddress(rlpBytes(listed))
      state.account(address)
      for (const slot of rlpList(slots)) state.slot(address, toHash32(rlpBytes(slot)))
    }
  }
}

/** Reads an account that a transaction will change. */
function readChanging(address: Address, state: StateView, remembered: Set<string>): void {
  const key = latin1Key(address)
  if (remembered.has(key)) return
  remembered.add(key)
  const account = state.account(address)
  if (account !== undefined && hasCode(account)) state.code(account.codeHash)
  readTrie(state.stateRoot, keccak256(address), state.tries())
}
