/**
 * Keys that are held off because they have just exceeded a limit by far. For a second their new requests and
 * WebSockets wait, unread, and are then refused. Refusing at once would make the client reconnect at once, and each
 * connection costs 0.1 ms. Owns which keys are held off and for how long; callers of `begin` decide when.
 */
import type { Answer } from '../rpc/answer.js'
import { anonymousId } from '../rpc/caller.js'
import { refusalOfFault } from './admission.js'

const holdMs = 1_000

/** Time after the first 503 of a key for which it is told to wait: the least `Retry-After`. */
const busyMs = 1_000

/**
 * Time after the first 503 of a key in which its requests may have been sent before it arrived, as those of a client
 * that asks much at once.
 */
const burstMs = 250

/**
 * Requests that a key may send within {@link busyMs}, but after {@link burstMs}, and that are answered 503 as well.
 * Clients of one key that do not know of each other send some; a client that repeats each refused request at once
 * sends thousands, each of which takes about 0.1 ms of the edge.
 */
export const eagerMax = 256

/** Why a request is refused, for the log. */
export const heldOff = 'its API key is held off'

export class HoldOffs {
  /** Key id → the refusal. Entries last for {@link holdMs}; there are few, since each follows a flood. */
  readonly #refusals = new Map<string, Answer>()
  /** Key id → when its first 503 was sent, and its eager requests since. Oldest first; the oldest are forgotten. */
  readonly #busy = new Map<string, { readonly sinceMs: number; eager: number }>()
  readonly #clockMs: () => number

  /** `clockMs` never goes back. */
  constructor(clockMs = () => performance.now()) {
    this.#clockMs = clockMs
  }

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

  /** Whether a request of this key that arrives at this moment does not wait as the key was told to by a 503. */
  isEager(keyId: string): boolean {
    const busy = this.#busy.size === 0 ? undefined : this.#busy.get(keyId)
    if (busy === undefined) return false
    const passedMs = this.#clockMs() - busy.sinceMs
    return passedMs >= burstMs && passedMs < busyMs
  }

  /** Call it when a request is answered 503. Too many that are {@link isEager} hold the key off. */
  toldBusy(keyId: string, isEager: boolean): void {
    const nowMs = this.#clockMs()
    for (const [id, { sinceMs }] of this.#busy) {
      if (nowMs - sinceMs < busyMs) break
      this.#busy.delete(id)
    }
    const busy = this.#busy.get(keyId)
    if (busy === undefined) this.#busy.set(keyId, { sinceMs: nowMs, eager: 0 })
    else if (isEager && ++busy.eager > eagerMax) {
      this.#busy.delete(keyId)
      this.begin(keyId, 'requests of this API key that did not wait after 503', eagerMax)
    }
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
