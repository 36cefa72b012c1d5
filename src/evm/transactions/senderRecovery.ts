import type { ForkName, ForkSchedule } from '../../chain/forks.js'
import { decodeRlpList } from '../../primitives/rlp.js'
import { RecoveredKeys } from './recoveredKeys.js'
import { readSignedTransaction } from './signedTransaction.js'

/** Recovers senders of transactions of a chain without executing them. */
export class SenderRecovery {
  readonly #keys = new RecoveredKeys()
  readonly #schedule: ForkSchedule

  constructor(schedule: ForkSchedule) {
    this.#schedule = schedule
  }

  /**
   * Sender (20 bytes) of a transaction, encoded as in the transactions trie, in a block of `fork`. Recovers its key (ecrecover.ts).
   * Throws where the bytes are no transaction or the signature is invalid.
   */
  senderOf(transaction: Uint8Array, fork: ForkName): Uint8Array {
    const item = (transaction[0] as number) >= 0xc0 ? decodeRlpList(transaction) : transaction
    return readSignedTransaction(item, fork, this.#schedule.config.chainId, this.#keys).sender
  }
}
