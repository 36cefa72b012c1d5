/**
 * Turns of the event loop, shared by all bodies that are still arriving: a hundred clients that send 5 MiB each at the
 * same time have some of it taken in, then others are answered, then it goes on.
 */
import { type Waiter, WaitingLine } from './waitingLine.js'

/** Bytes of one turn: 3 ms, most of it for memory that the system has to give first. */
const bytesMax = 2 ** 20

/** Bodies that go on in one turn with what waits; uWebSockets.js reads 512 KiB at once. */
const bodiesMax = 2

export class BodyTurns {
  #bytes = 0
  readonly #line = new WaitingLine(bodiesMax, () => {
    this.#bytes = 0
  })

  /** Counts bytes that have come. Whether more may come in this turn; else the body goes on in a later one. */
  take(body: Waiter, bytes: number): boolean {
    this.#bytes += bytes
    this.#line.callTurn()
    if (this.#bytes <= bytesMax) return true
    this.#line.add(body)
    return false
  }

  forget(body: Waiter): void {
    this.#line.forget(body)
  }
}
