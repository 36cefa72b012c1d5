/**
 * Executes whole blocks: RLP in, state changes out. The importer checks headers against their parents, and compares
 * roots with the header.
 */
import { type BlobParameters, type ForkName, type ForkSchedule, includesFork } from '../../chain/forks.js'
import { type Header, headerFromItems } from '../../chain/header.js'
import type { Hash32 } from '../../primitives/bytes.js'
import { RlpError, type RlpItem, rlpList } from '../../primitives/rlp.js'
import { RememberedState } from '../../state/rememberedState.js'
import type { StateView } from '../../state/stateView.js'
import { indexedRoot, type RecentTries } from '../../state/trie.js'
import type { JobWatch } from '../engine/jobWatch.js'
import { Kernel } from '../engine/kernel.js'
import { forkPrecompiles } from '../precompiles/precompileMoves.js'
import { recoverAuthorities } from '../transactions/authorizations.js'
import type { RecoveredKeys } from '../transactions/recoveredKeys.js'
import { readSignedTransaction, type SignedTransaction } from '../transactions/signedTransaction.js'
import { runTransaction } from '../transactions/transaction.js'
import { InvalidTransactionError } from '../transactions/transactionChecks.js'
import { buildBlockAccessList } from './blockAccesses.js'
import { type BlockRules, blockRules } from './blockContext.js'
import { applyDaoFork, payRewards, payWithdrawals } from './blockPayments.js'
import { BlockTally } from './blockTally.js'
import { InvalidBlockError } from './invalidBlock.js'
import type { StateChanges } from './stateChanges.js'
import { beginBlock, requestsHashOf } from './systemCalls.js'

export interface ExecutedBlock {
  readonly changes: StateChanges
  /** As in the header: from Amsterdam on the larger dimension (EIP-8037). */
  readonly gasUsed: bigint
  /** 256 bytes. */
  readonly logsBloom: Uint8Array
  /** Consensus encoding of each receipt. */
  readonly receipts: readonly Uint8Array[]
  readonly receiptsRoot: Hash32
  /** EIP-7685; undefined before Prague. */
  readonly requestsHash: Hash32 | undefined
  /** RLP of the block access list (EIP-7928); undefined before Amsterdam. */
  readonly blockAccessList: Uint8Array | undefined
  /** Sender (20 bytes) ‖ transaction hash (32 bytes), per transaction. */
  readonly senders: Uint8Array
}

/** Hash of a canonical ancestor by number, for BLOCKHASH; undefined where the chain has none. */
export type AncestorHash = (number: number) => Hash32 | undefined

/** Memory limit of a block's execution. 36 million gas pay for 25 MB, so no real block reaches it. */
const memoryBytesMax = 2 ** 30
/** Memory above which an instance is replaced, because WebAssembly never frees any. */
const grownBytesMax = 2 ** 27

interface ReadBlock {
  readonly header: Header
  readonly transactions: readonly SignedTransaction[]
  readonly uncles: readonly RlpItem[]
  readonly withdrawals: readonly RlpItem[]
}

export class BlockExecutor {
  #kernel = new Kernel()
  readonly #schedule: ForkSchedule
  readonly #keys: RecoveredKeys
  readonly #recent: RecentTries | undefined
  readonly #isDevelopment: boolean

  /**
   * `keys` has public keys that need not be recovered again, `recent` nodes that need not be read. A development chain
   * may lack the protocol's contracts.
   */
  constructor(
    schedule: ForkSchedule,
    keys: RecoveredKeys,
    { recent, isDevelopment = false }: { recent?: RecentTries; isDevelopment?: boolean } = {},
  ) {
    this.#schedule = schedule
    this.#keys = keys
    this.#recent = recent
    this.#isDevelopment = isDevelopment
  }

  /**
   * Runs a block's system calls, transactions, rewards and withdrawals on `state`, the state after its parent.
   * `items` is the decoded RLP of the block (header, transactions, uncles, withdrawals). Throws
   * {@link InvalidBlockError} where a transaction is invalid; errors of the store and of `watch` pass through.
   */
  execute(
    items: readonly RlpItem[],
    fork: ForkName,
    state: StateView,
    ancestorHash: AncestorHash,
    watch?: JobWatch,
  ): ExecutedBlock {
    try {
      return this.#run(items, fork, state, ancestorHash, watch)
    } catch (error) {
      if (error instanceof RlpError) throw new InvalidBlockError(`not a block: ${error.message}`)
      throw error
    }
  }

