/** A queue of items, oldest first. */
export class Fifo<T> {
  #items: T[] = []
  /** Index of the oldest in {@link #items}. */
  #first = 0

  get length(): number {
    return this.#items.length - this.#first
  }

  /** The oldest item; the queue must not be empty. */
  get oldest(): T {
    return this.#items[this.#first] as T
  }

  push(item: T): void {
    this.#items.push(item)
  }

  /** Removes and returns the oldest; the queue must not be empty. */
  shift(): T {
    const item = this.#items[this.#first++] as T
    // Drop the used half of the array; moving the rest costs less than shifting each item would have.
    if (this.#first * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#first)
      this.#first = 0
    }
    return item
  }

  /** Removes and returns the newest; the queue must not be empty. */
  pop(): T {
    return this.#items.pop() as T
  }

  clear(): void {
    this.#items = []
    this.#first = 0
  }
}
