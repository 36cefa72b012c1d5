import { createHash } from 'node:crypto'

/** An entry: 64 bits that stand for the key, zero where none has ever been there, and its count. */
const entryWords = 3

/** Entries of one table, however many are asked for: 24 MiB. */
const entriesMax = 2 ** 21

/** Entries that are looked at for a key. At most half of all are in use, so a free one is found much sooner. */
const stepsMax = 64

/** Where the counts lie, and who counts. */
export interface CountsLayout {
  readonly offset: number
  /** Of {@link KeyedCounts.bytesFor}. */
  readonly bytes: number
  /** Threads that count, and the number of this one, from 0. */
  readonly threads: number
  readonly thread: number
}

/**
 * A count for each of many keys, over all threads that share the memory. Each thread has a table that it alone writes:
 * what it counted itself. A key's count is the sum over all tables, so nobody waits for anybody, and a thread may die
 * anywhere. Tables have open addressing and linear probing; an entry whose count is zero may be taken by another key.
 * A key is identified by 64 bits of its SHA-256, which no two keys that exist have in common.
 */
export class KeyedCounts {
  readonly #tables: readonly Int32Array[]
  readonly #own: Int32Array
  readonly #mask: number

  /** The memory is for these counts alone, and all zero before the first thread uses it. */
  constructor(memory: SharedArrayBuffer, { offset, bytes, threads, thread }: CountsLayout) {
    const words = bytes / threads / Int32Array.BYTES_PER_ELEMENT
    const tableOf = (index: number) => new Int32Array(memory, offset + (index * bytes) / threads, words)
    this.#tables = Array.from({ length: threads }, (_, index) => tableOf(index))
    this.#own = tableOf(thread)
    this.#mask = words / entryWords - 1
  }

  /** Bytes for so many keys that have a count at the same time. */
  static bytesFor(keysMax: number, threads: number): number {
    const entries = Math.min(2 ** Math.ceil(Math.log2(Math.max(keysMax, 1) * 2)), entriesMax)
    return threads * entries * entryWords * Int32Array.BYTES_PER_ELEMENT
  }

  /**
   * Adds to what this thread has counted of a key, which never goes below zero, and returns the count of all threads;
   * Infinity where there is no room for the key. Of two threads that add at the same time, one at least gets a sum
   * that holds both.
   */
  add(key: string, change: number): number {
    const digest = createHash('sha256').update(key).digest()
    const high = digest.readInt32LE(0)
    const low = digest.readInt32LE(4)
    const at = this.#claim(high, low)
    if (at === undefined) return Number.POSITIVE_INFINITY
    Atomics.add(this.#own, at + 2, change)
    let sum = 0
    for (const table of this.#tables) sum += this.#read(table, high, low)
    return sum
  }

  /** Where this thread counts a key. */
  #claim(high: number, low: number): number | undefined {
    const own = this.#own
    let free: number | undefined
    for (let step = 0; step < stepsMax && step <= this.#mask; step++) {
      const at = ((low + step) & this.#mask) * entryWords
      if (own[at] === high && own[at + 1] === low) return at
      if (own[at + 2] !== 0) continue
      free ??= at
      if (own[at] === 0 && own[at + 1] === 0) break
    }
    if (free === undefined) return undefined
    Atomics.store(own, free, high)
    Atomics.store(own, free + 1, low)
    return free
  }

  /** What the thread of a table has counted of a key. That thread may give an idle entry to another key meanwhile. */
  #read(table: Int32Array, high: number, low: number): number {
    const isOfKey = (at: number) => Atomics.load(table, at) === high && Atomics.load(table, at + 1) === low
    for (let step = 0; step < stepsMax && step <= this.#mask; step++) {
      const at = ((low + step) & this.#mask) * entryWords
      if (isOfKey(at)) {
        const count = Atomics.load(table, at + 2)
        if (isOfKey(at)) return count
      } else if (Atomics.load(table, at) === 0 && Atomics.load(table, at + 1) === 0) return 0
    }
    return 0
  }
}
