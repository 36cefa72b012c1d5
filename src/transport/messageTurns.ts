/**
 * Turns of the event loop (rpc/callers/turns.ts) for WebSocket messages: where a client sends 600,000 messages at once, some
 * are answered, then other clients are read and answered, then the rest continues.
 */
import { type Waiter, WaitingLine } from './waitingLine.js'

/** Messages and bytes of one socket in one turn: half a millisecond of cached reads. */
const messagesMax = 32
const bytesMax = 64 * 1024

/** Sockets whose waiting messages continue in one turn: 10 ms where all have many. */
const socketsMax = 16

/** The part of a turn that one socket has used. */
export class TurnShare {
  turn = -1
  messages = 0
  bytes = 0
}

export class MessageTurns {
  #turn = 0
  readonly #line = new WaitingLine(socketsMax, () => {
    this.#turn++
  })

  /** Whether a socket may handle a message of `bytes` in this turn; counts it if so. */
  take(share: TurnShare, bytes: number): boolean {
    this.#line.scheduleTurn()
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

  /** Calls the socket's `onTurn` in a later turn. */
  wait(socket: Waiter): void {
    this.#line.add(socket)
  }

  forget(socket: Waiter): void {
    this.#line.forget(socket)
  }
}
