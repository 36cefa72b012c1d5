/**
 * Executes a block on two threads at once, where its access list (EIP-7928) came with it. The list tells the state
 * before each transaction, so this thread runs them from the front while another one runs them from the end, and the
 * state after the block follows from the list alone. Nothing of it is believed before execution has recorded the same
 * list, and everything else is as in the header; where anything is not, the block is executed in order, which decides.
 */
import { anyBlock, decodeBlockAccessList } from '../../../data/chain/blockAccessList.js'
import type { ForkName, ForkSchedule } from '../../../data/chain/forks.js'
import type { Header } from '../../../data/chain/header.js'
import { hasCode } from '../../../data/state/account.js'
import { indexedRoot } from '../../../data/state/indexedRoot.js'
import type { StateView } from '../../../data/state/stateView.js'
import type { RecentTries } from '../../../data/state/trie.js'
import { concatBytes, equalBytes, type Hash32, joinBytes, latin1Key } from '../../../primitives/bytes.js'
import { type RlpItem, rlpList } from '../../../primitives/rlp.js'
import type { KernelLog } from '../engine/kernelLogs.js'
import type { RecoveredKeys } from '../transactions/recoveredKeys.js'
import type { SignedTransaction } from '../transactions/signedTransaction.js'
import { fitsBlock } from '../transactions/transactionChecks.js'
import type { BlockRules } from './blockContext.js'
import {
  decodeParts,
  type PartsTask,
  type RanPart,
  type RanTransaction,
  runTransactions,
  Shares,
} from './blockPart.js'
import { payWithdrawals } from './blockPayments.js'
import { type AncestorHash, BlockRunner, type ReadBlock, sendersOf } from './blockRun.js'
import { ReceiptTally } from './blockTally.js'
import type { ExecutedBlock } from './executeBlock.js'
import { ListedBlock, listedChanges } from './listedState.js'
import { ListMarks } from './listMarks.js'
import { beginBlock, requestsHashOf } from './systemCalls.js'

/** A block with its access list, whose form and hash were found to be right. */
export interface ListedBlockInput {
  readonly hash: Hash32
  readonly header: Header
  readonly fork: ForkName
  readonly items: readonly RlpItem[]
  readonly headerRlp: Uint8Array
  readonly bodyRlp: Uint8Array
  readonly blockAccessList: Uint8Array
}

/** The other thread. */
export interface PartThread {
  /** Whether a block that used so much gas gains by it. */
  isWorth(gasUsed: bigint, transactions: number): boolean
  /** Counts the shares that are taken, and is shared with it. */
  readonly taken: Int32Array
  /** Resolves to the parts that it ran, encoded; rejects where it failed. Undefined while it is not ready. */
  run: ((task: PartsTask) => Promise<Uint8Array>) | undefined
}

interface PartsOptions {
  /** Nodes of tries that need not be read. */
  readonly recent?: RecentTries
  readonly isDevelopment?: boolean
}

/** Shares of a block: enough for both threads to end at about the same time. Each reads its state anew. */
const sharesMax = 16
/** Bytes of code that the other thread keeps: of a thousand of the largest contracts before Amsterdam. */
const codeBytesMax = 24 * 2 ** 20
/** Ancestors whose hashes BLOCKHASH tells. */
const ancestorsMax = 256

export class PartsExecutor {
  /** Blocks that were executed so, and those that had to be executed in order after all. */
  readonly counts = { executed: 0, refused: 0 }
  readonly #runner: BlockRunner
  readonly #keys: RecoveredKeys
  readonly #thread: PartThread
  readonly #options: PartsOptions
  /** Hashes of the code that the thread has, and its bytes. */
  readonly #sent = new Set<string>()
  #sentBytes = 0
  /** The block that was executed last, with its ancestors. */
  #last: { readonly hash: Hash32; readonly ancestors: Uint8Array } | undefined

  /** `keys` has public keys that need not be recovered again. */
  constructor(schedule: ForkSchedule, keys: RecoveredKeys, thread: PartThread, options: PartsOptions = {}) {
    this.#runner = new BlockRunner(schedule, keys)
    this.#keys = keys
    this.#thread = thread
    this.#options = options
  }

