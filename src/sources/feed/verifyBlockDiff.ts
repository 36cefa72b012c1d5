/**
 * Checks a block diff from another machine, and computes the parts that it leaves out. Verifies everything that follows
 * from the block and the state before it. A valid block diff connects the two by exactly the changes that it lists.
 * Only the result of execution is trusted: that these transactions cause these changes.
 */
import { randomInt } from 'node:crypto'
import type { ForkSchedule } from '../../data/chain/forks.js'
import { decodeHeader, type Header, headerHash, headOf, stateRootOf } from '../../data/chain/header.js'
import { type Account, decodeAccount } from '../../data/state/account.js'
import { headState, type StateView, updateStorageRoot } from '../../data/state/stateView.js'
import { RecentTries, type TrieChange, updateTrieRows } from '../../data/state/trie.js'
import { rowSink } from '../../data/state/tries.js'
import type { BlockDiff, Change } from '../../data/store/blockDiff.js'
import type { ChainReader } from '../../data/store/chainReader.js'
import { BlockParts } from '../../execution/evm/blocks/blockParts.js'
import { isSameAccount, sortChanges } from '../../execution/evm/blocks/stateChanges.js'
import { RecoveredKeys } from '../../execution/evm/transactions/recoveredKeys.js'
import {
  type Address,
  addressBytes,
  bytesToBigInt,
  bytesToHex,
  equalBytes,
  type Hash32,
  latin1Key,
  noBytes,
  toMinimalBytes,
} from '../../primitives/bytes.js'
import { emptyTrieRoot, keccak256 } from '../../primitives/keccak.js'
import { RlpError, type RlpItem, rlpBytes, rlpEndAt, rlpPayloadAt } from '../../primitives/rlp.js'
import { BlockDiffError, type BlockDiffParts, NewCode } from './blockDiffCodec.js'

/** The block before a block diff, and the state after it. */
export interface PreviousState {
  readonly number: number
  readonly hash: Hash32
  readonly header: Header
  /** Up to and including the block. */
  readonly totalDifficulty: bigint
  readonly state: StateView
}

/** The head of a store as the predecessor of a block diff. Valid until the head changes. */
export function previousState(store: ChainReader): PreviousState {
  const head = headOf(store)
  const total = head && store.readTotalDifficulty(head.hash)
  if (head === undefined || total === undefined) throw new Error('the store has no whole head')
  const root = stateRootOf(head.header, store.readIdentity()?.development)
  return { ...head, totalDifficulty: bytesToBigInt(total), state: headState(store, root) }
}

export interface VerifierOptions {
  /** Number of transactions of each block, chosen at random, whose senders are recovered; Infinity for all. */
  readonly sendersChecked: number
}

/** Checks the block diffs of one chain. Faster for successive block diffs, because it caches their tries. */
export class BlockDiffVerifier {
  readonly #schedule: ForkSchedule
  readonly #senders: BelievedSenders
  readonly #parts: BlockParts
  #recent = new RecentTries()

  constructor(schedule: ForkSchedule, { sendersChecked }: VerifierOptions) {
    this.#schedule = schedule
    this.#senders = new BelievedSenders(sendersChecked)
    this.#parts = new BlockParts(schedule, this.#senders)
  }

  /**
   * The whole block diff for these `parts`. Throws {@link BlockDiffError} that names the block and the difference:
   *
   * - number, parent, or a sender
   * - the root of transactions, uncles, withdrawals or receipts; the bloom; the state root
   * - an account, slot or code that is missing, superfluous or out of order
   */
  verifyBlockDiff(previous: PreviousState, parts: BlockDiffParts): BlockDiff {
    const name = { text: `the block after ${previous.number}` }
    try {
      const hash = headerHash(parts.header)
      const header = decodeHeader(parts.header)
      expectEqual('its header has the hash', hash, parts.hash, 'the block diff is of')
      name.text = `block ${header.number} (${bytesToHex(hash)})`
      const state = this.#verify(previous, header, parts)
      const totalDifficulty = toMinimalBytes(previous.totalDifficulty + header.difficulty)
      const { number, parentHash } = header
      return { ...parts, number, hash, parentHash, totalDifficulty, ...state }
    } catch (error) {
      // Some of the cached nodes may belong to no state.
      this.#recent = new RecentTries()
      if (error instanceof BlockDiffError) throw new BlockDiffError(`${name.text}: ${error.message}`)
      if (error instanceof RlpError || error instanceof RangeError)
        throw new BlockDiffError(`${name.text}: ${error.message}`)
      throw error
    }
  }

