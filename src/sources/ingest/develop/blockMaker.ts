/**
 * Makes blocks on the head of a developer chain: a header by the rules in force, and the waiting transactions that can
 * run. Owns the content of a block. The executor of imported blocks executes it, once; the store takes the result.
 */
import { blockAccessListHash } from '../../../data/chain/blockAccessList.js'
import type { BlockItem, Opening } from '../../../data/chain/executionRules.js'
import { gasPerBlob } from '../../../data/chain/feeMarket.js'
import { forkRules } from '../../../data/chain/forkRules.js'
import { type ForkName, type ForkSchedule, includesFork } from '../../../data/chain/forks.js'
import {
  decodeHeader,
  encodeHeader,
  type Header,
  headerHash,
  stateRootOf,
  type Timestamp,
} from '../../../data/chain/header.js'
import { buildPendingHeader, withNext } from '../../../data/chain/pendingHeader.js'
import { type Account, decodeAccount } from '../../../data/state/account.js'
import { headState, type StateView } from '../../../data/state/stateView.js'
import { indexedRoot, RecentTries } from '../../../data/state/trie.js'
import { nodeRlp } from '../../../data/state/trieNode.js'
import type { BlockDiff, Change } from '../../../data/store/blockDiff.js'
import type { ChainWriter } from '../../../data/store/chainWriter.js'
import { canFollowInRun, type EmptyRun } from '../../../data/store/emptyRuns.js'
import { BlockExecutor, type Offers } from '../../../execution/evm/blocks/executeBlock.js'
import { RecoveredKeys } from '../../../execution/evm/transactions/recoveredKeys.js'
import {
  checkSentTransaction,
  type SentTransaction,
} from '../../../execution/evm/transactions/sentTransaction.js'
import {
  type Address,
  bytesToBigInt,
  bytesToHex,
  equalBytes,
  type Hash32,
  latin1Key,
  noBytes,
  padLeft,
  toMinimalBytes,
} from '../../../primitives/bytes.js'
import { FaultError, InvalidBlockError, messageRefused, OperatorError } from '../../../primitives/faults.js'
import { keccak256 } from '../../../primitives/keccak.js'
import { NotStoredError } from '../../../primitives/notStored.js'
import { putNewest } from '../../../primitives/putNewest.js'
import { decodeRlpList, encodeRlp, type RlpItem } from '../../../primitives/rlp.js'
import { checkAccessListLength, checkHeader } from '../blocks/blockRules.js'
import { sentBounds } from '../transactions/sentTransactions.js'
import { byTip } from './byTip.js'
import { OfferedTransactions } from './offeredTransactions.js'
import { WaitingTransactions } from './waitingTransactions.js'

/** Senders of signed transactions, and those of unsigned ones that a caller impersonates. */
class ImpersonatedKeys extends RecoveredKeys {
  /** By hash; as many as can wait. */
  readonly #impersonated = new Map<string, Uint8Array>()

