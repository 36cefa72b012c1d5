/** Senders of transactions that a developer chain takes without a signature, because a caller impersonates them. */
import { RecoveredKeys } from '../../../execution/evm/transactions/recoveredKeys.js'
import { type Hash32, latin1Key } from '../../../primitives/bytes.js'
import { putNewest } from '../../../primitives/putNewest.js'
import type { RlpItem } from '../../../primitives/rlp.js'
import { sentBounds } from '../transactions/sentTransactions.js'

export class ImpersonatedKeys extends RecoveredKeys {
  /** By hash; as many as can wait. */
  readonly #impersonated = new Map<string, Uint8Array>()

  add(hash: Hash32, sender: Uint8Array): void {
    putNewest(this.#impersonated, latin1Key(hash), sender, sentBounds.countMax)
  }

  override senderOf(transaction: RlpItem, hash: Hash32, known?: Uint8Array): Uint8Array | undefined {
    return this.#impersonated.get(latin1Key(hash)) ?? super.senderOf(transaction, hash, known)
  }
}
