/**
 * Long work of one request, cut into turns of the event loop so that others are answered in between. Owns how long a
 * turn may be and who comes next; what is worth a pause is for the work to say.
 */
import type { Caller } from './caller.js'

/**
 * From here on work pauses. A batch of 1,000 slots is done before; a pause costs some 20 µs, and waiting for one such
 * turn is not to be noticed beside the millisecond in which usual calls are answered.
 */
export const turnMsDefault = 4

/** Bytes of requests that are read between two looks at the clock, which cost as much as 50 bytes. */
const readBytesMax = 16 * 1024

/** Work that yields a promise, which never rejects, where it has to wait, and returns what it comes to. */
export type Steps<T> = Generator<Promise<unknown>, T>

/** The turns of one request. */
export class Turns {
  readonly #msMax: number
  readonly #caller: Caller
  #beganMs = performance.now()
  #readBytes = 0
  #isAdmitted = false

  /** Each takes `msMax` milliseconds, and what its last piece of work takes beyond. */
  constructor(msMax: number, caller: Caller) {
    this.#msMax = msMax
    this.#caller = caller
  }

  get isOver(): boolean {
    return performance.now() - this.#beganMs >= this.#msMax
  }

  /** Whether the turn is over, for work that takes little for each of so many more bytes. */
  isOverAfter(bytes: number): boolean {
    this.#readBytes += bytes
    if (this.#readBytes < readBytesMax) return false
    this.#readBytes = 0
    return this.isOver
  }

  /** To be asked before {@link next}: false where the caller has too much waiting already. */
  admit(): boolean {
    this.#isAdmitted ||= this.#caller.admit()
    return this.#isAdmitted
  }

  /** Resolves in another turn, which is this work's. */
  async next(): Promise<void> {
    await laterTurn()
    this.begin()
  }

  /** A turn begins, because work has waited for something else. */
  begin(): void {
    this.#beganMs = performance.now()
  }

  /** To be called when the work is over. */
  end(): void {
    if (this.#isAdmitted) this.#caller.release()
  }
}

/** What waits for its turn, oldest first. */
const waiting: (() => void)[] = []

/** One piece of work goes on in each turn of the event loop, however many wait; in between come sockets. */
function laterTurn(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve)
    if (waiting.length === 1) setImmediate(beginNext)
  })
}

function beginNext(): void {
  waiting.shift()?.()
  if (waiting.length > 0) setImmediate(beginNext)
}

/** Does the work: at once as far as it has to wait for nothing, and then without a promise. Throws what it throws. */
export function doSteps<T>(steps: Steps<T>): T | Promise<Awaited<T>> {
  const first = steps.next()
  return first.done ? first.value : goOn(steps, first.value)
}

async function goOn<T>(steps: Steps<T>, first: Promise<unknown>): Promise<Awaited<T>> {
  for (let wait = first; ; ) {
    await wait
    const step = steps.next()
    if (step.done) return await step.value
    wait = step.value
  }
}
