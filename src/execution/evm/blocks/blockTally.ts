/** Sums up the transactions of a block in order: gas, receipts, logs, and the accounts that changed. */

import { gasPerBlob } from '../../../data/chain/feeMarket.js'
import { forkRules } from '../../../data/chain/forkRules.js'
import { type ForkName, includesFork } from '../../../data/chain/forks.js'
import type { StateView } from '../../../data/state/stateView.js'
import type { RecentTries } from '../../../data/state/trie.js'
import type { Kernel } from '../engine/kernel.js'
import type { KernelLog } from '../engine/kernelLogs.js'
import type { TransactionOutcome } from '../transactions/transaction.js'
import type { BlockGas } from '../transactions/transactionChecks.js'
import { Blooms, encodeReceipt } from './receipts.js'
import { buildChanges, type StateChanges } from './stateChanges.js'

type CountedOutcome = Pick<TransactionOutcome, 'gasUsed' | 'reportedNonce' | keyof BlockGas>

export class BlockTally {
  /** Consensus encoding of each receipt. */
  readonly receipts: Uint8Array[] = []
  readonly logs: KernelLog[] = []
  used: BlockGas = { executionGas: 0n, stateGas: 0n }
  blobGas = 0n
  #gasUsed = 0n
  readonly #blooms = new Blooms()
  readonly #changed = new Set<number>()

  /** `kernel` runs the transactions on `state`; `recent` caches trie nodes. */
  constructor(
    readonly kernel: Kernel,
    readonly fork: ForkName,
    readonly state: StateView,
    readonly recent: RecentTries | undefined,
  ) {}

  /** As in the header: from Amsterdam on, the larger of the two dimensions (EIP-8037). */
  get gasUsed(): bigint {
    const { executionGas, stateGas } = this.used
    return executionGas > stateGas ? executionGas : stateGas
  }

  /** 256 bytes. */
  get logsBloom(): Uint8Array {
    return this.#blooms.block
  }

  /** Adds the transaction that the kernel ran last. */
  add(type: number, blobs: number, isSuccess: boolean, ran: CountedOutcome): void {
    const { reportedNonce } = ran
    const tail =
      reportedNonce === undefined
        ? []
        : (forkRules(this.fork).proofs.receiptTail?.(reportedNonce, this.fork) ?? [])
    // Before Byzantium a receipt has the state root after its transaction.
    const outcome = includesFork(this.fork, 'byzantium') ? isSuccess : this.changes().stateRoot
    const { executionGas, stateGas } = this.used
    this.used = { executionGas: executionGas + ran.executionGas, stateGas: stateGas + ran.stateGas }
    this.#gasUsed += ran.gasUsed
    this.blobGas += BigInt(blobs) * gasPerBlob
    const { logs } = this.kernel
    const receipt = { type, outcome, gasUsed: this.#gasUsed, logs, tail }
    this.receipts.push(encodeReceipt(receipt, this.#blooms.bloomOf(logs)))
    for (const log of logs) this.logs.push(log)
  }

  /** State changes up to now. */
  changes(): StateChanges {
    return buildChanges(this.kernel, this.takeChanged(), this.state, this.recent)
  }

  /** Handles of all accounts that changed up to now. */
  takeChanged(): ReadonlySet<number> {
    for (const account of this.kernel.takeChanged()) this.#changed.add(account)
    return this.#changed
  }
}
