import type { Common } from '@ethereumjs/common'
import { createTxFromRLP } from '@ethereumjs/tx'
import type { ForkName, ForkSchedule } from '../chain/forks.js'
import { createRules } from './forkEngine.js'

/** Recovers senders of transactions that are in a chain already, without executing anything. */
export class SenderRecovery {
  private readonly rules = new Map<ForkName, Common>()

  constructor(private readonly schedule: ForkSchedule) {}

  /**
   * Sender (20 bytes) of a transaction, given as in a transactions trie, in a block under the rules of `fork`.
   * About 0.3 ms. Throws where the bytes are no transaction or its signature is none.
   */
  senderOf(transaction: Uint8Array, fork: ForkName): Uint8Array {
    let common = this.rules.get(fork)
    if (common === undefined) {
      common = createRules(this.schedule, fork)
      this.rules.set(fork, common)
    }
    return createTxFromRLP(transaction, { common, freeze: false }).getSenderAddress().bytes
  }
}
