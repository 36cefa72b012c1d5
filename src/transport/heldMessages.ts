/** Waiting messages of one socket, oldest first. */
export class HeldMessages {
  #messages: Uint8Array[] = []
  /** Index of the oldest in {@link #messages}. */
  #first = 0

  get length(): number {
    return this.#messages.length - this.#first
  }

  /** The oldest message; there must be one. */
  get oldest(): Uint8Array {
    return this.#messages[this.#first] as Uint8Array
  }

  push(message: Uint8Array): void {
    this.#messages.push(message)
  }

  /** Removes and returns the oldest message; there must be one. */
  shift(): Uint8Array {
    const message = this.#messages[this.#first++] as Uint8Array
    // Drop the used half of the array; moving the rest costs less than shifting each message would have.
    if (this.#first * 2 > this.#messages.length) {
      this.#messages = this.#messages.slice(this.#first)
      this.#first = 0
    }
    return message
  }

  /** Removes and returns the newest message; there must be one. */
  pop(): Uint8Array {
    return this.#messages.pop() as Uint8Array
  }
}
