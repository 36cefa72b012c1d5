/**
 * Turns of the event loop, shared by all bodies that are still arriving: a hundred clients that send 5 MiB each at the
 * same time have some of it taken in, then others are answered, then it goes on.
 */

/** Bytes of one turn: 3 ms, most of it for memory that the system has to give first. */
const bytesMax = 2 ** 20

/** Bodies that go on in one turn with what waits; uWebSockets.js reads 512 KiB at once. */
const bodiesMax = 2

interface ArrivingBody {
  /** Reads on. */
  goOn(): void
}

export class BodyTurns {
  #bytes = 0
  #isNextDue = false
  /** In the order in which they go on. */
  readonly #waiting = new Set<ArrivingBody>()

  /** Counts bytes that have come. Whether more may come in this turn; else {@link ArrivingBody.goOn} is called in a later one. */
  take(body: ArrivingBody, bytes: number): boolean {
    this.#bytes += bytes
    this.#dueNext()
    if (this.#bytes <= bytesMax) return true
    this.#waiting.add(body)
    return false
  }

  forget(body: ArrivingBody): void {
    this.#waiting.delete(body)
  }

  #dueNext(): void {
    if (this.#isNextDue) return
    this.#isNextDue = true
    setImmediate(this.#next)
  }

  readonly #next = (): void => {
    this.#isNextDue = false
    this.#bytes = 0
    let bodies = 0
    for (const body of this.#waiting) {
      if (bodies++ === bodiesMax) break
      this.#waiting.delete(body)
      body.goOn()
    }
    if (this.#waiting.size > 0) this.#dueNext()
  }
}
