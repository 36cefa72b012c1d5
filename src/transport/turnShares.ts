/**
 * How many requests one key has answered within one turn of the event loop. A client that pipelines may have thousands
 * of requests in one packet, which the server beneath hands over one after the other without a pause; whoever comes
 * after them waits. Owns the counting; what happens to a request beyond the share is the server's.
 */

/** Requests that are counted all together before they are counted by key: what many connections send at once. */
const togetherMax = 64

/** Requests of one key in a turn: some 10 ms of work for cached reads. 64 connections may have 16 on their way each. */
export const requestsOfKeyMax = 1_024

/** Sweeps for which somebody counts as being there after a request. */
const presentTicks = 1

export class TurnShares {
  /** Requests since the last reset, and where there were many, of each key. */
  #count = 0
  #ofKeys: Map<string, number> | undefined
  #lastKey: string | undefined
  /** When a request came last that was another key's than the one before it. */
  #otherTick = Number.NEGATIVE_INFINITY

  readonly #reset = (): void => {
    this.#count = 0
    this.#ofKeys = undefined
  }

  /**
   * Counts a request; false where its key has had its share of this turn and others are there. `tick` counts the
   * server's sweeps. A key may have a request beyond its share from each of the server's `connections`: one that
   * sends no second request before the answer to the first is never refused.
   */
  admit(keyId: string, tick: number, connections: number): boolean {
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
    return count <= requestsOfKeyMax + connections || tick - this.#otherTick > presentTicks
  }
}
