import { type Identity, RequestContext } from '../rpc/contexts/requestContext.js'
import type { Subscriber } from '../streams/subscriber.js'

/** A connection's room for the calls of its messages. */
export interface CallRoom {
  readonly subscriber: Subscriber
  readonly identity: Identity
  /** Reserves a waiting call, if one is left; {@link release} frees it. */
  admit(): boolean
  release(): void
  /** Reserves memory for a waiting message, if there is room; {@link unreserve} frees it. */
  reserve(bytes: number): boolean
  unreserve(bytes: number): void
}

export class MessageContext extends RequestContext {
  readonly #room: CallRoom
  readonly #bytes: number
  #isReserved = false

  constructor(room: CallRoom, bytes: number) {
    super(room.subscriber, room.identity)
    this.#room = room
    this.#bytes = bytes
  }

  override admit(): boolean {
    // The parsed message stays in memory until its last call is answered.
    if (!this.#isReserved) this.#isReserved = this.#room.reserve(this.#bytes)
    return this.#isReserved && this.#room.admit()
  }

  override release(): void {
    this.#room.release()
  }

  override finish(): void {
    super.finish()
    if (this.#isReserved) this.#room.unreserve(this.#bytes)
    this.#isReserved = false
  }
}
