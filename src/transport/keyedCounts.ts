import { createHash } from 'node:crypto'

/** Words before the entries: the lock. Two, so that entries are aligned. */
const headWords = 2

/** An entry: 64 bits that stand for the key, its count (0: the entry is free), and one word unused. */
const entryWords = 4

/** Entries in all, however many are asked for: 32 MiB. */
const entriesMax = 2 ** 21

const free = 0
const locked = 1
/** Locked, and somebody sleeps until it is not. */
const awaited = 2

/**
 * A count for each of many keys, in memory that threads share: a table with open addressing and linear probing, under
 * a lock that is held for less than a microsecond. Keys whose count is zero take no room. A key is told by 64 bits of
 * its SHA-256, which no two keys that exist have in common.
 */
export class KeyedCounts {
  readonly #words: Int32Array
  readonly #mask: number

  /** `bytes` of `memory` from `offset` on are for these counts alone, and all zero before the first thread uses them. */
  constructor(memory: SharedArrayBuffer, offset: number, bytes = memory.byteLength - offset) {
    this.#words = new Int32Array(memory, offset, bytes / Int32Array.BYTES_PER_ELEMENT)
    this.#mask = (this.#words.length - headWords) / entryWords - 1
  }

  /** Bytes for so many keys that have a count at the same time; half of the entries stay free for short walks. */
  static bytesFor(keysMax: number): number {
    const entries = Math.min(2 ** Math.ceil(Math.log2(Math.max(keysMax, 1) * 2)), entriesMax)
    return (headWords + entries * entryWords) * Int32Array.BYTES_PER_ELEMENT
  }

  /** Adds to a key's count, which never goes below zero, and returns it; Infinity where there is no room for the key. */
  add(key: string, change: number): number {
    const digest = createHash('sha256').update(key).digest()
    const high = digest.readInt32LE(0)
    const low = digest.readInt32LE(4)
    this.#lock()
    try {
      const entry = this.#find(high, low)
      if (entry === undefined) return Number.POSITIVE_INFINITY
      const count = this.#count(entry) + change
      this.#put(entry, high, low, count)
      if (count === 0) this.#free(entry)
      return count
    } finally {
      this.#unlock()
    }
  }

  /** The entry of a key, or the free one where it belongs. */
  #find(high: number, low: number): number | undefined {
    for (let step = 0; step <= this.#mask; step++) {
      const entry = (low + step) & this.#mask
      if (this.#count(entry) === 0) return entry
      const at = headWords + entry * entryWords
      if (this.#words[at] === high && this.#words[at + 1] === low) return entry
    }
    return undefined
  }

  /** Closes the gap that an entry leaves: a walk ends at a free entry, so what it would no longer reach moves up. */
  #free(entry: number): void {
    let gap = entry
    for (let step = 1; step <= this.#mask; step++) {
      const next = (entry + step) & this.#mask
      const count = this.#count(next)
      if (count === 0) return
      const at = headWords + next * entryWords
      const [high, low] = [this.#words[at] as number, this.#words[at + 1] as number]
      const stepsFromHome = (next - low) & this.#mask
      const stepsFromGap = (next - gap) & this.#mask
      if (stepsFromHome < stepsFromGap) continue
      this.#put(gap, high, low, count)
      this.#put(next, 0, 0, 0)
      gap = next
    }
  }

  #count(entry: number): number {
    return this.#words[headWords + entry * entryWords + 2] as number
  }

  #put(entry: number, high: number, low: number, count: number): void {
    const at = headWords + entry * entryWords
    this.#words[at] = high
    this.#words[at + 1] = low
    this.#words[at + 2] = count
  }

  /** The atomic operations on the lock also order what is read and written between them. */
  #lock(): void {
    if (Atomics.compareExchange(this.#words, 0, free, locked) === free) return
    while (Atomics.exchange(this.#words, 0, awaited) !== free) Atomics.wait(this.#words, 0, awaited)
  }

  #unlock(): void {
    if (Atomics.exchange(this.#words, 0, free) === awaited) Atomics.notify(this.#words, 0, 1)
  }
}