  #verify(
    previous: PreviousState,
    header: Header,
    parts: BlockDiffParts,
  ): Pick<BlockDiff, 'trie' | 'code' | 'senders'> {
    if (header.number !== previous.number + 1) {
      throw new BlockDiffError(`it cannot follow block ${previous.number}`)
    }
    expectEqual('its parent is', header.parentHash, previous.hash, 'the head is')
    const changed = this.#verifyState(previous.state, header, parts)
    const isMerged = this.#schedule.isMerged(previous.totalDifficulty)
    this.#senders.expect(parts.senders, changed.accounts)
    const fault = (part: string, what: string) => new BlockDiffError(`its ${part} ${what}`)
    const senders = this.#parts.checkBody(parts.body, header, isMerged, fault)
    this.#senders.end()
    this.#parts.checkReceipts(parts.receipts, header, fault)
    const { blockAccessList } = parts
    const listFault = (what: string) => new BlockDiffError(`its access list ${what}`)
    if (blockAccessList !== undefined) this.#parts.checkAccessList(blockAccessList, header, listFault)
    else if (header.blockAccessListHash !== undefined) throw listFault('is missing')
    return { senders, trie: changed.trie, code: changed.code }
  }

  /** Applies the changes to the state before the block. */
  #verifyState(before: StateView, header: Header, { accounts, slots, code }: BlockDiffParts) {
    expectAscending('account', accounts)
    expectAscending('slot', slots)
    const trie: Change[] = []
    const newCode = new NewCode()
    const changed = new Map<string, ChangedAccount>()
    const trieChanges: TrieChange[] = []
    let slotAt = 0
    for (const [address, row] of accounts) {
      const account = {
        before: before.account(address as Address),
        after: row.length > 0 ? decodeAccount(row) : undefined,
      }
      if (isSameAccount(account.before, account.after)) {
        throw new BlockDiffError(`account ${bytesToHex(address)} does not change`)
      }
      const own: Change[] = []
      for (let slot = slots[slotAt]; slot && startsWith(slot[0], address); slot = slots[++slotAt]) {
        own.push([slot[0].subarray(addressBytes), slot[1]])
      }
      expectSlots(before, address, own)
      const root = updateStorageRoot(
        account.before?.storageRoot ?? emptyTrieRoot,
        own,
        before.tries(address),
        rowSink(trie, address),
        this.#recent,
      )
      expectEqual(
        () => `the slots of account ${bytesToHex(address)} lead to the storage root`,
        root,
        account.after?.storageRoot ?? emptyTrieRoot,
        'it has',
      )
      newCode.add(account.before, account.after)
      changed.set(latin1Key(address), account)
      trieChanges.push([keccak256(address), row.length > 0 ? row : undefined])
    }
    const other = slots[slotAt]
    if (other !== undefined) {
      throw new BlockDiffError(`slot ${bytesToHex(other[0])} changes, and its account does not`)
    }
    const stateRoot = updateTrieRows(
      before.stateRoot,
      trieChanges,
      before.tries(),
      rowSink(trie),
      this.#recent,
    )
    expectEqual('its changes lead to the state root', stateRoot, header.stateRoot, 'its header has')
    return {
      accounts: changed,
      trie: sortChanges(trie),
      code: withHashes(code, newCode.hashes()),
    }
  }
}

interface ChangedAccount {
  readonly before: Account | undefined
  readonly after: Account | undefined
}

/**
 * The senders that a block diff names, in the order of its transactions. Some are recovered and compared. The account
 * of each must have used the transaction's nonce in the block.
 */
class BelievedSenders implements Pick<RecoveredKeys, 'senderOf'> {
  readonly #keys = new RecoveredKeys()
  readonly #checkedMax: number
  #addresses = noBytes as Uint8Array
  #accounts: ReadonlyMap<string, ChangedAccount> = new Map()
  #index = 0
  #left = 0

  constructor(checkedMax: number) {
    this.#checkedMax = checkedMax
  }