  /**
   * Resolves to what BlockExecutor has for a valid block. Undefined where the block has to be executed in order: it is
   * too small, the thread is not ready, or something is not as the header and the list say.
   */
  async execute(
    block: ListedBlockInput,
    below: StateView,
    ancestorHash: AncestorHash,
  ): Promise<ExecutedBlock | undefined> {
    const transactions = rlpList(block.items[1]).length
    if (transactions < 2 || !this.#thread.isWorth(block.header.gasUsed, transactions)) return undefined
    const { run } = this.#thread
    if (run === undefined) return undefined
    let executed: ExecutedBlock | undefined
    try {
      const read = this.#runner.read(block.items, block.fork)
      executed = await this.#run(block, read, below, ancestorHash, run)
    } catch {
      // Whatever it was, execution in order meets it too, and says what it is.
    }
    if (executed === undefined) this.counts.refused++
    else this.counts.executed++
    return executed
  }

  async #run(
    block: ListedBlockInput,
    read: ReadBlock,
    below: StateView,
    ancestorHash: AncestorHash,
    run: NonNullable<PartThread['run']>,
  ): Promise<ExecutedBlock | undefined> {
    const { header, fork } = block
    const { transactions } = read
    const runner = this.#runner
    const listed = new ListedBlock(decodeBlockAccessList(block.blockAccessList, anyBlock), below)
    const starts = shareStarts(transactions)
    const { taken } = this.#thread
    Atomics.store(taken, 0, 0)
    const answer = run({
      fork,
      headerRlp: block.headerRlp.slice(),
      bodyRlp: block.bodyRlp,
      list: block.blockAccessList.slice(),
      reads: listed.encodeReads(),
      ...this.#newCode(listed, below),
      keys: this.#keys.recordsOf(transactions),
      ancestors: this.#ancestorsOf(block, ancestorHash),
      starts,
    })
    // Awaited below, whatever happens before.
    answer.catch(() => undefined)
    try {
      const rules = runner.rulesOf(header, fork)
      const changes = listedChanges(listed, below, this.#options.recent)
      if (!equalBytes(changes.stateRoot, header.stateRoot)) return undefined
      const marks = new ListMarks(listed)
      const front = this.#runFront(read, rules, starts, listed.before(0, below), ancestorHash, marks)
      const { parts, marks: others } = decodeParts(await answer)
      marks.join(others)
      const ran = inOrder([front, ...parts], transactions.length)
      const tally = tallyOf(ran, transactions, rules)
      if (tally === undefined || (header.blobGasUsed ?? 0n) !== tally.blobGas) return undefined
      const stateAtEnd = listed.before(transactions.length + 1, below)
      const requestsHash = this.#runEnd(read, rules, stateAtEnd, tally.logs, ancestorHash, marks)
      if (!marks.areAll) return undefined
      const { gasUsed, logsBloom, receipts } = tally
      const executed: ExecutedBlock = {
        changes,
        gasUsed,
        logsBloom,
        receipts,
        receiptsRoot: indexedRoot(receipts),
        requestsHash,
        blockAccessList: block.blockAccessList,
        senders: sendersOf(transactions),
      }
      return isAsSaid(executed, header) ? executed : undefined
    } finally {
      // The thread takes no more, and has ended before the next block begins.
      Atomics.store(taken, 0, starts.length)
      await answer.catch(() => undefined)
    }
  }

  /** What comes before the transactions, and shares of them from the first on, as many as are left. */
  #runFront(
    { header, transactions }: ReadBlock,
    rules: BlockRules,
    starts: readonly number[],
    state: StateView,
    ancestorHash: AncestorHash,
    marks: ListMarks,
  ): RanPart {
    const shares = new Shares(this.#thread.taken, starts.length - 1)
    const kernel = this.#runner.prepare(rules, state, ancestorHash)
    kernel.recordAccesses()
    beginBlock(kernel, header, rules.fork, this.#runner.schedule)
    const ran: RanTransaction[] = []
    const transactionAt = (index: number) => transactions[index] as SignedTransaction
    for (let share = 0; shares.take(); share++) {
      const range = [starts[share] as number, starts[share + 1] as number] as const
      runTransactions(this.#runner, kernel, rules, transactionAt, range, ran)
    }
    marks.mark(kernel)
    return { start: 0, transactions: ran }
  }

  /** What comes after the transactions, whose logs are `logs`; returns the hash of the block's requests. */
  #runEnd(
    { transactions, withdrawals }: ReadBlock,
    rules: BlockRules,
    state: StateView,
    logs: readonly KernelLog[],
    ancestorHash: AncestorHash,
    marks: ListMarks,
  ): Hash32 {
    const kernel = this.#runner.prepare(rules, state, ancestorHash)
    kernel.recordAccesses()
    kernel.setAccessIndex(transactions.length + 1)
    payWithdrawals(kernel, withdrawals)
    const isDevelopment = this.#options.isDevelopment ?? false
    const hash = requestsHashOf(kernel, logs, this.#runner.schedule, rules.fork, isDevelopment)
    marks.mark(kernel)
    return hash
  }

  /** Code of accounts of the list that the thread does not have yet. */
  #newCode(listed: ListedBlock, below: StateView): Pick<PartsTask, 'codes' | 'forgetsCode'> {
    const forgetsCode = this.#sentBytes > codeBytesMax
    if (forgetsCode) {
      this.#sent.clear()
      this.#sentBytes = 0
    }
    const codes: Uint8Array[] = []
    for (const { before: account } of listed.accounts) {
      if (account === undefined || !hasCode(account)) continue
      const name = latin1Key(account.codeHash)
      if (this.#sent.has(name)) continue
      const code = below.code(account.codeHash)?.slice()
      if (code === undefined) continue
      codes.push(code)
      this.#sent.add(name)
      this.#sentBytes += code.length
    }
    return { codes, forgetsCode }
  }

  #ancestorsOf({ header, hash }: ListedBlockInput, ancestorHash: AncestorHash): Uint8Array {
    const { number, parentHash } = header
    const last = this.#last
    const isChild = last !== undefined && equalBytes(last.hash, parentHash)
    const ancestors = isChild
      ? concatBytes(parentHash, last.ancestors.subarray(0, (ancestorsMax - 1) * parentHash.length))
      : joinBytes(hashesBelow(number, ancestorHash))
    this.#last = { hash, ancestors }
    return ancestors
  }
}

function hashesBelow(number: number, ancestorHash: AncestorHash): Uint8Array[] {
  const hashes: Uint8Array[] = []
  for (let at = number - 1; at >= 0 && number - at <= ancestorsMax; at--) {
    const hash = ancestorHash(at)
    if (hash === undefined) break
    hashes.push(hash)
  }
  return hashes
}

/** First transactions of shares of about the same gas limit, and the number of all transactions. */
function shareStarts(transactions: readonly SignedTransaction[]): number[] {
  const total = transactions.reduce((sum, { gasLimit }) => sum + gasLimit, 0n)
  const starts = [0]
  let gas = 0n
  for (const [index, { gasLimit }] of transactions.entries()) {
    gas += gasLimit
    const isFull = gas * BigInt(sharesMax) >= total * BigInt(starts.length)
    if (isFull && index + 1 < transactions.length && starts.length < sharesMax) starts.push(index + 1)
  }
  return [...starts, transactions.length]
}

/** What came out of each transaction. Throws where the parts are not all of them. */
function inOrder(parts: readonly RanPart[], count: number): RanTransaction[] {
  const ran: RanTransaction[] = []
  for (const { start, transactions } of parts) {
    for (const [at, transaction] of transactions.entries()) ran[start + at] = transaction
  }
  for (let index = 0; index < count; index++) {
    if (ran[index] === undefined) throw new Error(`transaction ${index} was not run`)
  }
  return ran
}

/** Undefined where a transaction does not fit into what those before it left of the block's gas. */
function tallyOf(
  ran: readonly RanTransaction[],
  transactions: readonly SignedTransaction[],
  rules: BlockRules,
): ReceiptTally | undefined {
  const tally = new ReceiptTally()
  for (const [index, outcome] of ran.entries()) {
    const { type, gasLimit, blobVersionedHashes = [] } = transactions[index] as SignedTransaction
    if (!fitsBlock(rules, gasLimit, tally.used)) return undefined
    tally.count(type, blobVersionedHashes.length, outcome.isSuccess, outcome, outcome.logs)
  }
  return tally
}

/** Whether all that a header says of the block's transactions and requests is so. */
function isAsSaid(
  { gasUsed, logsBloom, receiptsRoot, requestsHash }: ExecutedBlock,
  header: Header,
): boolean {
  const isSame = (got: Uint8Array | undefined, want: Uint8Array | undefined) =>
    got !== undefined && want !== undefined && equalBytes(got, want)
  return (
    gasUsed === header.gasUsed &&
    isSame(logsBloom, header.logsBloom) &&
    isSame(receiptsRoot, header.receiptsRoot) &&
    isSame(requestsHash, header.requestsHash)
  )
}
