import { Caller, type Identity } from '../rpc/caller.js'
import type { Subscriber } from '../streams/subscriber.js'

/** The connection that a message came by: what its calls may take. */
export interface CallRoom {
  readonly subscriber: Subscriber
  readonly identity: Identity
  /** Whether a call may wait; {@link release} gives it back. */
  admit(): boolean
  release(): void
  /** Whether there is room for a message that waits; {@link unreserve} gives it back. */
  reserve(bytes: number): boolean
  unreserve(bytes: number): void
}

/** Who waits for the answer to one message. */
export class MessageCaller extends Caller {
  readonly #room: CallRoom
  readonly #bytes: number
  #isReserved = false

  constructor(room: CallRoom, bytes: number) {
    super(room.subscriber, room.identity)
    this.#room = room
    this.#bytes = bytes
  }

  override admit(): boolean {
    // What is parsed of a message lives on until its last call is answered.
    if (!this.#isReserved) this.#isReserved = this.#room.reserve(this.#bytes)
    return this.#isReserved && this.#room.admit()
  }

  override release(): void {
    this.#room.release()
  }

  override leave(): void {
    super.leave()
    if (this.#isReserved) this.#room.unreserve(this.#bytes)
    this.#isReserved = false
  }
}
