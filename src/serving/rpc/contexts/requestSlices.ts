/**
 * Cuts long work of requests into turns of the event loop, so that other requests are answered in between. All long
 * work of one turn shares a time limit (primitives/timeSlices.ts); the work itself decides where it may pause.
 */
import { FaultError } from '../../../primitives/faults.js'
import { type Task, TimeSlices } from '../../../primitives/timeSlices.js'
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

interface WaitingRequest extends Task {
  readonly keyId: string
  readonly bytes: number
  readonly msMax: number
  goOn(hasTurn: boolean): void
}

const slices = new TimeSlices<WaitingRequest>({
  goOn: (task, hasTurn) => task.goOn(hasTurn),
  flowOf: ({ keyId }) => keyId,
  bytesOf: ({ bytes }) => bytes + waitingBytes,
  bytesMax: waitingBytesMax,
  msMaxOf: ({ msMax }) => msMax,
})

type Around = <T>(piece: () => T) => T

/** The wrapper of the current piece of work; undefined for none. */
let present: Around | undefined

/** Runs `work` in `around`. Later pieces of {@link RequestSlices} that `work` makes also run in it. */
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
 * The turns of one request. A waiting piece of work runs directly in its turn, before other work, without a promise.
 */
export class RequestSlices {
  readonly #msMax: number
  readonly #context: RequestContext
  readonly #bytes: number
  readonly #around = present
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

  /**
   * Runs `work`, in a later turn if `mustWait`, and then ends the turns. Throws FaultError if the wait is refused or
   * the caller has left. Also throws the errors of `work`.
   */
  run<T>(work: () => T | Promise<T>, mustWait = this.isOver): T | Promise<T> {
    if (mustWait) return this.later(work).finally(() => this.end())
    let result: T | Promise<T> | undefined
    try {
      this.begin()
      result = this.#inside(work)
    } finally {
      if (!(result instanceof Promise)) this.end()
    }
    return result instanceof Promise ? result.finally(() => this.end()) : result
  }

  /** Runs `work` in a later turn. Rejects with FaultError if the wait is refused, or the caller has left. */
  later<T>(work: () => T | Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#wait((hasTurn) => {
        try {
          this.#check(hasTurn)
          resolve(this.#counted(this.#inside(work)))
        } catch (thrown) {
          reject(thrown)
        }
      })
    })
  }

  /**
   * Runs `piece` at once, and again until it returns a result, in as many turns as that takes. Returns no promise if it
   * never waits. Throws FaultError if a wait is refused, or the caller has left.
   */
  repeat<T>(piece: () => T | undefined): T | Promise<T> {
    return this.tryRepeat((hasTurn) => {
      this.#check(hasTurn)
      return piece()
    })
  }

  /**
   * Like {@link repeat}, but calls `piece` with false if the wait before it was refused, and with true if the caller
   * has left. If `piece` returns a promise, waits for it before the next piece.
   */
  tryRepeat<T>(piece: (hasTurn: boolean) => T | Promise<unknown> | undefined): T | Promise<T> {
    let first = this.#inside(() => this.#goOn(piece, true))
    if (first === undefined && !this.#admit()) first = this.#inside(() => this.#goOn(piece, false))
    if (first !== undefined && !(first instanceof Promise)) return first
    return new Promise((resolve, reject) => {
      const goOn = (hasTurn: boolean): void => {
        try {
          const result = this.#inside(() => this.#goOn(piece, hasTurn))
          if (result === undefined || result instanceof Promise) wait(result as Promise<unknown> | undefined)
          else resolve(this.#counted(result))
        } catch (thrown) {
          reject(thrown)
        }
      }
      const wait = (until: Promise<unknown> | undefined): void => {
        if (until === undefined) this.#wait(goOn)
        else until.then(() => (this.isOver ? this.#wait(goOn) : goOn(true)), reject)
      }
      wait(first as Promise<unknown> | undefined)
    })
  }

  /** Runs pieces until one returns a result or a promise, or the turn is over. */
  #goOn<T>(piece: (hasTurn: boolean) => T | undefined, hasTurn: boolean): T | undefined {
    this.begin()
    let result = piece(hasTurn)
    while (result === undefined && !this.isOver) result = piece(true)
    return result
  }

  /** Calls `goOn` in a later turn with true, or with false if too much work waits. */
  #wait(goOn: (hasTurn: boolean) => void): void {
    if (!this.#admit()) return goOn(false)
    const { keyId } = this.#context
    slices.wait({ keyId, bytes: this.#bytes, msMax: this.#msMax, goOn, place: undefined })
  }

  /** Takes the place of a waiting call, if there is one. */
  #admit(): boolean {
    this.#isAdmitted ||= this.#context.admit()
    return this.#isAdmitted
  }

  #check(hasTurn: boolean): void {
    if (!hasTurn) throw new FaultError({ kind: 'ServerBusy', retryAfterMs: 1000 })
    // The caller has left, so this fault is not sent.
    if (this.#context.isFinished) throw new FaultError({ kind: 'RequestTimedOut' })
  }

  /** Runs `work` in the wrapper in which these turns were made. */
  #inside<T>(work: () => T): T {
    return this.#around === undefined || this.#around === present ? work() : doAround(this.#around, work)
  }

  /** Counts the time that the bytes of a result will take in this turn. */
  #counted<T>(result: T): T {
    slices.spend(answerBytes(result) / sentBytesPerMs)
    return result
  }

  /** Call this when the work is over. */
  end(): void {
    if (this.#isAdmitted) this.#context.release()
    this.#isAdmitted = false
  }
}

/** Like {@link RequestSlices.run} for long work that cannot be cut. The turns end when the work waits for a job. */
export function inOneSlice<T>(turns: RequestSlices, work: () => T | Promise<T>): T | Promise<T> {
  if (turns.isOver) {
    return turns.run(() => {
      turns.end()
      return work()
    })
  }
  turns.begin()
  return work()
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
