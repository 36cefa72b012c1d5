/**
 * Checks a store against its own hashes: every canonical block, and the whole state at the head and at random blocks.
 * It only reads, so it may run while a server runs; it executes nothing. Its memory does not grow with the store.
 */
import { blockAccessListHash } from '../../../data/chain/blockAccessList.js'
import { forkRules } from '../../../data/chain/forkRules.js'
import { ForkSchedule } from '../../../data/chain/forks.js'
import { decodeHeader, type Header, headerHash, stateRootOf } from '../../../data/chain/header.js'
import type { ChainReader } from '../../../data/store/chainReader.js'
import {
  type BlockName,
  firstHeaderOf,
  requireIdentity,
  type StoreKind,
  storeKindOf,
} from '../../../data/store/chainRows.js'
import { byHandSentence } from '../../../data/store/changesByHand.js'
import type { OldestKept } from '../../../data/store/keptHistory.js'
import { logKeysOf } from '../../../data/store/layouts/logKeys.js'
import { type StoredBlock, senderAt, senderBytes, storedBlockRow } from '../../../data/store/storedBlock.js'
import { bodyHashes, readBody, receiptsRootOf } from '../../../execution/evm/blocks/blockParts.js'
import { RecoveredKeys, transactionHash } from '../../../execution/evm/transactions/recoveredKeys.js'
import { readSignedTransaction } from '../../../execution/evm/transactions/signedTransaction.js'
import { bytesToBigInt, bytesToHex, equalBytes, type Hash32 } from '../../../primitives/bytes.js'
import { keccak256 } from '../../../primitives/keccak.js'
import { decodeRlpList, encodeRlp, rlpBytes } from '../../../primitives/rlp.js'
import { type VerifiedEpoch, verifyEpochs } from '../era/verifyEpochs.js'
import { compareState, type FlatState } from './compareState.js'
import { FaultList, TooManyFaults } from './faultList.js'
import { verifyReady } from './verifyReady.js'
import { verifySideTries } from './verifySideTries.js'
import { verifyStateHistory } from './verifyStateHistory.js'
import { verifyTries } from './verifyTries.js'

interface VerifyOptions {
  /** Number of random blocks whose whole state is compared, besides the head. */
  readonly blocks: number
  /** Seed of the random choice. */
  readonly seed: number
  /** Called with the current check and its progress, from 0 to 1. */
  readonly onProgress: (what: string, done: number) => void
}

export interface VerifyReport {
  readonly blocks: number
  readonly transactions: number
  /** Set for a store without state; then the members below are empty, except faults. */
  readonly epochs: readonly VerifiedEpoch[] | undefined
  /** Numbers of the blocks whose state was compared; the head is the last. */
  readonly stateBlocks: readonly number[]
  readonly accounts: number
  readonly slots: number
  /** Number of trie rows in all versions, each checked by its hash. */
  readonly trieNodes: number
  /** Changes that callers of a developer chain made by hand, as a sentence. */
  readonly changedByHand?: string | undefined
  /** One sentence each; empty for a sound store. */
  readonly faults: readonly string[]
}

export function verifyChain(store: ChainReader, options: VerifyOptions): VerifyReport {
  const head = store.readHead()
  if (head === undefined) throw new Error('the store has no head')
  const check = new Verification(store, head)
  const hasState = check.kind.state !== 'none'
  const oldest = Math.max(check.oldest.state, check.oldest.trie)
  const chosen = chooseBlocks(head.number - oldest, options).map((number) => oldest + number)
  const stateBlocks = hasState ? [...chosen, head.number] : []
  let epochs: VerifiedEpoch[] | undefined
  try {
    check.blocks((done) => options.onProgress('blocks', done))
    check.readyAnswers()
    if (!hasState) epochs = check.epochs((done) => options.onProgress('epochs', done))
    for (const [index, number] of stateBlocks.entries()) {
      options.onProgress(`state of block ${number}`, index / stateBlocks.length)
      check.stateAt(number)
    }
    if (hasState) {
      options.onProgress('latest state', 1)
      check.latestState()
      check.contracts()
      check.stateHistory(options.onProgress)
      check.tries((done) => options.onProgress('tries', done))
      check.code()
    }
  } catch (error) {
    if (!(error instanceof TooManyFaults)) throw error
  }
  const { counts, faults } = check
  const [changed] = store.changesByHand()
  const changes = store.readByHand()?.changes ?? 0
  const changedByHand = changed && byHandSentence(changed, changes)
  return { ...counts, epochs, stateBlocks, changedByHand, faults }
}

