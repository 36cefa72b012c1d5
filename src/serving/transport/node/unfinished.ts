/** Memory that Node.js and ws take for one received part of a message, besides its bytes. */
const pieceBytes = 256

/**
 * Memory that ws holds for a message that is not complete, computed from the bytes received and those handled. For a
 * message in several frames only one frame head is subtracted; the excess is dropped when the next message ends, and
 * is never more than the bytes received last.
 */
export class Unfinished {
  #bytes = 0
  #pieces = 0
  #handledBytes = 0
  #isEnd = false

  /** Call it when a frame was handled, before {@link took}; `isEnd` where it was the last of its message. */
  handled(payloadBytes: number, isEnd: boolean): void {
    this.#handledBytes += payloadBytes + headBytes(payloadBytes)
    this.#isEnd ||= isEnd
  }

  /** Call it when `bytes` came and all frames complete by them were handled. Returns the memory still held. */
  took(bytes: number): number {
    const left = Math.max(this.#bytes + bytes - this.#handledBytes, 0)
    this.#bytes = this.#isEnd ? Math.min(left, bytes) : left
    this.#pieces = this.#bytes === 0 ? 0 : this.#isEnd ? 1 : this.#pieces + 1
    this.#handledBytes = 0
    this.#isEnd = false
    return this.#bytes + this.#pieces * pieceBytes
  }
}

/** Length of the head of a client's frame; RFC 6455, section 5.2. */
function headBytes(payloadBytes: number): number {
  return payloadBytes < 126 ? 6 : payloadBytes < 65_536 ? 8 : 14
}
