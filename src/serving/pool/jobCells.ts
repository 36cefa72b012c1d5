/**
 * Shared memory of the edge and running jobs, with one cell per job that can run at the same time. A cell says whether
 * the job should stop, and whether its thread may be ended now. It also counts the parts of the result that were taken.
 *
 * The lock is needed because ending a thread inside lmdb's native code can abort the whole process. That happened once
 * in 200 threads that were ended during range reads ("FATAL ERROR: Error::ThrowAsJavaScriptException"). So a thread
 * locks its cell around such calls, and the edge ends it only after taking the lock itself.
 *
 * Serial numbers identify jobs, so that a signal for one job cannot affect the next one in its cell.
 */

/** Words of a cell: the serial number of the job that should stop; the lock; the parts of its result that were taken. */
const wordsPerCell = 3

/** Values of the lock: `serial` while the job may be ended, `-serial` while not, `sealed` once the edge has it. */
const sealed = 0

/** The edge's side. */
export class JobSignals {
  /** Passed to every thread at its start. */
  readonly shared: SharedArrayBuffer
  readonly #words: Int32Array
  readonly #free: number[]
  #serial = 0

  constructor(cells: number) {
    this.shared = new SharedArrayBuffer(cells * wordsPerCell * Int32Array.BYTES_PER_ELEMENT)
    this.#words = new Int32Array(this.shared)
    this.#free = Array.from({ length: cells }, (_, cell) => cell)
  }

  /**
   * A locked cell and a serial number for a job about to run. `partsTaken` counts the parts taken in its earlier runs.
   * Throws RangeError when no cell is free.
   */
  take(partsTaken = 0): { readonly cell: number; readonly serial: number } {
    const cell = this.#free.pop()
    if (cell === undefined) throw new RangeError('more jobs run than there are cells')
    // 31 bits, and never zero.
    this.#serial = (this.#serial % 0x7fffffff) + 1
    Atomics.store(this.#words, cell * wordsPerCell + 1, -this.#serial)
    Atomics.store(this.#words, cell * wordsPerCell + 2, partsTaken)
    return { cell, serial: this.#serial }
  }

  release(cell: number): void {
    this.#free.push(cell)
  }

  stop(cell: number, serial: number): void {
    Atomics.store(this.#words, cell * wordsPerCell, serial)
    // The job may be waiting for a part to be taken.
    Atomics.notify(this.#words, cell * wordsPerCell + 2)
  }

  /** Reports to the job that one more part of its result was taken. */
  takePart(cell: number): void {
    Atomics.add(this.#words, cell * wordsPerCell + 2, 1)
    Atomics.notify(this.#words, cell * wordsPerCell + 2)
  }

  /** Takes the lock for good; false while the job has it. */
  seal(cell: number, serial: number): boolean {
    return Atomics.compareExchange(this.#words, cell * wordsPerCell + 1, serial, sealed) === serial
  }
}

/** The thread's side of the cell of the job that it runs. */
export class JobSignal {
  readonly #words: Int32Array
  #index = 0
  #serial = 0
  #isLocked = false

  constructor(shared: SharedArrayBuffer) {
    this.#words = new Int32Array(shared)
  }

  /** Begins a job, with the lock taken. */
  begin(cell: number, serial: number): void {
    this.#index = cell * wordsPerCell
    this.#serial = serial
    this.#isLocked = true
  }

  /** Whether the edge has asked the job to stop. */
  get isStopped(): boolean {
    return Atomics.load(this.#words, this.#index) === this.#serial
  }

  /** Waits until `count` parts are taken; false if the job should stop first, or if `waitMsMax` passes without any. */
  awaitTaken(count: number, waitMsMax: number): boolean {
    for (;;) {
      const taken = Atomics.load(this.#words, this.#index + 2)
      if (taken >= count) return true
      if (this.isStopped) return false
      if (Atomics.wait(this.#words, this.#index + 2, taken, waitMsMax) === 'timed-out') return false
    }
  }

  /** Takes the lock. Never returns if the edge has it, because the thread is about to be ended. */
  lock(): void {
    const found = Atomics.compareExchange(this.#words, this.#index + 1, this.#serial, -this.#serial)
    if (found !== this.#serial) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
    this.#isLocked = true
  }

  /** Like {@link JobSignals.seal}, but for a job that runs in a thread which this one started. */
  seal(): boolean {
    return Atomics.compareExchange(this.#words, this.#index + 1, this.#serial, sealed) === this.#serial
  }

  unlock(): void {
    this.#isLocked = false
    Atomics.store(this.#words, this.#index + 1, this.#serial)
  }

  /** Runs `call` with the lock taken; the caller may have it already. */
  locked<R>(call: () => R): R {
    if (this.#isLocked) return call()
    this.lock()
    try {
      return call()
    } finally {
      this.unlock()
    }
  }
}