class Verification extends FaultList {
  readonly counts = { blocks: 0, transactions: 0, accounts: 0, slots: 0, trieNodes: 0 }
  /** Also says whether the store has state. */
  readonly kind: StoreKind
  readonly oldest: OldestKept

  /** Number of entries that the log index should have. */
  #logKeys = 0
  readonly #schedule: ForkSchedule
  readonly #keys = new RecoveredKeys()
  readonly #store: ChainReader
  readonly #head: BlockName
  readonly #firstHeader: number

  constructor(store: ChainReader, head: BlockName) {
    super()
    this.#store = store
    this.#head = head
    const identity = requireIdentity(store)
    this.kind = storeKindOf(identity)
    this.#firstHeader = firstHeaderOf(identity)
    this.oldest = store.readOldestKept()
    this.#schedule = ForkSchedule.of(identity)
  }

  /**
   * Checks every canonical block: hash, link to its parent, body, receipts, senders, locations, log index entries,
   * total difficulty.
   */
  blocks(onProgress: (done: number) => void): void {
    let parent: { hash: Hash32; total: bigint } | undefined
    for (let number = this.#firstHeader; number <= this.#head.number; number++) {
      if (number % 256 === 0) onProgress(number / (this.#head.number + 1))
      const before = parent
      parent = undefined
      this.guard(`block ${number}`, () => {
        parent = this.#block(number, before)
      })
    }
    if (this.#hasReceipts) this.#checkLogIndex()
    const last = this.#store.readCanonicalHash(this.#head.number)
    this.expect(
      last !== undefined && equalBytes(last, this.#head.hash),
      `the head ${bytesToHex(this.#head.hash)} is not canonical block ${this.#head.number}`,
    )
    // An interrupted import of archives leaves blocks there; the next import removes them.
    this.expect(
      this.kind.state === 'none' || this.#store.readCanonicalHash(this.#head.number + 1) === undefined,
      `block ${this.#head.number + 1} is above the head`,
    )
  }

  /** Checks the stored answers about the newest blocks. */
  readyAnswers(): void {
    this.guard('stored answers', () => verifyReady(this.#store, (sentence) => this.fault(sentence)))
  }

  /** Checks the epochs of a store without state. */
  epochs(onProgress: (done: number) => void): VerifiedEpoch[] {
    const found: VerifiedEpoch[] = []
    this.guard('epochs', () => {
      for (const epoch of verifyEpochs(this.#store, this.#head.number, (fault) => this.fault(fault))) {
        found.push(epoch)
        onProgress(epoch.last / (this.#head.number + 1))
      }
    })
    return found
  }

  /** Checks a block of which only the header is kept. */
  #withoutBody(number: number, stored: StoredBlock | undefined): void {
    const row = stored && storedBlockRow(stored.hash, { ...partsOf(stored), body: undefined })
    this.expect(
      row !== undefined && equalBytes(row, stored?.bytes ?? row) && stored?.senders.length === 0,
      `block ${number}: its row is not that of a header alone`,
    )
  }

  get #hasReceipts(): boolean {
    return this.kind.hasReceipts
  }

  #checkLogIndex(): void {
    this.guard('index of logs', () => {
      const kept = this.#store.countLogIndex()
      this.expect(
        kept === this.#logKeys,
        `index of logs: it has ${kept} entries, the receipts ${this.#logKeys}`,
      )
    })
  }

  #block(
    number: number,
    parent: { hash: Hash32; total: bigint } | undefined,
  ): { hash: Hash32; total: bigint } | undefined {
    const hash = this.#store.readCanonicalHash(number)
    const headerRlp = hash && this.#store.readHeader(hash)
    if (hash === undefined || headerRlp === undefined) {
      this.fault(`block ${number}: its header is missing`)
      return undefined
    }
    const header = decodeHeader(headerRlp)
    this.expect(
      equalBytes(headerHash(headerRlp), hash),
      `block ${number}: its header does not have the hash ${bytesToHex(hash)}`,
    )
    this.expect(header.number === number, `block ${number}: its header says ${header.number}`)
    const totalRow = this.#store.readTotalDifficulty(hash)
    this.expect(totalRow !== undefined, `block ${number}: its total difficulty is missing`)
    const total = bytesToBigInt(totalRow ?? new Uint8Array(0))
    const parentTotal = number === 0 ? 0n : parent?.total
    if (parent !== undefined) {
      this.expect(
        equalBytes(header.parentHash, parent.hash),
        `block ${number}: its parent is not block ${number - 1}`,
      )
    }
    if (parentTotal !== undefined) {
      this.expect(
        total === parentTotal + header.difficulty,
        `block ${number}: its total difficulty is ${total}, expected ${parentTotal + header.difficulty}`,
      )
    }
    this.#body(number, hash, header)
    this.counts.blocks++
    return { hash, total }
  }

  /** Checks the numbers of contracts, which are in the keys of state and trie rows. */
  contracts(): void {
    this.guard('contracts', () => {
      for (const sentence of this.#store.contractFaults()) this.fault(`contracts: ${sentence}`)
    })
  }

  /** Checks all rows of state against the writer's digests, and the undo records against the rows. */
  stateHistory(onProgress: (what: string, done: number) => void): void {
    verifyStateHistory(this.#store, this.#head.number, this, onProgress)
  }

  /** Checks all trie rows, of all blocks. */
  tries(onProgress: (done: number) => void): void {
    this.guard('tries', () => {
      const options = { head: this.#head.number, oldest: this.oldest.trie, onProgress }
      this.counts.trieNodes += verifyTries(this.#store, options, (sentence) => this.fault(sentence))
    })
    this.guard('tries of blocks that were left', () => {
      verifySideTries(this.#store, (sentence) => this.fault(sentence))
    })
  }

  /** Checks all code by its hash. */
  code(): void {
    for (const [hash, bytes] of this.#store.hashed('code')) {
      if (!equalBytes(keccak256(bytes), hash))
        this.fault(`code ${bytesToHex(hash)} has other content than its hash says`)
    }
  }

  /** Checks the state after a canonical block: history against the tries of its state root. */
  stateAt(number: number): void {
    this.#compare(number, {
      name: `history at block ${number}`,
      accounts: () => this.#store.accountsAt(number),
      slots: () => this.#store.slotsAt(number),
    })
  }

  /** Checks the latest tables against the tries of the head's state root. */
  latestState(): void {
    this.#compare(this.#head.number, {
      name: 'latest state',
      accounts: () => this.#store.accounts(),
      slots: () => this.#store.slots(),
    })
  }

  #body(number: number, hash: Hash32, header: Header): void {
    const stored = this.#store.readBlock(hash)
    if (number < this.oldest.bodies) return this.#withoutBody(number, stored)
    const hasReceipts = this.#hasReceipts && number >= this.oldest.receipts
    const body = this.#store.readBody(hash)
    const receipts = hasReceipts ? this.#store.readReceipts(hash) : encodeRlp([])
    if (body === undefined || receipts === undefined || stored === undefined) {
      this.fault(`block ${number}: its body or receipts are missing`)
      return
    }
    const { senders } = stored
    const row = storedBlockRow(hash, { ...partsOf(stored), body })
    this.expect(equalBytes(row, stored.bytes), `block ${number}: its parts are not as long as its row says`)
    const accessList = this.#store.readBlockAccessList(hash)
    // Blocks from archives lack their list.
    const mayLackList = header.blockAccessListHash === undefined || this.kind.state === 'none'
    this.expect(accessList !== undefined || mayLackList, `block ${number}: its access list is missing`)
    const content = readBody(body, header)
    const fork = this.#schedule.forkOf(header)
    const { withdrawalsRoot, ...ownHashes } = bodyHashes(content)
    const isOfBody = forkRules(fork).proofs.hasWithdrawals(fork)
    const isEmpty = content.withdrawals?.length === 0
    this.expect(isOfBody || isEmpty, `block ${number}: it has withdrawals`)
    const hashes = {
      ...ownHashes,
      withdrawalsRoot: isOfBody ? withdrawalsRoot : undefined,
      receiptsRoot: hasReceipts ? receiptsRootOf(decodeRlpList(receipts).map(rlpBytes), fork) : undefined,
      blockAccessListHash: accessList && blockAccessListHash(accessList),
    }
    for (const [field, got] of Object.entries(hashes)) {
      if (got === undefined) continue
      const want = header[field as keyof typeof hashes]
      this.expect(
        want !== undefined && equalBytes(got, want),
        `block ${number}: ${field} of its content is ${bytesToHex(got)}, the header says ${want === undefined ? 'nothing' : bytesToHex(want)}`,
      )
    }
    const { count, missing } = checkLogKeys(this.#store, receipts, number)
    this.#logKeys += count
    this.expect(missing === 0, `block ${number}: a log of it is not in the index of logs`)
    this.expect(
      senders.length === content.transactions.length * senderBytes,
      `block ${number}: its senders are not as many as its transactions`,
    )
    const { chainId } = this.#schedule.config
    const isByHand = (this.#store.readByHand()?.changes ?? 0) > 0
    for (const [index, item] of content.transactions.entries()) {
      const sender = senderAt(senders, index)
      const { isImpersonated } = isByHand
        ? readSignedTransaction(item, fork, chainId, { senderOf: () => sender })
        : { isImpersonated: false }
      this.expect(
        isImpersonated || equalBytes(sender, readSignedTransaction(item, fork, chainId, this.#keys).sender),
        `block ${number}: transaction ${index} was not signed by ${bytesToHex(sender)}`,
      )
      const own = transactionHash(item)
      const location = this.#store.readLocation(own)
      const kept = senders.subarray(index * senderBytes + 20, (index + 1) * senderBytes)
      this.expect(
        equalBytes(kept, own) && location?.index === index && equalBytes(location.blockHash, hash),
        `block ${number}: transaction ${index} is not indexed under its hash`,
      )
      this.counts.transactions++
    }
  }

  #compare(number: number, flat: FlatState): void {
    this.guard(flat.name, () => {
      const hash = this.#store.readCanonicalHash(number)
      const header = hash && this.#store.readHeader(hash)
      const { development } = this.#store.readIdentity() ?? {}
      if (header === undefined) return
      const stateRoot =
        (hash && this.#store.readRootByHand(hash)) ?? stateRootOf(decodeHeader(header), development)
      const fault = (sentence: string) => this.fault(sentence)
      const { accounts, slots } = compareState(this.#store, number, stateRoot, flat, fault)
      this.counts.accounts += accounts
      this.counts.slots += slots
    })
  }
}

function partsOf({ header, senders, totalDifficulty }: StoredBlock) {
  return { header, senders, totalDifficulty }
}

/** Distinct random numbers below the head, in ascending order (mulberry32). */
function chooseBlocks(
  headNumber: number,
  { blocks, seed }: { readonly blocks: number; readonly seed: number },
): number[] {
  let state = seed >>> 0
  const random = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = Math.imul(state ^ (state >>> 15), state | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
  const chosen = new Set<number>()
  const wanted = Math.min(blocks, headNumber)
  while (chosen.size < wanted) chosen.add(Math.floor(random() * headNumber))
  return [...chosen].sort((a, b) => a - b)
}

/** Number of keys of the logs of block `number`, and of those for which the log index lacks the block. */
export function checkLogKeys(
  store: ChainReader,
  receipts: Uint8Array,
  number: number,
): { readonly count: number; readonly missing: number } {
  const keys = [...logKeysOf(receipts)]
  const lacks = (key: string) => store.readLogChunk(Buffer.from(key, 'latin1'), number)[0] !== number
  return { count: keys.length, missing: keys.filter(lacks).length }
}
