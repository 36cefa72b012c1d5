import { createHash } from 'node:crypto'

/** 32-bit words of an entry: 64 bits that identify the key (zero where the entry was never used), and the count. */
const entryWords = 3

/** Most entries of one table: 24 MiB. */
const entriesMax = 2 ** 21

/** Entries searched for a key. At most half of all are in use, so a free one is found much sooner. */
const stepsMax = 64

/** Place of the counts in memory, and the threads that share it. */
export interface CountsLayout {
  readonly offset: number
  /** From {@link KeyedCounts.bytesFor}. */
  readonly bytes: number
  /** Number of threads, and the index of this one, from 0. */
  readonly threads: number
  readonly thread: number
}

/**
 * A count per key, summed over all threads that share the memory. Each thread has a table of its own counts that no
 * other thread writes; a key's count is the sum over all tables. So there are no locks, and a thread may die at any
 * point. Tables use open addressing with linear probing; an entry whose count is zero may be reused for another key.
 * A key is identified by 64 bits of its SHA-256, where a collision is practically impossible.
 */
export class KeyedCounts {
  readonly #tables: readonly Int32Array[]
  readonly #own: Int32Array
  readonly #mask: number

  /**
   * `bytes` bytes of `memory` from `offset` are for these counts only, all zero before the first thread uses them.
   */
  constructor(memory: SharedArrayBuffer, { offset, bytes, threads, thread }: CountsLayout) {
    const words = bytes / threads / Int32Array.BYTES_PER_ELEMENT
    const tableOf = (index: number) => new Int32Array(memory, offset + (index * bytes) / threads, words)
    this.#tables = Array.from({ length: threads }, (_, index) => tableOf(index))
    this.#own = tableOf(thread)
    this.#mask = words / entryWords - 1
  }

  /** Bytes of memory for `keysMax` keys that have a count at the same time. */
  static bytesFor(keysMax: number, threads: number): number {
    const entries = Math.min(2 ** Math.ceil(Math.log2(Math.max(keysMax, 1) * 2)), entriesMax)
    return threads * entries * entryWords * Int32Array.BYTES_PER_ELEMENT
  }

  /**
   * Adds to this thread's count of a key, which must not become negative, and returns the sum over all threads;
   * Infinity where there is no room for the key. If two threads add at the same time, at least one gets a sum that
   * includes both.
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

  /** Index of a key's entry in this thread's table, made if absent; undefined where there is no room. */
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

  /** A key's count in one table. The thread that owns the table may reuse an entry with count zero meanwhile. */
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
