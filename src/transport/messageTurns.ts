/**
 * Turns of the event loop, shared by all sockets: a client that sends 600,000 messages at once gets some of them
 * answered, then others are read from and answered, then it goes on.
 */

/** Messages of one socket in one turn, and their bytes: half a millisecond of cached reads. */
const messagesMax = 32
const bytesMax = 64 * 1024

/** Sockets that go on in one turn with what waits: some 10 ms where all have much of it. */
const socketsMax = 16

interface Waiter {
  /** A turn has begun that is this one's. */
  onTurn(): void
}

/** What one socket has had of a turn. */
export class TurnShare {
  turn = -1
  messages = 0
  bytes = 0
}

export class MessageTurns {
  #turn = 0
  #isNextDue = false
  /** In the order in which they go on. */
  readonly #waiting = new Set<Waiter>()

  /** Whether a socket may take a message of so many bytes now; counts it if so. */
  take(share: TurnShare, bytes: number): boolean {
    this.#dueNext()
    if (share.turn !== this.#turn) {
      share.turn = this.#turn
      share.messages = 0
      share.bytes = 0
    }
    if (share.messages >= messagesMax || share.bytes >= bytesMax) return false
    share.messages++
    share.bytes += bytes
    return true
  }

  /** Calls `onTurn` in a later turn. */
  wait(waiter: Waiter): void {
    this.#waiting.add(waiter)
    this.#dueNext()
  }

  forget(waiter: Waiter): void {
    this.#waiting.delete(waiter)
  }

  #dueNext(): void {
    if (this.#isNextDue) return
    this.#isNextDue = true
    // Comes after sockets have been looked at, and those that it makes due after they have been looked at again.
    setImmediate(this.#next)
  }

  readonly #next = (): void => {
    this.#isNextDue = false
    this.#turn++
    let sockets = 0
    for (const waiter of this.#waiting) {
      if (sockets++ === socketsMax) break
      this.#waiting.delete(waiter)
      waiter.onTurn()
    }
    if (this.#waiting.size > 0) this.#dueNext()
  }
}
