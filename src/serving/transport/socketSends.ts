/**
 * The messages of one WebSocket that wait to be passed to the library, in their order. A message longer than
 * {@link sentBytesMax} goes in fragments (RFC 6455, section 5.4), with no other message between them. Each is sent in a
 * turn of {@link sendSlices}, like parts of answers over HTTP. So one long answer delays no other connection, and the
 * library copies one fragment at a time. Owns the order; {@link Socket} limits the unread bytes of a client.
 */
import { Fifo } from '../../primitives/fifo.js'
import type { Place } from '../../primitives/timeSlices.js'
import type { AnswerBody } from '../rpc/answers/answer.js'
import { BodyParts, lengthOf, longBytesMin } from './answerBytes.js'
import { type LongSend, sendSlices, sentBytesMax } from './sendSlices.js'
import type { SocketWire } from './wire.js'

/** Longest answer that is passed on regardless of the bytes sent in this turn, as over HTTP. */
const shortBytesMax = 16 * 1024

/** Memory of a waiting message besides its bytes. */
const waitingBytes = 256

/** Minimum count of a message in a turn: a frame and a system call take as long as 4 KiB. */
const costMin = 4 * 1024

interface WaitingMessage {
  readonly parts: BodyParts
  isBegun: boolean
}

export class SocketSends implements LongSend {
  /** Place in the turns of the event loop ({@link sendSlices}). */
  place: Place | undefined
  readonly #wire: SocketWire
  readonly #onSent: () => void
  readonly #waiting = new Fifo<WaitingMessage>()
  #waitingBytes = 0

  /** `flow` is the id of the connection's key. `onSent` is called after each turn that passed messages on. */
  constructor(
    wire: SocketWire,
    readonly flow: string,
    onSent: () => void,
  ) {
    this.#wire = wire
    this.#onSent = onSent
  }

  /** Bytes that wait here, and those that the operating system has not accepted yet. */
  get unsentBytes(): number {
    return this.#waitingBytes + this.#wire.unsentBytes
  }

  /** Passes a message on, now or in later turns. The `message` of an event may change after the call. */
  send(message: AnswerBody | Uint8Array): void {
    const isEvent = message instanceof Uint8Array
    const bytes = isEvent ? message.length : lengthOf(message)
    // An event that waits for its turn would count as unread. A subscriber with a short queue would then lose the next
    // one.
    if (this.#waiting.length === 0 && (isEvent || this.#mayPass(bytes))) return this.#wire.send(message)
    const parts = new BodyParts(isEvent ? [new Uint8Array(message)] : message)
    if (parts.bytesLeft === 0) return
    this.#waitingBytes += parts.bytesLeft + waitingBytes
    this.#waiting.push({ parts, isBegun: false })
    this.goOn()
  }

  /** Continues with waiting messages once the operating system has accepted the earlier ones. */
  goOn(): void {
    if (this.#waiting.length > 0 && this.#wire.unsentBytes === 0) sendSlices.sendLater(this)
  }

  sendOn(): void {
    let left = sentBytesMax
    do left -= Math.max(this.#sendPart(left), costMin)
    while (this.#hasNext(left) && this.#wire.unsentBytes === 0)
    this.goOn()
    this.#onSent()
  }

  /** The connection is over. */
  forget(): void {
    sendSlices.forget(this)
    this.#waiting.clear()
    this.#waitingBytes = 0
  }

  #mayPass(bytes: number): boolean {
    return bytes <= shortBytesMax || (bytes <= sentBytesMax && sendSlices.take(bytes))
  }

  /** Whether a turn with room for this many further bytes sends another part. */
  #hasNext(bytes: number): boolean {
    if (this.#waiting.length === 0) return false
    const { parts, isBegun } = this.#waiting.oldest
    return parts.bytesLeft <= bytes || (isBegun && bytes >= longBytesMin)
  }

  /** Sends the next part of the oldest message, and returns its length. */
  #sendPart(bytesMax: number): number {
    const message = this.#waiting.oldest
    const part = message.parts.next(bytesMax)
    const isLast = message.parts.bytesLeft === 0
    this.#waitingBytes -= part.length
    if (isLast) {
      this.#waiting.shift()
      this.#waitingBytes -= waitingBytes
    }
    const isFirst = !message.isBegun
    message.isBegun = true
    if (isFirst && isLast) this.#wire.send(part)
    else this.#wire.sendFragment(part, isFirst, isLast)
    return part.length
  }
}
