/** What Node.js and ws take for one piece of a message that came by itself, beside its bytes. */
const pieceBytes = 256

/**
 * What lies in the memory of ws of a message that is not whole yet, computed from what has come in and what of it has been
 * handled. Of a message in parts one head is counted; what is too much by that is forgotten with the next message that
 * ends, and never more than what came in last.
 */
export class Unfinished {
  #bytes = 0
  #pieces = 0
  #handledBytes = 0
  #isEnd = false

  /** A frame has been handled, `isEnd` where it was a message's last one. Within the bytes of {@link took}. */
  handled(payloadBytes: number, isEnd: boolean): void {
    this.#handledBytes += payloadBytes + headBytes(payloadBytes)
    this.#isEnd ||= isEnd
  }

  /** So many bytes have come in, and whatever became whole by them has been handled; returns what is left. */
  took(bytes: number): number {
    const left = Math.max(this.#bytes + bytes - this.#handledBytes, 0)
    this.#bytes = this.#isEnd ? Math.min(left, bytes) : left
    this.#pieces = this.#bytes === 0 ? 0 : this.#isEnd ? 1 : this.#pieces + 1
    this.#handledBytes = 0
    this.#isEnd = false
    return this.#bytes + this.#pieces * pieceBytes
  }
}

/** The head of a client's frame; RFC 6455, section 5.2. */
function headBytes(payloadBytes: number): number {
  return payloadBytes < 126 ? 6 : payloadBytes < 65_536 ? 8 : 14
}
