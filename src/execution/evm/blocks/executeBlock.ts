/**
 * Executes whole blocks: RLP in, state changes out. The importer checks headers against their parents, and compares
 * roots with the header.
 */

import type { BlockItem } from '../../../data/chain/executionRules.js'
import { forkRules } from '../../../data/chain/forkRules.js'
import { type ForkName, type ForkSchedule, includesFork } from '../../../data/chain/forks.js'
import { decodeAccount } from '../../../data/state/account.js'
import { RememberedState } from '../../../data/state/rememberedState.js'
import type { StateView } from '../../../data/state/stateView.js'
import type { RecentTries } from '../../../data/state/trie.js'
import { equalBytes, type Hash32, toAddress } from '../../../primitives/bytes.js'
import { InvalidBlockError } from '../../../primitives/faults.js'
import { emptyTrieRoot } from '../../../primitives/keccak.js'
import { RlpError, type RlpItem } from '../../../primitives/rlp.js'
import type { JobWatch } from '../engine/jobWatch.js'
import type { RecoveredKeys } from '../transactions/recoveredKeys.js'
import type { SignedTransaction } from '../transactions/signedTransaction.js'
import type { BlockGas } from '../transactions/transactionChecks.js'
import { buildBlockAccessList } from './blockAccesses.js'
import { receiptsRootOf } from './blockParts.js'
import { applyDaoFork, payRewards, payWithdrawals } from './blockPayments.js'
import { type AncestorHash, BlockRunner, checkBlobGas, sendersOf } from './blockRun.js'
import { BlockTally } from './blockTally.js'
import type { StateChanges } from './stateChanges.js'
import { beginBlock, requestsHash, requestsOf } from './systemCalls.js'

export interface ExecutedBlock {
  readonly changes: StateChanges
  /** As in the header: from Amsterdam on, the larger of the two dimensions (EIP-8037). */
  readonly gasUsed: bigint
  /** 256 bytes. */
  readonly logsBloom: Uint8Array
  /** Consensus encoding of each receipt. */
  readonly receipts: readonly Uint8Array[]
  readonly receiptsRoot: Hash32
  /** EIP-7685: type and data of each request, and their hash; undefined before Prague. */
  readonly requests: readonly Uint8Array[] | undefined
  readonly requestsHash: Hash32 | undefined
  /** Set on forks in which it is the root of an account's storage after the block. */
  readonly withdrawalsRoot?: Hash32
  /** RLP of the block access list (EIP-7928); undefined before Amsterdam. */
  readonly blockAccessList: Uint8Array | undefined
  /** Sender (20 bytes) ‖ transaction hash (32 bytes), per transaction. */
  readonly senders: Uint8Array
}

/** Offers transactions for the rest of a block that is being built. */
export interface Offers {
  /** The next transaction; undefined if the block is complete. `used`: gas of those before it. */
  next(used: BlockGas): RlpItem | undefined
  /** The block does not have the transaction that was offered last, because it breaks a rule there. */
  refuse(why: string): void
}

export class BlockExecutor {
  readonly #runner: BlockRunner
  readonly #recent: RecentTries | undefined
  readonly #isDevelopment: boolean

  /** `keys` caches public keys, `recent` trie nodes. A development chain may lack the protocol's contracts. */
  constructor(
    schedule: ForkSchedule,
    keys: RecoveredKeys,
    { recent, isDevelopment = false }: { recent?: RecentTries; isDevelopment?: boolean } = {},
  ) {
    this.#runner = new BlockRunner(schedule, keys)
    this.#recent = recent
    this.#isDevelopment = isDevelopment
  }

  /**
   * Runs a block's system calls, transactions, rewards and withdrawals on `state`, the state after its parent. `items`
   * is the decoded RLP of the block (header, transactions, uncles, withdrawals). Throws {@link InvalidBlockError} if a
   * transaction is invalid; errors of the store and of `watch` pass through.
   */
  execute(
    items: readonly RlpItem[],
    fork: ForkName,
    state: StateView,
    ancestorHash: AncestorHash,
    watch?: JobWatch,
  ): ExecutedBlock {
    try {
      return this.#run(items, fork, state, ancestorHash, { watch })
    } catch (error) {
      if (error instanceof RlpError) throw new InvalidBlockError(`not a block: ${error.message}`)
      throw error
    }
  }

  /**
   * Like {@link execute}, with further transactions from `offers` after those of the block. The header's `blobGasUsed`
   * is not checked, because it follows from them.
   */
  fill(
    items: readonly RlpItem[],
    fork: ForkName,
    state: StateView,
    ancestorHash: AncestorHash,
    offers: Offers,
  ): ExecutedBlock {
    return this.#run(items, fork, state, ancestorHash, { offers })
  }

