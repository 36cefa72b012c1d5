/** Messages of one socket that wait for their turn, oldest first. */
export class HeldMessages {
  #messages: Uint8Array[] = []
  /** Of {@link #messages}, the oldest. */
  #first = 0

  get length(): number {
    return this.#messages.length - this.#first
  }

  /** There has to be one. */
  get oldest(): Uint8Array {
    return this.#messages[this.#first] as Uint8Array
  }

  push(message: Uint8Array): void {
    this.#messages.push(message)
  }

  /** Takes the oldest; there has to be one. */
  shift(): Uint8Array {
    const message = this.#messages[this.#first++] as Uint8Array
    // Half of the array is used up: moving the rest costs less than what was shifted saved.
    if (this.#first * 2 > this.#messages.length) {
      this.#messages = this.#messages.slice(this.#first)
      this.#first = 0
    }
    return message
  }

  /** Takes the newest; there has to be one. */
  pop(): Uint8Array {
    return this.#messages.pop() as Uint8Array
  }
}
