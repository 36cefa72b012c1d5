/**
 * Who waits for a later turn of the event loop. Owns the order in which they go on, and when turns begin; what one may
 * take of a turn is the users' (bodyTurns.ts, messageTurns.ts).
 */

export interface Waiter {
  /** A turn has begun that is this one's. */
  onTurn(): void
}

export class WaitingLine {
  readonly #max: number
  readonly #onTurn: () => void
  readonly #waiting = new Set<Waiter>()
  #isTurnDue = false

  /** At most `max` go on in a turn; `onTurn` is called when one begins, before them. */
  constructor(max: number, onTurn: () => void) {
    this.#max = max
    this.#onTurn = onTurn
  }

  /** Sees to it that another turn begins. */
  callTurn(): void {
    if (this.#isTurnDue) return
    this.#isTurnDue = true
    // Comes after sockets have been looked at, and those that it makes due after they have been looked at again.
    setImmediate(this.#begin)
  }

  /** Calls `onTurn` of who waits in a later turn. */
  add(waiter: Waiter): void {
    this.#waiting.add(waiter)
    this.callTurn()
  }

  forget(waiter: Waiter): void {
    this.#waiting.delete(waiter)
  }

  readonly #begin = (): void => {
    this.#isTurnDue = false
    this.#onTurn()
    let count = 0
    for (const waiter of this.#waiting) {
      if (count++ === this.#max) break
      this.#waiting.delete(waiter)
      waiter.onTurn()
    }
    if (this.#waiting.size > 0) this.callTurn()
  }
}
