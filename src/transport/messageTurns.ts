/**
 * Turns of the event loop, shared by all sockets: a client that sends 600,000 messages at once gets some of them
 * answered, then others are read from and answered, then it goes on.
 */
import { type Waiter, WaitingLine } from './waitingLine.js'

/** Messages of one socket in one turn, and their bytes: half a millisecond of cached reads. */
const messagesMax = 32
const bytesMax = 64 * 1024

/** Sockets that go on in one turn with what waits: some 10 ms where all have much of it. */
const socketsMax = 16

/** What one socket has had of a turn. */
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

  /** Whether a socket may take a message of so many bytes now; counts it if so. */
  take(share: TurnShare, bytes: number): boolean {
    this.#line.callTurn()
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

  /** The socket goes on in a later turn. */
  wait(socket: Waiter): void {
    this.#line.add(socket)
  }

  forget(socket: Waiter): void {
    this.#line.forget(socket)
  }
}
