/**
 * Long work of requests, cut into turns of the event loop so that others are answered in between. Owns how long a
 * turn may be, which all work of one turn of the loop shares; who comes next is decided in turnQueue.ts, and what is
 * worth a pause is for the work to say.
 */
import { FaultError } from '../primitives/faults.js'
import type { Caller } from './caller.js'
import { TurnQueue } from './turnQueue.js'

/**
 * From here on work pauses. A batch of 1,000 slots is done before; a pause costs some 20 µs, and waiting for one such
 * turn is not to be noticed beside the millisecond in which usual calls are answered.
 */
export const turnMsDefault = 4

/** Bytes of requests that are read between two looks at the clock, which cost as much as 50 bytes. */
const readBytesMax = 16 * 1024

/** Requests that wait for a turn, with their bodies: a dozen of the largest. What they hold is read in half a second. */
const waitingBytesMax = 64 * 2 ** 20

const queue = new TurnQueue(waitingBytesMax)
/** When the first long work of this turn of the event loop began; undefined where there was none. */
let beganMs: number | undefined
let isEndDue = false

/** Calls `goOn` in another turn of the event loop with true, or with false where too much waits. */
type TurnWait = (goOn: (hasTurn: boolean) => void) => void

/** Work that yields what it has to wait for, and returns what it comes to. It is passed whether it got its turn. */
export type Steps<T> = Generator<Promise<unknown> | TurnWait, T, boolean>

/** The turns of one request. */
export class Turns {
  readonly #msMax: number
  readonly #caller: Caller
  readonly #bytes: number
  #readBytes = 0
  #isAdmitted = false

  /** Each takes `msMax` milliseconds, and what its last piece of work takes beyond. `bytes` wait with the request. */
  constructor(msMax: number, caller: Caller, bytes: number) {
    this.#msMax = msMax
    this.#caller = caller
    this.#bytes = bytes
  }

  /** Work goes on, so that the turn begins, where none has begun. */
  begin(): void {
    beginTurn()
  }

  get isOver(): boolean {
    return isTurnOver(this.#msMax)
  }

  /** Whether the turn is over, for work that takes little for each of so many more bytes. */
  isOverAfter(bytes: number): boolean {
    this.#readBytes += bytes
    if (this.#readBytes < readBytesMax) return false
    this.#readBytes = 0
    return this.isOver
  }

  /** Whether the turn is over, or others wait for theirs, whom long work is not to overtake. */
  get isOverOrAwaited(): boolean {
    return this.isOver || !queue.isEmpty
  }

  /** Waits for another turn; comes to false where that is refused. `keep` is called before the wait begins. */
  *tryPause(keep?: () => void): Steps<boolean> {
    this.#isAdmitted ||= this.#caller.admit()
    if (!this.#isAdmitted) return false
    return yield (goOn) => {
      if (queue.add({ keyId: this.#caller.keyId, bytes: this.#bytes, msMax: this.#msMax, goOn })) keep?.()
      endTurnLater()
    }
  }

  /** As {@link tryPause}. Throws FaultError where the wait is refused, or nobody waits for the request any more. */
  *pause(keep?: () => void): Steps<void> {
    if (!(yield* this.tryPause(keep))) throw new FaultError({ kind: 'ServerBusy', retryAfterMs: 1000 })
    // Nobody waits for what this throws.
    if (this.#caller.isGone) throw new FaultError({ kind: 'RequestTimedOut' })
  }

  /** To be called when the work is over. */
  end(): void {
    if (this.#isAdmitted) this.#caller.release()
  }
}

function beginTurn(): void {
  if (beganMs !== undefined) return
  beganMs = performance.now()
  endTurnLater()
}

/** Whether long work has taken so long of this turn. */
export function isTurnOver(msMax: number): boolean {
  return beganMs !== undefined && performance.now() - beganMs >= msMax
}

function endTurnLater(): void {
  if (isEndDue) return
  isEndDue = true
  setImmediate(endTurn)
}

/** What has been waiting goes on once the sockets are served, as much as fits into a turn, and one piece at least. */
function endTurn(): void {
  isEndDue = false
  beganMs = undefined
  for (let work = queue.next; work !== undefined && !isTurnOver(work.msMax); work = queue.next) {
    beginTurn()
    queue.take()
    work.goOn(true)
  }
  beganMs = undefined
  if (!queue.isEmpty) endTurnLater()
}

/** Does the work: at once as far as it has to wait for nothing, and then without a promise. Throws what it throws. */
export function doSteps<T>(steps: Steps<T>): T | Promise<Awaited<T>> {
  const first = steps.next(true)
  if (first.done) return first.value
  return new Promise((resolve, reject) => {
    const goOn = (next: () => IteratorResult<Promise<unknown> | TurnWait, T>): void => {
      try {
        const step = next()
        if (step.done) resolve(step.value as Awaited<T>)
        else wait(step.value)
      } catch (thrown) {
        reject(thrown)
      }
    }
    const wait = (until: Promise<unknown> | TurnWait): void => {
      if (!(until instanceof Promise)) until((hasTurn) => goOn(() => steps.next(hasTurn)))
      else {
        until.then(
          () => goOn(() => steps.next(true)),
          (thrown) => goOn(() => steps.throw(thrown)),
        )
      }
    }
    wait(first.value)
  })
}

/** Does work that is long and cannot be cut: at once, or in a later turn. Throws FaultError where it may not wait. */
export function inOneTurn<T>(turns: Turns, work: () => T | Promise<T>): T | Promise<Awaited<T>> {
  return doSteps(workInOneTurn(turns, work)) as T | Promise<Awaited<T>>
}

function* workInOneTurn<T>(turns: Turns, work: () => T): Steps<T> {
  try {
    if (turns.isOver) yield* turns.pause()
    turns.begin()
    return work()
  } finally {
    turns.end()
  }
}
