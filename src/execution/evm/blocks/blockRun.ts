/**
 * Prepares a kernel for a block, or a part of one, and runs its transactions. Owns the limits of such kernels. The
 * caller collects the outcomes.
 */
import type { BlobParameters, ForkName, ForkSchedule } from '../../../data/chain/forks.js'
import { type Header, headerFromItems } from '../../../data/chain/header.js'
import type { StateView } from '../../../data/state/stateView.js'
import type { Hash32 } from '../../../primitives/bytes.js'
import { InvalidBlockError } from '../../../primitives/faults.js'
import { type RlpItem, rlpList } from '../../../primitives/rlp.js'
import type { JobWatch } from '../engine/jobWatch.js'
import { type Kernel, OwnKernel } from '../engine/kernel.js'
import { recoverAuthorities } from '../transactions/authorizations.js'
import type { RecoveredKeys } from '../transactions/recoveredKeys.js'
import { readSignedTransaction, type SignedTransaction } from '../transactions/signedTransaction.js'
import { runTransaction, type TransactionOutcome } from '../transactions/transaction.js'
import { type BlockGas, InvalidTransactionError } from '../transactions/transactionChecks.js'
import { type BlockRules, blockRules } from './blockContext.js'

/** Hash of a canonical ancestor by number, for BLOCKHASH; undefined if the chain has none. */
export type AncestorHash = (number: number) => Hash32 | undefined

/**
 * Memory limit of a block's execution. 36 million gas pay for 25 MB of memory and stacks. Code stays until the end of
 * the block. A block that loads the code of tens of thousands of contracts of 24 KiB reaches the limit with 88 million
 * gas.
 */
const memoryBytesMax = 2 ** 30
/** Memory above which an instance is replaced, because WebAssembly never frees any. */
const grownBytesMax = 2 ** 27

/** The parts of a block that execution uses. */
export interface ReadBlock {
  readonly header: Header
  readonly transactions: readonly SignedTransaction[]
  readonly uncles: readonly RlpItem[]
  readonly withdrawals: readonly RlpItem[]
}

/** Reads blocks and runs their transactions, by the rules of one chain. */
export class BlockRunner {
  readonly #own = new OwnKernel(grownBytesMax)
  readonly schedule: ForkSchedule
  readonly #keys: RecoveredKeys

  /** `keys` caches public keys, which are then not recovered again. */
  constructor(schedule: ForkSchedule, keys: RecoveredKeys) {
    this.schedule = schedule
    this.#keys = keys
  }

  /** `items`: the decoded RLP of a block. Throws {@link InvalidBlockError}, and RlpError for another shape. */
  read(items: readonly RlpItem[], fork: ForkName): ReadBlock {
    const [header, transactions, uncles, withdrawals] = items.map(rlpList)
    return {
      header: headerFromItems(header as readonly RlpItem[]),
      transactions: (transactions ?? []).map((item, index) => this.readTransaction(item, index, fork)),
      uncles: uncles ?? [],
      withdrawals: withdrawals ?? [],
    }
  }

  /** Throws {@link InvalidBlockError}. */
  readTransaction(item: RlpItem, index: number, fork: ForkName): SignedTransaction {
    return naming(index, () => readSignedTransaction(item, fork, this.schedule.config.chainId, this.#keys))
  }

  rulesOf(header: Header, fork: ForkName): BlockRules {
    return blockRules(header, fork, this.schedule.config.chainId, this.blobsOf(fork))
  }

  blobsOf(fork: ForkName): BlobParameters | undefined {
    return this.schedule.blobParametersAt(fork)
  }

  /** The runner's one kernel, emptied and set to a state. */
  prepare(rules: BlockRules, state: StateView, ancestorHash: AncestorHash, watch?: JobWatch): Kernel {
    this.#own.trim()
    const { kernel } = this.#own
    kernel.restart(rules.fork, { state, ancestorHash, watch }, memoryBytesMax)
    kernel.setBlock(rules)
    return kernel
  }

  /**
   * Runs the transaction at `index`. `used` is the gas of the transactions before it; undefined if the caller checks
   * the block's gas limit. Throws {@link InvalidBlockError}.
   */
  run(
    kernel: Kernel,
    transaction: SignedTransaction,
    index: number,
    rules: BlockRules,
    used: BlockGas | undefined,
  ): TransactionOutcome {
    kernel.setAccessIndex(index + 1)
    const { authorizationList = [] } = transaction
    const signed = recoverAuthorities(authorizationList, rules.chainId, undefined, this.#keys)
    const blobs = this.blobsOf(rules.fork)
    return naming(index, () => runTransaction(kernel, rules, blobs, used, transaction, signed))
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

/** Sender (20 bytes) ‖ transaction hash (32 bytes), per transaction. */
export function sendersOf(transactions: readonly Pick<SignedTransaction, 'sender' | 'hash'>[]): Uint8Array {
  const senders = new Uint8Array(transactions.length * 52)
  for (const [index, { sender, hash }] of transactions.entries()) {
    senders.set(sender, index * 52)
    senders.set(hash, index * 52 + 20)
  }
  return senders
}

/** Throws {@link InvalidBlockError} if the blob gas of the transactions differs from the header's. */
export function checkBlobGas(header: Header, blobGas: bigint): void {
  if (header.blobGasUsed !== undefined && header.blobGasUsed !== blobGas) {
    throw new InvalidBlockError(`blobGasUsed is ${header.blobGasUsed}, expected ${blobGas}`)
  }
}
