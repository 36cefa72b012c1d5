/**
 * Keys that have just flooded the server with more than it answers. For a second their new requests and WebSockets
 * wait, unread, and are then refused: whoever floods comes back at once, and each connection that is made and cut
 * costs 0.1 ms. Owns who is held off and for how long; what a flood is, is for those who see one to say.
 */
import type { Answer } from '../rpc/answer.js'
import { anonymousId } from '../rpc/caller.js'
import { refusalOfFault } from './admission.js'

const holdMs = 1_000

/** Why a request is refused, for the log. */
export const heldOff = 'its API key is held off'

export class HoldOffs {
  /** By key; an entry lasts for {@link holdMs}, and each took its key a flood. */
  readonly #refusals = new Map<string, Answer>()

  /** Begins to hold a key off; `what` it had too much of, and how much it may have. Whoever has no key is everybody. */
  begin(keyId: string, what: string, limit: number): void {
    if (keyId === anonymousId || this.#refusals.has(keyId)) return
    const answer = refusalOfFault(429, { kind: 'LimitExceeded', what, limit, retryAfterMs: holdMs })
    this.#refusals.set(keyId, answer)
    setTimeout(() => this.#refusals.delete(keyId), holdMs).unref()
  }

  /**
   * What a request of this key is answered, after a second or two: hundreds refused in one moment would come back in
   * one. Undefined where the key is not held off.
   */
  refusalOf(keyId: string): Promise<Answer> | undefined {
    const answer = this.#refusals.size === 0 ? undefined : this.#refusals.get(keyId)
    if (answer === undefined) return undefined
    return new Promise((resolve) => {
      setTimeout(resolve, holdMs * (1 + Math.random()), answer).unref()
    })
  }
}
