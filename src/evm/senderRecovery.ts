import type { ForkName, ForkSchedule } from '../chain/forks.js'
import { decodeRlpList } from '../primitives/rlp.js'
import { RecoveredKeys } from './recoveredKeys.js'
import { readSignedTransaction } from './signedTransaction.js'

/** Recovers senders of transactions that are in a chain already, without executing anything. */
export class SenderRecovery {
  readonly #keys = new RecoveredKeys()
  readonly #schedule: ForkSchedule

  constructor(schedule: ForkSchedule) {
    this.#schedule = schedule
  }

  /**
   * Sender (20 bytes) of a transaction, given as in a transactions trie, in a block under the rules of `fork`.
   * About 0.3 ms. Throws where the bytes are no transaction or its signature is none.
   */
  senderOf(transaction: Uint8Array, fork: ForkName): Uint8Array {
    const item = (transaction[0] as number) >= 0xc0 ? decodeRlpList(transaction) : transaction
    return readSignedTransaction(item, fork, this.#schedule.config.chainId, this.#keys).sender
  }
}