  #run(
    items: readonly RlpItem[],
    fork: ForkName,
    below: StateView,
    ancestorHash: AncestorHash,
    { watch, offers }: { readonly watch?: JobWatch | undefined; readonly offers?: Offers },
  ): ExecutedBlock {
    const state = new RememberedState(below)
    const runner = this.#runner
    const { schedule } = runner
    const block = runner.read(items, fork)
    const { header } = block
    const transactions = [...block.transactions]
    const { execution } = forkRules(fork)
    const refused = execution.refuseTransactions?.(transactions, fork)
    if (refused !== undefined) throw new InvalidBlockError(refused)
    const rules = runner.rulesOf(header, fork)
    const kernel = runner.prepare(rules, state, ancestorHash, watch)
    const isRecorded = includesFork(fork, 'amsterdam')
    if (isRecorded) kernel.recordAccesses()
    if (header.number === schedule.config.blocks.get('dao')) applyDaoFork(kernel)
    beginBlock(kernel, header, fork, schedule)
    const tally = new BlockTally(kernel, fork, state, this.#recent)
    const run = (transaction: SignedTransaction, index: number) => {
      const ran = runner.run(kernel, transaction, index, rules, tally.used)
      const { type, blobVersionedHashes = [] } = transaction
      tally.add(type, blobVersionedHashes.length, ran.failure === 'none', ran)
    }
    for (const [index, transaction] of transactions.entries()) run(transaction, index)
    if (offers === undefined) checkBlobGas(header, blobGasOf(transactions, fork) ?? tally.blobGas)
    else this.#takeOffers(offers, transactions, tally, run, fork)
    kernel.setAccessIndex(transactions.length + 1)
    if (includesFork(fork, 'shanghai')) payWithdrawals(kernel, block.withdrawals)
    if (!includesFork(fork, 'paris')) payRewards(kernel, header, block.uncles, fork)
    const requests = includesFork(fork, 'prague')
      ? requestsOf(kernel, tally.logs, schedule, fork, this.#isDevelopment)
      : undefined
    const { gasUsed, logsBloom, receipts } = tally
    const changes = tally.changes()
    const withdrawals = execution.withdrawalsAccount?.(fork)
    return {
      changes,
      ...(withdrawals && { withdrawalsRoot: storageRootAfter(withdrawals, changes, state) }),
      gasUsed,
      logsBloom,
      receipts,
      receiptsRoot: receiptsRootOf(receipts, fork),
      requests,
      requestsHash: requests && requestsHash(requests),
      blockAccessList: isRecorded ? buildBlockAccessList(kernel) : undefined,
      senders: sendersOf(transactions),
    }
  }

  /** Runs offered transactions, and adds those that break no rule. One that breaks a rule changes nothing. */
  #takeOffers(
    offers: Offers,
    transactions: SignedTransaction[],
    tally: BlockTally,
    run: (transaction: SignedTransaction, index: number) => void,
    fork: ForkName,
  ): void {
    for (let item = offers.next(tally.used); item !== undefined; item = offers.next(tally.used)) {
      try {
        const transaction = this.#runner.readTransaction(item, transactions.length, fork)
        run(transaction, transactions.length)
        transactions.push(transaction)
      } catch (error) {
        if (!(error instanceof InvalidBlockError)) throw error
        offers.refuse(error.message)
      }
    }
  }

  /** Sender and hash of each transaction of a block, without executing it. Throws {@link InvalidBlockError}. */
  recoverSenders(items: readonly RlpItem[], fork: ForkName): Uint8Array {
    return sendersOf(this.#runner.read(items, fork).transactions)
  }
}

/** Like {@link ExecutionRules.blobGas}; undefined if the fork has no such rule. Throws {@link InvalidBlockError}. */
function blobGasOf(transactions: readonly BlockItem[], fork: ForkName): bigint | undefined {
  try {
    return forkRules(fork).execution.blobGas?.(transactions, fork)
  } catch (error) {
    throw error instanceof RangeError ? new InvalidBlockError(error.message) : error
  }
}

/** Storage root of an account after a block. */
function storageRootAfter(address: Uint8Array, { accounts }: StateChanges, before: StateView): Hash32 {
  const changed = accounts.find(([key]) => equalBytes(key, address))
  if (changed === undefined) return before.account(toAddress(address))?.storageRoot ?? emptyTrieRoot
  return changed[1].length === 0 ? emptyTrieRoot : decodeAccount(changed[1]).storageRoot
}