  #run(
    items: readonly RlpItem[],
    fork: ForkName,
    below: StateView,
    ancestorHash: AncestorHash,
    watch: JobWatch | undefined,
  ): ExecutedBlock {
    const state = new RememberedState(below)
    const block = this.#read(items, fork)
    const { header } = block
    const blobs = this.#schedule.blobParametersAt(fork)
    const rules = blockRules(header, fork, this.#schedule.config.chainId, blobs)
    const kernel = this.#prepare(rules, state, ancestorHash, watch)
    const isRecorded = includesFork(fork, 'amsterdam')
    if (isRecorded) kernel.recordAccesses()
    if (header.number === this.#schedule.config.blocks.get('dao')) applyDaoFork(kernel)
    beginBlock(kernel, header, fork)
    const tally = new BlockTally(kernel, fork, state, this.#recent)
    this.#runTransactions(kernel, block, rules, blobs, tally)
    kernel.setAccessIndex(block.transactions.length + 1)
    if (includesFork(fork, 'shanghai')) payWithdrawals(kernel, block.withdrawals)
    if (!includesFork(fork, 'paris')) payRewards(kernel, header, block.uncles, fork)
    const requestsHash = includesFork(fork, 'prague')
      ? requestsHashOf(kernel, tally.logs, this.#schedule, fork, this.#isDevelopment)
      : undefined
    const { gasUsed, logsBloom, receipts } = tally
    return {
      changes: tally.changes(),
      gasUsed,
      logsBloom,
      receipts,
      receiptsRoot: indexedRoot(receipts),
      requestsHash,
      blockAccessList: isRecorded ? buildBlockAccessList(kernel) : undefined,
      senders: sendersOf(block.transactions),
    }
  }

  /** Sender and hash of each transaction of a block, without executing it. Throws {@link InvalidBlockError}. */
  recoverSenders(items: readonly RlpItem[], fork: ForkName): Uint8Array {
    return sendersOf(this.#read(items, fork).transactions)
  }

  #read(items: readonly RlpItem[], fork: ForkName): ReadBlock {
    const [header, transactions, uncles, withdrawals] = items.map(rlpList)
    const { chainId } = this.#schedule.config
    return {
      header: headerFromItems(header as readonly RlpItem[]),
      transactions: (transactions ?? []).map((item, index) =>
        naming(index, () => readSignedTransaction(item, fork, chainId, this.#keys)),
      ),
      uncles: uncles ?? [],
      withdrawals: withdrawals ?? [],
    }
  }

  #prepare(
    rules: BlockRules,
    state: StateView,
    ancestorHash: AncestorHash,
    watch: JobWatch | undefined,
  ): Kernel {
    if (this.#kernel.grownBytes > grownBytesMax) this.#kernel = new Kernel()
    const kernel = this.#kernel
    kernel.clear()
    kernel.limitMemory(memoryBytesMax)
    kernel.attach({ state, ancestorHash, precompiles: forkPrecompiles(rules.fork, watch), watch })
    kernel.setFork(rules.fork)
    kernel.setBlock(rules)
    return kernel
  }

  #runTransactions(
    kernel: Kernel,
    { header, transactions }: ReadBlock,
    rules: BlockRules,
    blobs: BlobParameters | undefined,
    tally: BlockTally,
  ): void {
    for (const [index, transaction] of transactions.entries()) {
      kernel.setAccessIndex(index + 1)
      const { authorizationList = [], blobVersionedHashes = [], type } = transaction
      const signed = recoverAuthorities(authorizationList, rules.chainId, undefined, this.#keys)
      const ran = naming(index, () => runTransaction(kernel, rules, blobs, tally.used, transaction, signed))
      tally.add(type, blobVersionedHashes.length, ran.failure === 'none', ran)
    }
    if (header.blobGasUsed !== undefined && header.blobGasUsed !== tally.blobGas) {
      throw new InvalidBlockError(`blobGasUsed is ${header.blobGasUsed}, expected ${tally.blobGas}`)
    }
  }
}

/** Adds the transaction's index to the error of a broken rule. */
function naming<T>(index: number, work: () => T): T {
  try {
    return work()
  } catch (error) {
    if (!(error instanceof InvalidTransactionError)) throw error
    throw new InvalidBlockError(`transaction ${index} is invalid: ${error.message}`, index)
  }
}

function sendersOf(transactions: readonly SignedTransaction[]): Uint8Array {
  const senders = new Uint8Array(transactions.length * 52)
  for (const [index, { sender, hash }] of transactions.entries()) {
    senders.set(sender, index * 52)
    senders.set(hash, index * 52 + 20)
  }
  return senders
}
