/**
 * Waiters for a later turn of the event loop. Owns their order and the start of turns; bodyTurns.ts and
 * messageTurns.ts decide how much fits in a turn.
 */

export interface Waiter {
  /** Called in the turn in which the waiter may continue. */
  onTurn(): void
}

export class WaitingLine {
  readonly #max: number
  readonly #onTurn: () => void
  readonly #waiting = new Set<Waiter>()
  #isTurnDue = false

  /** At most `max` waiters continue per turn; `onTurn` is called at the beginning of each turn. */
  constructor(max: number, onTurn: () => void) {
    this.#max = max
    this.#onTurn = onTurn
  }

  /** Has another turn begin soon. */
  scheduleTurn(): void {
    if (this.#isTurnDue) return
    this.#isTurnDue = true
    // `setImmediate` runs after the sockets were polled, and one set from within runs after they were polled again.
    setImmediate(this.#begin)
  }

  /** Calls the waiter's `onTurn` in a later turn. */
  add(waiter: Waiter): void {
    this.#waiting.add(waiter)
    this.scheduleTurn()
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
    if (this.#waiting.size > 0) this.scheduleTurn()
  }
}
