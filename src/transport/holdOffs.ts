/**
 * Keys that are held off because they have just exceeded a limit by far. For a second their new requests and
 * WebSockets wait, unread, and are then refused. Refusing at once would make the client reconnect at once, and each
 * connection costs 0.1 ms. Owns which keys are held off and for how long; callers of `begin` decide when.
 */
import type { Answer } from '../rpc/answer.js'
import { anonymousId } from '../rpc/caller.js'
import { refusalOfFault } from './admission.js'

const holdMs = 1_000

/** Why a request is refused, for the log. */
export const heldOff = 'its API key is held off'

export class HoldOffs {
  /** Key id → the refusal. Entries last for {@link holdMs}; there are few, since each follows a flood. */
  readonly #refusals = new Map<string, Answer>()

  /**
   * Holds a key off. `what` exceeded `limit`, for the error message. Does nothing where no keys are needed, because
   * it would hold off every caller.
   */
  begin(keyId: string, what: string, limit: number): void {
    if (keyId === anonymousId || this.#refusals.has(keyId)) return
    const answer = refusalOfFault(429, { kind: 'LimitExceeded', what, limit, retryAfterMs: holdMs })
    this.#refusals.set(keyId, answer)
    setTimeout(() => this.#refusals.delete(keyId), holdMs).unref()
  }

  /**
   * The refusal for a request of this key, after a random delay of 1 to 2 s, so that many refused clients do not
   * return at the same moment. Undefined where the key is not held off.
   */
  refusalOf(keyId: string): Promise<Answer> | undefined {
    const answer = this.#refusals.size === 0 ? undefined : this.#refusals.get(keyId)
    if (answer === undefined) return undefined
    return new Promise((resolve) => {
      setTimeout(resolve, holdMs * (1 + Math.random()), answer).unref()
    })
  }
}
