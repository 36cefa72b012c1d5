/**
 * Sorts more records than fit in memory by their keys: parts are sorted in memory, written to one file as runs, and
 * read back merged. Each record has a key of at most 255 bytes and a value.
 */
import { closeSync, openSync, readSync, unlinkSync, writeSync } from 'node:fs'
import { asBuffer, readUint32, writeUint32 } from '../../primitives/bytes.js'
import { fullDisk, isFullDisk } from './lmdb/environment.js'
import type { Entry } from './readTable.js'

/** Memory of one run: some 300,000 slots, which are sorted in half a second. A load has up to eight of them. */
const runBytes = 32 * 2 ** 20
/** Memory of all runs while they are read. `readBytesMin` is the least of each: the size of one disk read. */
const mergeBytes = 128 * 2 ** 20
const readBytesMin = 16 * 2 ** 10
const readBytesMax = 512 * 2 ** 10
/** Length of the key (1 byte) and of the value (4 bytes). */
const headBytes = 5

export class SortedRuns {
  readonly #path: string
  readonly #runBytes: number
  #memory: Buffer
  #used = 0
  #places: number[] = []
  #file: number | undefined
  /** Ends of the runs in the file. */
  #ends: number[] = []

  /** `path`: a file that is made when it is needed, and removed at the end. */
  constructor(path: string, bytes = runBytes) {
    this.#path = path
    this.#runBytes = bytes
    this.#memory = Buffer.allocUnsafe(Math.min(bytes, 2 ** 16))
  }

  /** Copies key and value. Throws StoreError if the disk is full. */
  add(key: Uint8Array, value: Uint8Array): void {
    const length = headBytes + key.length + value.length
    if (this.#used + length > this.#runBytes && this.#used > 0) this.#spill()
    if (this.#used + length > this.#memory.length) this.#grow(this.#used + length)
    const memory = this.#memory
    const at = this.#used
    memory[at] = key.length
    writeUint32(memory, value.length, at + 1)
    memory.set(key, at + headBytes)
    memory.set(value, at + headBytes + key.length)
    this.#places.push(at)
    this.#used += length
  }

  /**
   * All records in key order; the order of equal keys is not defined. Bytes are valid until the next step. Add no
   * record meanwhile. At the end it is empty and can be filled again.
   */
  *inOrder(): Generator<Entry> {
    try {
      if (this.#file === undefined) {
        this.#sort()
        for (const place of this.#places) yield entryAt(this.#memory, place)
        return
      }
      if (this.#used > 0) this.#spill()
      // The runs need its memory now.
      this.#memory = Buffer.alloc(0)
      yield* merged(this.#runs(this.#file))
    } finally {
      this.close()
    }
  }

  /** Forgets all records and removes the file. */
  close(): void {
    if (this.#file !== undefined) {
      closeSync(this.#file)
      unlinkSync(this.#path)
    }
    this.#file = undefined
    this.#ends = []
    this.#places = []
    this.#used = 0
  }

  #grow(bytes: number): void {
    const memory = Buffer.allocUnsafe(Math.max(bytes, Math.min(this.#runBytes, 4 * this.#memory.length)))
    this.#memory.copy(memory, 0, 0, this.#used)
    this.#memory = memory
  }

  #sort(): void {
    const memory = this.#memory
    this.#places.sort((a, b) =>
      memory.compare(
        memory,
        b + headBytes,
        b + headBytes + (memory[b] as number),
        a + headBytes,
        a + headBytes + (memory[a] as number),
      ),
    )
  }

  #spill(): void {
    this.#sort()
    const sorted = Buffer.allocUnsafe(this.#used)
    let at = 0
    for (const place of this.#places) {
      at += this.#memory.copy(sorted, at, place, recordEnd(this.#memory, place))
    }
    try {
      this.#file ??= openSync(this.#path, 'w+', 0o600)
      const start = this.#ends.at(-1) ?? 0
      for (let done = 0; done < at; ) done += writeSync(this.#file, sorted, done, at - done, start + done)
      this.#ends.push(start + at)
    } catch (error) {
      throw isFullDisk(error) ? fullDisk(this.#path, false) : error
    }
    this.#places = []
    this.#used = 0
  }

  #runs(file: number): Run[] {
    const share = Math.floor(mergeBytes / this.#ends.length)
    const bytes = Math.max(readBytesMin, Math.min(readBytesMax, share))
    return this.#ends.map((end, index) => new Run(file, this.#ends[index - 1] ?? 0, end, bytes))
  }
}

/** One run in the file, and its current record. */
class Run {
  entry: Entry = { key: new Uint8Array(0), value: new Uint8Array(0) }
  readonly #file: number
  readonly #end: number
  #read: number
  #memory: Buffer
  #at = 0
  #filled = 0

  constructor(file: number, start: number, end: number, bytes: number) {
    this.#file = file
    this.#read = start
    this.#end = end
    this.#memory = Buffer.allocUnsafe(bytes)
  }

  /** Moves to the next record; false at the end. */
  next(): boolean {
    if (this.#at === this.#filled && this.#read === this.#end) return false
    if (this.#filled - this.#at < headBytes) this.#fill(headBytes)
    const length = recordEnd(this.#memory, this.#at) - this.#at
    if (this.#filled - this.#at < length) this.#fill(length)
    this.entry = entryAt(this.#memory, this.#at)
    this.#at += length
    return true
  }

  /**
   * Reads on, so that `bytes` bytes follow the current position. The previous record may be in use until the next step.
   */
  #fill(bytes: number): void {
    const memory = bytes > this.#memory.length ? Buffer.allocUnsafe(bytes) : this.#memory
    this.#memory.copy(memory, 0, this.#at, this.#filled)
    this.#filled -= this.#at
    this.#at = 0
    this.#memory = memory
    while (this.#filled < memory.length && this.#read < this.#end) {
      const most = Math.min(memory.length - this.#filled, this.#end - this.#read)
      const count = readSync(this.#file, memory, this.#filled, most, this.#read)
      if (count === 0) throw new Error('a file of sorted runs was cut short')
      this.#filled += count
      this.#read += count
    }
  }
}

/** Merges runs with a heap of their current records, the least on top. */
function* merged(runs: readonly Run[]): Generator<Entry> {
  const heap = runs.filter((run) => run.next())
  for (let at = (heap.length >> 1) - 1; at >= 0; at--) sink(heap, at)
  for (let run = heap[0]; run !== undefined; run = heap[0]) {
    yield run.entry
    if (!run.next()) {
      const last = heap.pop() as Run
      if (last !== run) heap[0] = last
    }
    sink(heap, 0)
  }
}

function sink(heap: Run[], from: number): void {
  const run = heap[from]
  if (run === undefined) return
  let at = from
  for (;;) {
    let child = 2 * at + 1
    if (child >= heap.length) break
    if (child + 1 < heap.length && isBefore(heap[child + 1] as Run, heap[child] as Run)) child++
    if (!isBefore(heap[child] as Run, run)) break
    heap[at] = heap[child] as Run
    at = child
  }
  heap[at] = run
}

function isBefore(a: Run, b: Run): boolean {
  return asBuffer(a.entry.key).compare(b.entry.key) < 0
}

function recordEnd(memory: Uint8Array, at: number): number {
  return at + headBytes + (memory[at] as number) + readUint32(memory, at + 1)
}

function entryAt(memory: Uint8Array, at: number): Entry {
  const valueAt = at + headBytes + (memory[at] as number)
  return {
    key: memory.subarray(at + headBytes, valueAt),
    value: memory.subarray(valueAt, recordEnd(memory, at)),
  }
}
