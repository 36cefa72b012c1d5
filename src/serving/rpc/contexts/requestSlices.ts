/**
 * Cuts long work of requests into turns of the event loop, so that other requests are answered in between. All long
 * work of one turn shares a time limit (primitives/timeSlices.ts); the work itself decides where it may pause.
 */
import { FaultError } from '../../../primitives/faults.js'
import { TimeSlices, type Work } from '../../../primitives/timeSlices.js'
import type { RequestContext } from './requestContext.js'

/**
 * Milliseconds of a turn after which long work pauses. A batch of 1,000 slots needs no pause; other calls can wait a
 * few milliseconds.
 */
export const turnMsDefault = 4

/** Bytes of requests read between two readings of the clock, each of which takes as long as 50 bytes. */
const readBytesMax = 16 * 1024

/** Memory of requests that wait for a turn, with their bodies: a dozen of the largest bodies, read in half a second. */
const waitingBytesMax = 64 * 2 ** 20
/** Memory counted for a request in addition to its body: 64 Ki requests without a body may wait. */
const waitingBytes = 1_024

/** Calls `goOn` in a later turn with true, or with false if too much work waits. */
type TurnWait = (goOn: (hasTurn: boolean) => void) => void

/**
 * Work as a generator: yields the event that it waits for, receives whether it got its turn, and returns its result.
 */
export type SlicedWork<T> = Generator<Promise<unknown> | TurnWait, T, boolean>

interface WaitingRequest extends Work {
  readonly keyId: string
  readonly bytes: number
  readonly msMax: number
  goOn(hasTurn: boolean): void
}

const slices = new TimeSlices<WaitingRequest>({
  goOn: (work, hasTurn) => work.goOn(hasTurn),
  flowOf: ({ keyId }) => keyId,
  bytesOf: ({ bytes }) => bytes + waitingBytes,
  bytesMax: waitingBytesMax,
  msMaxOf: ({ msMax }) => msMax,
})

export class RequestSlices {
  readonly #msMax: number
  readonly #context: RequestContext
  readonly #bytes: number
  #readBytes = 0
  #isAdmitted = false

  /**
   * A turn takes `msMax` milliseconds plus the rest of its last piece of work. `bytes` is the memory that the request
   * keeps while it waits.
   */
  constructor(msMax: number, context: RequestContext, bytes: number) {
    this.#msMax = msMax
    this.#context = context
    this.#bytes = bytes
  }

  /** Begins a turn, if none has begun. */
  begin(): void {
    slices.begin()
  }

  get isOver(): boolean {
    return slices.isOver(this.#msMax)
  }

  /** Whether the turn is over, for fast work: reads the clock only after {@link readBytesMax} further bytes. */
  isOverAfter(bytes: number): boolean {
    this.#readBytes += bytes
    if (this.#readBytes < readBytesMax) return false
    this.#readBytes = 0
    return this.isOver
  }

  /** Whether the turn is over, or other work waits that long work must not overtake. */
  get isOverOrAwaited(): boolean {
    return this.isOver || !slices.isEmpty
  }

  /** Waits for another turn; false if the wait is refused. `keep` is called before the wait begins. */
  *tryPause(keep?: () => void): SlicedWork<boolean> {
    this.#isAdmitted ||= this.#context.admit()
    if (!this.#isAdmitted) return false
    return yield (goOn) => {
      const { keyId } = this.#context
      const request = { keyId, bytes: this.#bytes, msMax: this.#msMax, goOn, place: undefined }
      if (slices.wait(request)) keep?.()
    }
  }

  /** As {@link tryPause}, but throws FaultError if the wait is refused, or the caller has left. */
  *pause(keep?: () => void): SlicedWork<void> {
    if (!(yield* this.tryPause(keep))) throw new FaultError({ kind: 'ServerBusy', retryAfterMs: 1000 })
    // The caller has left, so nobody sees this fault.
    if (this.#context.isFinished) throw new FaultError({ kind: 'RequestTimedOut' })
  }

  /** Call this when the work is over. */
  end(): void {
    if (this.#isAdmitted) this.#context.release()
  }
}

/** Shorter work on one call is not counted: beginning and ending a turn would take a tenth of its time. */
const shortMsMax = 0.05

/** Begins a turn, if none has begun, after work on a call that is passed on or was not short. */
export function countForSlice(startedAtMs: number, isRelayed: boolean): void {
  if (isRelayed || performance.now() - startedAtMs > shortMsMax) slices.begin()
}

/** Whether long work has taken `msMax` of this turn. */
export function isSliceOver(msMax: number): boolean {
  return slices.isOver(msMax)
}

type Around = <T>(piece: () => T) => T

/** The wrapper of the current piece of work; undefined for none. */
let present: Around | undefined

/** Does `work` in `around`, and also each later piece of {@link doSliced} that begins in it. */
export function doAround<T>(around: Around, work: () => T): T {
  const before = present
  present = around
  try {
    return around(work)
  } finally {
    present = before
  }
}

/**
 * Bytes of answers that count as one millisecond of a turn. Answers of work that waited are sent once the turn is over.
 * Stored ones are large for little work: 3 MB take about 10 ms to copy and to send.
 */
const sentBytesPerMs = 256 * 1024

/** Bytes of a result, or of an answer. */
function answerBytes(value: unknown): number {
  if (typeof value === 'string' || value instanceof Uint8Array) return value.length
  if (Array.isArray(value)) return value.reduce((sum, part) => sum + answerBytes(part), 0)
  const isAnswer = typeof value === 'object' && value !== null && 'body' in value
  return isAnswer ? answerBytes(value.body) : 0
}

/** A shorter answer is not counted: 32 KiB take as long as {@link shortMsMax}. */
const longBytesMin = 32 * 1024

/** Counts the time that a long result took, and will take to be sent, after work that did not wait. */
export function countLongAnswer(result: string | Uint8Array): void {
  if (result.length < longBytesMin) return
  slices.begin()
  slices.spend(result.length / sentBytesPerMs)
}

/** Does the work; without a promise if it never has to wait. Throws what it throws. */
export function doSliced<T>(steps: SlicedWork<T>): T | Promise<Awaited<T>> {
  const around = present
  const first = steps.next(true)
  if (first.done) return first.value
  return new Promise((resolve, reject) => {
    const goOn = (next: () => IteratorResult<Promise<unknown> | TurnWait, T>): void => {
      try {
        const step = around === undefined ? next() : doAround(around, next)
        if (step.done) {
          slices.spend(answerBytes(step.value) / sentBytesPerMs)
          resolve(step.value as Awaited<T>)
        } else wait(step.value)
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

/** Does long work that cannot be cut: at once, or in a later turn. Throws FaultError if it may not wait. */
export function inOneSlice<T>(turns: RequestSlices, work: () => T | Promise<T>): T | Promise<Awaited<T>> {
  return doSliced(workInOneTurn(turns, work)) as T | Promise<Awaited<T>>
}

function* workInOneTurn<T>(turns: RequestSlices, work: () => T): SlicedWork<T> {
  try {
    if (turns.isOver) yield* turns.pause()
    turns.begin()
    return work()
  } finally {
    turns.end()
  }
}
