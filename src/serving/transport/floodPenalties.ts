/**
 * Holds off keys that have just exceeded a limit by far. For a second their new requests and WebSockets wait, unread,
 * and are then refused. After an immediate refusal the client would reconnect immediately, and each connection costs
 * 0.1 ms. Owns the held-off keys and the time; callers of `begin` decide when.
 */

import { setTimeout } from '../../primitives/timers.js'
import type { Answer } from '../rpc/answers/answer.js'
import { anonymousId } from '../rpc/contexts/requestContext.js'
import { refusalOfFault } from './admission.js'

const holdMs = 1_000

/** Period after a key's first 503: the client is asked to wait at least as long (the minimum `Retry-After`). */
const busyMs = 1_000

/**
 * Maximum requests of a key that are answered 503 within {@link busyMs}. Clients with many concurrent requests get
 * some. A client that repeats each refused request immediately gets thousands, each of which takes about 0.1 ms of the
 * edge.
 */
export const busyMax = 128

/** Status and reasons of a refusal, for metrics and the log. */
export const keyPaused = { status: 429, reason: 'limit', why: 'its API key is paused' } as const

export class FloodPenalties {
  /** Key id → the refusal, for {@link holdMs}. Oldest first; there are few, since each follows a flood. */
  readonly #refusals = new Map<string, { readonly sinceMs: number; readonly answer: Answer }>()
  /** Key id → time of its first 503, and the number since. Oldest first; the oldest are removed. */
  readonly #busy = new Map<string, { readonly sinceMs: number; count: number }>()
  readonly #clockMs: () => number

  /** `clockMs` never goes back. */
  constructor(clockMs = () => performance.now()) {
    this.#clockMs = clockMs
  }

  /** `what` exceeded `limit`. Does nothing if no keys are needed, because it would hold off every caller. */
  begin(keyId: string, what: string, limit: number): void {
    if (keyId === anonymousId || this.#answerOf(keyId) !== undefined) return
    const answer = refusalOfFault(429, { kind: 'LimitExceeded', what, limit, retryAfterMs: holdMs })
    this.#refusals.set(keyId, { sinceMs: this.#clockMs(), answer })
  }

  /** Call this when a request is answered 503. Too many within {@link busyMs} hold the key off. */
  reportedBusy(keyId: string): void {
    const nowMs = this.#clockMs()
    forgetUntil(nowMs - busyMs, this.#busy)
    const busy = this.#busy.get(keyId)
    if (busy === undefined) this.#busy.set(keyId, { sinceMs: nowMs, count: 1 })
    else if (++busy.count > busyMax) {
      this.#busy.delete(keyId)
      this.begin(keyId, 'requests of this API key that were answered 503 within a second', busyMax)
    }
  }

  /**
   * The refusal for a request of this key, after a random delay of 1 to 2 s. Without it, many refused clients would
   * return at the same moment. Undefined if the key has no penalty.
   */
  refusalOf(keyId: string): Promise<Answer> | undefined {
    const answer = this.#answerOf(keyId)
    if (answer === undefined) return undefined
    return new Promise((resolve) => {
      setTimeout(resolve, holdMs * (1 + Math.random()), answer).unref()
    })
  }

  #answerOf(keyId: string): Answer | undefined {
    if (this.#refusals.size === 0) return undefined
    forgetUntil(this.#clockMs() - holdMs, this.#refusals)
    return this.#refusals.get(keyId)?.answer
  }
}

/** Removes entries that began at `ms` or before; the oldest are first. */
function forgetUntil(ms: number, entries: Map<string, { readonly sinceMs: number }>): void {
  for (const [id, { sinceMs }] of entries) {
    if (sinceMs > ms) break
    entries.delete(id)
  }
}
