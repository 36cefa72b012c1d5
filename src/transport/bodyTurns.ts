/**
 * Turns of the event loop (rpc/callers/turns.ts) for bodies that are still arriving: where a hundred clients send 5 MiB each
 * at the same time, part of it is read, then other requests are answered, then reading continues.
 */
import { type Waiter, WaitingLine } from './waitingLine.js'

/** Bytes read in one turn: 3 ms, most of it for the operating system to provide memory. */
const bytesMax = 2 ** 20

/** Waiting bodies that continue in one turn; uWebSockets.js reads 512 KiB at once. */
const bodiesMax = 2

export class BodyTurns {
  #bytes = 0
  readonly #line = new WaitingLine(bodiesMax, () => {
    this.#bytes = 0
  })

  /**
   * Counts bytes that have arrived. Returns whether the body may read on in this turn; if not, its `onTurn` is called
   * in a later one.
   */
  take(body: Waiter, bytes: number): boolean {
    this.#bytes += bytes
    this.#line.scheduleTurn()
    if (this.#bytes <= bytesMax) return true
    this.#line.add(body)
    return false
  }

  forget(body: Waiter): void {
    this.#line.forget(body)
  }
}