  add(hash: Hash32, sender: Uint8Array): void {
    putNewest(this.#impersonated, latin1Key(hash), sender, sentBounds.countMax)
  }

  override senderOf(transaction: RlpItem, hash: Hash32, known?: Uint8Array): Uint8Array | undefined {
    return this.#impersonated.get(latin1Key(hash)) ?? super.senderOf(transaction, hash, known)
  }
}

/** EIP-7934 allows 8 MiB for a block; its header and a withdrawal need the rest. */
const blockBytesMax = 8 * 2 ** 20 - 2 ** 14
/** More data than any block has. */
const unlimited = 2n ** 64n

const weiPerGwei = 10n ** 9n

/** Ether that a block credits to an account: by a withdrawal (EIP-4895), or as the fork prescribes. */
export interface Payment {
  readonly address: Uint8Array
  readonly gwei: bigint
}

/** The values that a consensus client chooses for a block. */
export interface BuildAttributes {
  /** Header fields that do not follow from the parent. */
  readonly fields: Partial<Header> & Pick<Header, 'timestamp'>
  /** Index, validator, address and amount of each; empty before Shanghai. */
  readonly withdrawals: readonly RlpItem[]
  /** Mandatory transactions; undefined if the family has none. */
  readonly opening: Opening | undefined
  /** Whether the block can have a waiting transaction; if not, it has no later ones of the sender. */
  mayInclude(transaction: SentTransaction, fork: ForkName): boolean
}

export interface MadeBlock {
  readonly diff: BlockDiff
  /** EIP-7685; undefined before Prague. */
  readonly requests: readonly Uint8Array[] | undefined
  /** Its transactions that waited, in order. */
  readonly sent: readonly SentTransaction[]
}

/**
 * Most data of waiting transactions in a batch on L1, in estimated bytes; undefined for no limit. Mandatory transactions
 * are not counted.
 */
export interface DataLimits {
  readonly ofTransaction: bigint | undefined
  readonly ofBlock: bigint | undefined
}

/** A block to be made, still empty. */
interface Draft {
  readonly header: Header
  readonly parent: Header
  readonly fork: ForkName
  readonly isMerged: boolean
  /** Whether a caller has set a field that other clients compute from the parent. */
  readonly isByHand: boolean
  readonly totalDifficulty: bigint
}

/** A draft with the fixed content of its block. */
interface OpenedDraft extends Draft {
  /** Undefined if the block has only sent transactions. */
  readonly opening: Opening | undefined
  readonly withdrawals: readonly RlpItem[]
}

/** A block as far as it is known before its execution. */
interface PlannedBlock {
  readonly header: Header
  /** Transactions, uncles and withdrawals. */
  readonly body: readonly RlpItem[]
}

interface Execution {
  readonly made: MadeBlock
  /** The first transaction with which the block fails. */
  readonly failed: { readonly tx: SentTransaction; readonly why: string } | undefined
}

/** Runs work on the state after the head; throws NotStoredError if that lacks something. */
export type RunOnState = <T>(run: (state: StateView) => T) => T

export class BlockMaker {
  readonly waiting = new WaitingTransactions((sender) => this.accountOf(sender))
  /** Limits for the next blocks of {@link build}. */
  dataLimits: DataLimits = { ofTransaction: undefined, ofBlock: undefined }
  readonly #store: ChainWriter
  readonly #schedule: ForkSchedule
  readonly #say: (text: string) => void
  readonly #executor: BlockExecutor
  readonly #keys = new ImpersonatedKeys()
  readonly #onState: RunOnState

  /** `say` takes sentences for the operator; `onState` runs work on the state after the head. */
  constructor(
    store: ChainWriter,
    schedule: ForkSchedule,
    say: (text: string) => void,
    onState: RunOnState = (run) => run(this.headState),
  ) {
    this.#store = store
    this.#onState = onState
    this.#schedule = schedule
    this.#say = say
    this.#executor = new BlockExecutor(schedule, this.#keys, { recent: new RecentTries() })
  }

