/**
 * Counts requests in one turn of the event loop by key, and those without a valid key by address. A client that
 * pipelines may send thousands of requests in one packet. The library delivers them one after the other without a pause
 * while all others wait. Owns the counting; the server decides on requests beyond the share.
 */

/** Requests of a turn that are counted only in total: as many as arrive together from many connections. */
const togetherMax = 64

/** Requests of one key in a turn: 10 ms of cached reads, or 16 at once from each of 64 connections. */
export const requestsOfKeyMax = 1_024

/** Requests of one address without a valid key, for pages and refusals: balancers check health a few times. */
export const keylessMax = 256

/** Number of sweeps for which a key counts as active after a request. */
const presentTicks = 1

export class RequestsPerTurn {
  /** Requests since the last reset; if there were many, also by key. */
  #count = 0
  #ofKeys: Map<string, number> | undefined
  #lastKey: string | undefined
  /** Sweep in which a request last had another key than the previous one. */
  #otherTick = Number.NEGATIVE_INFINITY

  readonly #reset = (): void => {
    this.#count = 0
    this.#ofKeys = undefined
  }

  /**
   * Counts a request; false if its key has used its share of this turn and other keys are active. `tick` is the
   * server's sweep counter. Beyond its share a key may have one request per open connection (`connections`), so a
   * client that waits for each answer is never refused.
   */
  admit(keyId: string, tick: number, connections: number, max = requestsOfKeyMax): boolean {
    if (keyId !== this.#lastKey) {
      if (this.#lastKey !== undefined) this.#otherTick = tick
      this.#lastKey = keyId
    }
    if (++this.#count < togetherMax) return true
    if (this.#ofKeys === undefined) {
      this.#ofKeys = new Map()
      setImmediate(this.#reset)
    }
    const count = (this.#ofKeys.get(keyId) ?? 0) + 1
    this.#ofKeys.set(keyId, count)
    return count <= max + connections || tick - this.#otherTick > presentTicks
  }
}