  /** Begins a block, with its addresses and accounts. */
  expect(addresses: Uint8Array, accounts: ReadonlyMap<string, ChangedAccount>): void {
    this.#addresses = addresses
    this.#accounts = accounts
    this.#index = 0
    this.#left = this.#checkedMax
  }

  senderOf(transaction: RlpItem, hash: Hash32, reported?: Uint8Array): Uint8Array | undefined {
    const index = this.#index++
    const sender = this.#addresses.subarray(addressBytes * index, addressBytes * (index + 1))
    const expectSender = (found: Uint8Array) =>
      expectEqual(`transaction ${index} was sent by`, found, sender, 'the block diff says')
    if (reported !== undefined) {
      expectSender(reported)
      return reported
    }
    const account = this.#accounts.get(latin1Key(sender))
    const nonce = nonceOf(transaction)
    if (nonce < (account?.before?.nonce ?? 0n) || nonce >= (account?.after?.nonce ?? 0n)) {
      throw new BlockDiffError(
        `transaction ${index} has nonce ${nonce}, which the sender that is named, ${bytesToHex(sender)}, did not use in this block`,
      )
    }
    if (!this.#isChosen(index)) return sender
    const recovered = this.#keys.senderOf(transaction, hash)
    if (recovered !== undefined) expectSender(recovered)
    return recovered
  }

  /** Ends a block: throws if it names more senders than there are transactions. */
  end(): void {
    const count = this.#addresses.length / addressBytes
    if (count !== this.#index)
      throw new BlockDiffError(`it has ${this.#index} transactions and ${count} senders`)
  }

  /** Chooses a random sample of the given size. */
  #isChosen(index: number): boolean {
    const remaining = this.#addresses.length / addressBytes - index
    if (this.#left < remaining && (this.#left === 0 || randomInt(Math.ceil(remaining)) >= this.#left))
      return false
    this.#left--
    return true
  }
}

/** The nonce of a transaction: the first field of a list, the second of bytes with a type. */
function nonceOf(transaction: RlpItem): bigint {
  if (!(transaction instanceof Uint8Array)) return bytesToBigInt(rlpBytes(transaction[0]))
  const at = rlpEndAt(transaction, rlpPayloadAt(transaction, 1))
  return bytesToBigInt(transaction.subarray(rlpPayloadAt(transaction, at), rlpEndAt(transaction, at)))
}

function startsWith(key: Uint8Array, address: Uint8Array): boolean {
  for (let at = 0; at < addressBytes; at++) if (key[at] !== address[at]) return false
  return true
}

function expectSlots(before: StateView, address: Uint8Array, own: readonly Change[]): void {
  for (const [slot, value] of own) {
    const known = before.slot(address as Address, slot as Hash32) ?? noBytes
    if (equalBytes(known, value)) {
      throw new BlockDiffError(`slot ${bytesToHex(slot)} of account ${bytesToHex(address)} does not change`)
    }
  }
}

function expectAscending(what: string, changes: readonly Change[]): void {
  for (let at = 1; at < changes.length; at++) {
    const [key] = changes[at] as Change
    if (Buffer.compare((changes[at - 1] as Change)[0], key) >= 0) {
      throw new BlockDiffError(`${what} ${bytesToHex(key)} is repeated, or out of order`)
    }
  }
}

/** The code with its hashes, which must be the expected ones. */
function withHashes(code: readonly Uint8Array[], expected: readonly Hash32[]): Change[] {
  const hashed = code.map((bytes) => [keccak256(bytes), bytes] as const)
  for (let at = 0; at < Math.max(hashed.length, expected.length); at++) {
    const got = hashed[at]?.[0] ?? noBytes
    const want = expected[at] ?? noBytes
    expectEqual('it has the code', got, want, 'its accounts')
  }
  return hashed
}

/** Throws "… `what` A, `other` B" if the two differ. */
function expectEqual(what: string | (() => string), got: Uint8Array, want: Uint8Array, other: string): void {
  if (equalBytes(got, want)) return
  const text = (bytes: Uint8Array) => (bytes.length === 0 ? 'none' : bytesToHex(bytes))
  const subject = typeof what === 'string' ? what : what()
  throw new BlockDiffError(`${subject} ${text(got)}, ${other} ${text(want)}`)
}