  get head(): Header {
    return decodeHeader(this.#store.readHeader(this.#store.head.hash) as Uint8Array)
  }

  /** The state after the head, with what callers changed by hand. */
  get headState(): StateView {
    const { head } = this.#store
    const root = this.#store.readRootByHand(head.hash)
    return headState(this.#store, root ?? stateRootOf(this.head, this.#store.readIdentity()?.development))
  }

  accountOf(address: Uint8Array): Account | undefined {
    const row = this.#store.readAccount(address as Address)
    return row && decodeAccount(row)
  }

  /** The account that signed a transaction. Throws FaultError MessageRefused. */
  senderOf(raw: Uint8Array, timestamp: number): Address {
    return this.check(raw, timestamp).sender as Address
  }

  /** Runs work on the state after the head. Throws as {@link RunOnState}. */
  onState<T>(run: (state: StateView) => T): T {
    return this.#onState(run)
  }

  /** Queues a transaction for a block with this timestamp or a later one. Throws FaultError MessageRefused. */
  take(raw: Uint8Array, timestamp: number): Hash32 {
    const tx = this.check(raw, timestamp)
    this.waiting.add(tx, this.#draft(timestamp).header.gasLimit)
    return tx.hash
  }

  /** The sent transactions of blocks above a number, as EIP-2718 bytes, in order. */
  sentAfter(number: number): Uint8Array[] {
    const found: Uint8Array[] = []
    for (let at = number + 1; at <= this.#store.head.number; at++) {
      const body = this.#store.readBody(this.#store.readCanonicalHash(at) as Hash32) as Uint8Array
      const [items] = decodeRlpList(body) as [RlpItem[]]
      for (const item of items) found.push(item instanceof Uint8Array ? item : encodeRlp(item))
    }
    return found
  }

  /** Queues a transaction of a block that left the chain, with its blobs, if it can still run. */
  takeAgain(bytes: Uint8Array, timestamp: number): void {
    try {
      this.take(this.waiting.asSent(bytes), timestamp)
    } catch (error) {
      if (!(error instanceof FaultError)) throw error
    }
  }

  /** Reads a transaction for a block with this timestamp or a later one. Throws FaultError MessageRefused. */
  check(raw: Uint8Array, timestamp: number): SentTransaction {
    const { fork } = this.#draft(timestamp)
    const tx = checkSentTransaction(raw, fork, this.#schedule.config.chainId, this.#keys)
    const blobsMax = this.#schedule.blobParametersAt(fork)?.max ?? 0
    if (tx.blobCount > blobsMax)
      throw messageRefused(`too many blobs in transaction: have ${tx.blobCount}, permitted ${blobsMax}`)
    return tx
  }

  get chainId(): bigint {
    return this.#schedule.config.chainId
  }

  /** The fork of a block with this timestamp. */
  nextFork(timestamp: number): ForkName {
    return this.#draft(timestamp).fork
  }

  /** Accepts a transaction without a signature as one of this sender. */
  impersonate(raw: Uint8Array, sender: Uint8Array): void {
    this.#keys.add(keccak256(raw), sender)
  }

  /** The chain id that legacy transactions are signed with; undefined before EIP-155. */
  signedChainId(timestamp: number): bigint | undefined {
    const isSigned = includesFork(this.#draft(timestamp).fork, 'spuriousDragon')
    return isSigned ? this.#schedule.config.chainId : undefined
  }

  /** Whether a waiting transaction fits into a block with this timestamp. */
  hasWork(timestamp: number): boolean {
    return this.#ready(this.#draft(timestamp)).length > 0
  }

  /**
   * Makes a block; it is in the store when this returns. A block with a payment has no transactions. The first
   * transaction with which the block fails, for any reason, is dropped, and the block ends before it. Throws
   * NotStoredError before anything changes, if the block reads missing data. Throws OperatorError if the chain's own rules
   * allow no block, FaultError MessageRefused for a payment before Shanghai.
   */
  make(timestamp: number, payment?: Payment): void {
    const draft = this.#open(this.#draft(timestamp), payment)
    const { number, withdrawalsRoot } = draft.header
    if (draft.withdrawals.length > 0 && withdrawalsRoot === undefined) {
      throw messageRefused(`block ${number} pays nobody, because it is before Shanghai`)
    }
    const chosen = payment === undefined ? this.#choose(draft, this.#ready(draft)) : []
    const { diff } = this.#dropFailed(number, this.#executeSome(draft, chosen))
    this.#store.apply(number - 1, [diff])
    this.waiting.removePast()
  }

  /**
   * Builds a block on the head with these attributes, which is not stored. Takes transactions by tip. One that does not fit,
   * or that breaks a rule, is left out with the later ones of its sender. A refused one is dropped, unless an earlier
   * one of its sender may be the cause. Throws OperatorError if the chain's own rules allow no block.
   */
  build({ fields, withdrawals, opening, mayInclude }: BuildAttributes): MadeBlock {
    const draft = { ...this.#draft(fields.timestamp, fields), withdrawals, opening }
    const left = new Set<string>()
    const ready = this.#ready(draft).filter((tx) => {
      const sender = latin1Key(tx.sender)
      if (!left.has(sender) && mayInclude(tx, draft.fork)) return true
      left.add(sender)
      return false
    })
    const { number } = draft.header
    let offers: OfferedTransactions | undefined
    let made: MadeBlock
    try {
      offers = this.#offersFor(draft, byTip(ready, draft.header.baseFeePerGas ?? 0n))
      made = { ...this.#execute(draft, [], offers), sent: offers.taken }
    } catch (error) {
      if (error instanceof NotStoredError) throw error
      // The block as a whole fails. The search finds the transaction that causes it.
      made = this.#dropFailed(number, this.#executeSome(draft, offers?.taken ?? []))
    }
    for (const { tx, why, isFirst } of offers?.refused ?? []) if (isFirst) this.#drop(number, tx, why)
    return made
  }

  /** Offers of these transactions, which are in order; none if the block has only mandatory ones. */
  #offersFor(
    { header, fork, opening }: OpenedDraft,
    ordered: readonly SentTransaction[],
  ): OfferedTransactions {
    const { gasLimit } = header
    const { dataBytes } = forkRules(fork).execution
    const footprintOf = (sent: readonly SentTransaction[]) => blobGasOf(opening, sent, fork) ?? 0n
    const openingFootprint = footprintOf([])
    return new OfferedTransactions(opening?.isAlone === true ? [] : ordered, {
      fork,
      gasLimit,
      most: {
        blobs: this.#schedule.blobParametersAt(fork)?.max ?? 0,
        bytes: blockBytesMax,
        footprint: gasLimit,
        dataBytes: this.dataLimits.ofBlock ?? unlimited,
        dataBytesOfEach: this.dataLimits.ofTransaction ?? unlimited,
      },
      opening: {
        blobs: 0,
        bytes: (opening?.transactions ?? []).reduce((sum, { length }) => sum + length, 0),
        footprint: openingFootprint,
        dataBytes: 0n,
      },
      amountsOf: (tx) => ({
        blobs: tx.blobCount,
        bytes: tx.bytes.length,
        footprint: footprintOf([tx]) - openingFootprint,
        dataBytes: dataBytes?.(tx.bytes) ?? 0n,
      }),
      itemOf: ({ bytes }) => itemOf(bytes).item,
    })
  }

  /**
   * The block that {@link make} would make now; undefined if nothing that waits can run, or if no block can be made.
   * Drops no transaction: one that fails now may run at another time.
   */
  preview(timestamp: number): BlockDiff | undefined {
    const draft = this.#open(this.#draft(timestamp), undefined)
    const chosen = this.#choose(draft, this.#ready(draft))
    if (chosen.length === 0) return undefined
    try {
      return this.#executeSome(draft, chosen).made.diff
    } catch (error) {
      if (error instanceof OperatorError) return undefined
      throw error
    }
  }

  /**
   * Empty blocks on the head, without system calls, at times `step` seconds apart. At most `most`, and only as many as
   * form one run (emptyRuns.ts). Undefined if the next block has to be executed.
   */
  emptyRun(timestamp: number, step: number, most: number): EmptyRun | undefined {
    const draft = this.#draft(timestamp)
    const { fork, isMerged, parent, totalDifficulty } = draft
    if (!isMerged || draft.isByHand || forkRules(fork).execution.openBlock !== undefined) return undefined
    if (includesFork(fork, 'amsterdam')) return undefined
    const first: Header = { ...draft.header, stateRoot: this.headState.stateRoot }
    if (!equalBytes(first.mixHash, keccak256(first.parentHash))) return undefined
    checkHeader(first, parent, { schedule: this.#schedule, fork, isMerged })
    const header = encodeHeader(first)
    const second = withNext(
      buildPendingHeader(first, headerHash(header), this.#schedule, totalDifficulty, timestamp + step),
      this.#store.readByHand()?.next,
    )
    let count = canFollowInRun(header, encodeHeader(second)) ? most : 1
    const forkOfLast = () =>
      this.#schedule.forkAt(first.number + count - 1, timestamp + (count - 1) * step, isMerged)
    while (count > 1 && forkOfLast() !== fork) count = Math.floor(count / 2)
    return {
      last: first.number + count - 1,
      timestamp,
      step,
      header,
      body: encodeRlp([[], [], ...(first.withdrawalsRoot === undefined ? [] : [[]])]),
      receipts: encodeRlp([]),
      totalDifficulty: toMinimalBytes(totalDifficulty),
    }
  }

  /** Drops the transaction with which a block failed. */
  #dropFailed(number: number, { made, failed }: Execution): MadeBlock {
    if (failed !== undefined) this.#drop(number, failed.tx, failed.why)
    return made
  }

  #drop(number: number, tx: SentTransaction, why: string): void {
    this.#say(`${bytesToHex(tx.hash)}, which waited for block ${number}, is dropped: ${why}`)
    this.waiting.remove(tx)
  }

  /** Executes a block of as many transactions as possible, in order. */
  #executeSome(draft: OpenedDraft, chosen: readonly SentTransaction[]): Execution {
    const { number } = draft.header
    let made: Omit<MadeBlock, 'sent'> | undefined
    let failure: unknown
    // `runs` transactions are known to succeed, and `fails` to fail. Not every failure names its transaction, so a
    // binary search finds it.
    let runs = 0
    let fails = chosen.length + 1
    let next = chosen.length
    while (made === undefined || fails - runs > 1) {
      try {
        made = this.#execute(draft, chosen.slice(0, next))
        runs = next
        next = Math.floor((runs + fails) / 2)
      } catch (error) {
        if (error instanceof NotStoredError) throw error
        const rule = error instanceof InvalidBlockError ? error : undefined
        if (next === 0)
          throw rule ? new OperatorError(`block ${number} cannot be made: ${rule.message}`) : error
        failure = error
        fails = Math.min(next, (rule?.transaction ?? next) + 1)
        next = rule?.transaction === undefined ? Math.floor((runs + fails) / 2) : fails - 1
      }
    }
    const tx = chosen[runs]
    return {
      made: { ...made, sent: chosen.slice(0, runs) },
      failed: tx && { tx, why: (failure as Error).message },
    }
  }

  #draft(timestamp: Timestamp, fields: Partial<Header> = {}): Draft {
    const { hash } = this.#store.head
    const parentTotal = bytesToBigInt(this.#store.readTotalDifficulty(hash) as Uint8Array)
    const parent = this.head
    const empty = buildPendingHeader(parent, hash, this.#schedule, parentTotal, timestamp)
    const isMerged = this.#schedule.isMerged(parentTotal)
    // Replaces the beacon chain's randomness.
    const random = isMerged ? { ...empty, mixHash: keccak256(hash) } : empty
    const next = this.#store.readByHand()?.next
    const header = { ...withNext(random, next), ...fields }
    const fork = this.#schedule.forkAt(header.number, timestamp, isMerged)
    const isByHand = next?.baseFeePerGas !== undefined || next?.gasLimit !== undefined
    return { header, parent, fork, isMerged, isByHand, totalDifficulty: parentTotal + header.difficulty }
  }

  /** Adds the fixed content of the block. */
  #open(draft: Draft, payment: Payment | undefined): OpenedDraft {
    const { fork, header, parent } = draft
    const open = forkRules(fork).execution.openBlock
    if (open === undefined) {
      return { ...draft, opening: undefined, withdrawals: payment ? [withdrawalOf(payment, header)] : [] }
    }
    const opening = open({
      fork,
      number: header.number,
      forkBefore: this.#schedule.forkOf(parent),
      slot: (address, slot) =>
        padLeft(this.#store.readSlot(address as Address, slot as Hash32) ?? noBytes, 32),
      payment: payment && { address: payment.address, wei: payment.gwei * weiPerGwei },
    })
    return { ...draft, opening, withdrawals: [] }
  }

  #ready({ header }: Draft): readonly SentTransaction[] {
    return this.waiting.ready(header.baseFeePerGas ?? 0n, this.#schedule.blobGasPrice(header) ?? 0n)
  }

  /** The first transactions whose gas limits fit in one block; at least one, which may be invalid. */
  #choose(draft: OpenedDraft, ready: readonly SentTransaction[]): readonly SentTransaction[] {
    const { header, fork, opening } = draft
    if (opening?.isAlone === true) return []
    const blobsMax = this.#schedule.blobParametersAt(fork)?.max ?? 0
    let gas = 0n
    let blobs = 0
    let bytes = 0
    let counted = 0n
    const end = ready.findIndex((tx, index) => {
      gas += tx.gasLimit
      blobs += tx.blobCount
      bytes += tx.bytes.length
      counted += blobGasOf(opening, [tx], fork) ?? 0n
      const fits = gas <= header.gasLimit && counted <= header.gasLimit
      return index > 0 && !(fits && blobs <= blobsMax && bytes <= blockBytesMax)
    })
    return end < 0 ? ready : ready.slice(0, end)
  }

  /**
   * Executes a block of these transactions, and of those taken from `offers` after them. Throws InvalidBlockError.
   */
  #execute(
    draft: OpenedDraft,
    chosen: readonly SentTransaction[],
    offers?: OfferedTransactions,
  ): Omit<MadeBlock, 'sent'> {
    const { fork, parent, isMerged, isByHand, totalDifficulty } = draft
    const begun = this.#plan(draft, chosen)
    const { changes, receipts, senders, blockAccessList, ...outcome } = this.#onState((state) =>
      this.#run(begun, fork, state, offers),
    )
    const { header: planned, body } = offers === undefined ? begun : this.#plan(draft, offers.taken)
    const { number, parentHash } = planned
    const { stateRoot, nodes, ...state } = changes
    const { gasUsed, receiptsRoot, logsBloom, requests, requestsHash, withdrawalsRoot } = outcome
    const header: Header = {
      ...planned,
      stateRoot,
      gasUsed,
      receiptsRoot,
      logsBloom,
      ...(requestsHash && { requestsHash }),
      ...(withdrawalsRoot && { withdrawalsRoot }),
      ...(blockAccessList && { blockAccessListHash: blockAccessListHash(blockAccessList) }),
    }
    if (!isByHand) checkHeader(header, parent, { schedule: this.#schedule, fork, isMerged })
    if (blockAccessList !== undefined) checkAccessListLength(blockAccessList, header.gasLimit)
    const headerRlp = encodeHeader(header)
    const diff = {
      number,
      parentHash,
      hash: headerHash(headerRlp),
      header: headerRlp,
      body: encodeRlp(body),
      senders,
      receipts: encodeRlp(receipts),
      blockAccessList,
      totalDifficulty: toMinimalBytes(totalDifficulty),
      ...state,
      ...(nodes.length > 0 && { nodes: nodes.map(([hash, node]): Change => [hash, nodeRlp(node)]) }),
    }
    return { diff, requests }
  }

  #plan(
    { header, opening, withdrawals, fork }: OpenedDraft,
    chosen: readonly SentTransaction[],
  ): PlannedBlock {
    const hasWithdrawals = header.withdrawalsRoot !== undefined
    const blobGasUsed =
      blobGasOf(opening, chosen, fork) ??
      gasPerBlob * BigInt(chosen.reduce((sum, { blobCount }) => sum + blobCount, 0))
    const encoded = [...(opening?.transactions ?? []), ...chosen.map(({ bytes }) => bytes)]
    const planned: Header = {
      ...header,
      transactionsRoot: indexedRoot(encoded),
      ...(hasWithdrawals && { withdrawalsRoot: indexedRoot(withdrawals.map((item) => encodeRlp(item))) }),
      ...(header.blobGasUsed !== undefined && { blobGasUsed }),
    }
    const transactions = encoded.map((bytes) => itemOf(bytes).item)
    return { header: planned, body: [transactions, [], ...(hasWithdrawals ? [withdrawals] : [])] }
  }

  #run({ header, body }: PlannedBlock, fork: ForkName, state: StateView, offers: Offers | undefined) {
    const items = [decodeRlpList(encodeHeader(header)), ...body]
    const hashOf = (number: number) => this.#store.readCanonicalHash(number)
    return offers === undefined
      ? this.#executor.execute(items, fork, state, hashOf)
      : this.#executor.fill(items, fork, state, hashOf, offers)
  }
}

function withdrawalOf({ address, gwei }: Payment, { number }: Header): RlpItem {
  return [toMinimalBytes(number), toMinimalBytes(0), address, toMinimalBytes(gwei)]
}

function itemOf(bytes: Uint8Array): BlockItem {
  const type = bytes[0] as number
  return type > 0x7f ? { type: 0, item: decodeRlpList(bytes) } : { type, item: bytes }
}

/**
 * The blob gas that a fork counts for transactions after the fixed ones of a block. Throws InvalidBlockError if the block
 * cannot have them.
 */
function blobGasOf(
  opening: Opening | undefined,
  sent: readonly SentTransaction[],
  fork: ForkName,
): bigint | undefined {
  const encoded = () => [...(opening?.transactions ?? []), ...sent.map(({ bytes }) => bytes)]
  try {
    return forkRules(fork).execution.blobGas?.(encoded().map(itemOf), fork)
  } catch (error) {
    throw error instanceof RangeError ? new InvalidBlockError(error.message) : error
  }
}
