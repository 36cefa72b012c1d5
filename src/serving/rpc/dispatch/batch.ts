/**
 * Runs the calls of a batch and joins their answers. Owns how many calls wait at the same time, when a batch pauses,
 * and when it starts no further call. Does not own the running of a call (callRunner.ts).
 */
import type { AnswerBody } from '../answers/answer.js'
import type { AskedCall, CachedAnswer } from '../answers/answerMemo.js'
import { Failure, type Outcome, renderOutcome } from '../answers/outcome.js'
import { renderError, renderErrorAnswer } from '../answers/wireErrors.js'
import { Deadline } from '../contexts/deadline.js'
import type { RequestContext } from '../contexts/requestContext.js'
import type { RequestSlices } from '../contexts/requestSlices.js'
import type { RpcNetwork } from '../method.js'
import type { Call } from '../reading/envelope.js'
import type { RpcRequest } from './rpcRequest.js'

/**
 * A result that is hardly longer than its error is kept. Such short ids and hashes, of a subscription for example, show
 * a client the effects of its calls. In 1,000 calls they are a hundredth of a batch's answer.
 */
const keptBytesMax = 256

/** Collects the answers of a batch, in any order, and limits their size. */
export class BatchAnswer {
  readonly #bytesMax: number
  /** Call index → answer; undefined for a notification and for an answer that is not ready. */
  readonly #bodies: (AnswerBody | undefined)[]
  /** Bytes of each result, zero for an error. Results of notifications count although they are not sent. */
  readonly #resultBytes: Uint32Array
  #bytes = 0

  constructor(calls: number, bytesMax: number) {
    this.#bodies = new Array(calls).fill(undefined)
    this.#resultBytes = new Uint32Array(calls)
    this.#bytesMax = bytesMax
  }

  /** Whether the results exceed the limit, so that no further call needs to run. */
  get isFull(): boolean {
    return this.#bytes > this.#bytesMax
  }

  putResult(index: number, body: AnswerBody): void {
    const bytes = bodyBytes(body) + 1
    this.#bodies[index] = body
    this.#resultBytes[index] = bytes
    this.#bytes += bytes
  }

  /** Counts the result of a notification, which takes memory and time like any other result. */
  countUnsent(index: number, bytes: number): void {
    this.#resultBytes[index] = bytes
    this.#bytes += bytes
  }

  /** Adds an error answer. Every call gets an answer, so errors, of about a hundred bytes each, always fit. */
  putError(index: number, body: AnswerBody): void {
    this.#bodies[index] = body
    this.#bytes += bodyBytes(body) + 1
  }

  /**
   * The body: an array of the answers in order, in as few pieces as possible; empty if there are no answers. From the
   * first result that does not fit, `renderTooLarge` replaces each result that is clearly longer than its error.
   */
  finish(renderTooLarge: (index: number) => string): AnswerBody {
    const isFull = this.isFull
    const pieces: (string | Uint8Array)[] = []
    let text = ''
    let bytes = 0
    let isOver = false
    for (const [index, body] of this.#bodies.entries()) {
      if (body === undefined) {
        bytes += this.#resultBytes[index] as number
        continue
      }
      text += text === '' && pieces.length === 0 ? '[' : ','
      let fitting = body
      if (isFull) {
        const resultBytes = this.#resultBytes[index] as number
        isOver ||= bytes + resultBytes > this.#bytesMax
        if (isOver && resultBytes > 0) fitting = this.#replaced(index, body, renderTooLarge(index))
        bytes += bodyBytes(fitting) + 1
      }
      if (typeof fitting === 'string') text += fitting
      else {
        for (const piece of fitting) {
          if (typeof piece === 'string') text += piece
          else {
            pieces.push(text, piece)
            text = ''
          }
        }
      }
    }
    if (pieces.length === 0) return text === '' ? '' : `${text}]`
    pieces.push(`${text}]`)
    return pieces
  }

  #replaced(index: number, body: AnswerBody, error: string): AnswerBody {
    const saved = (this.#resultBytes[index] as number) - Buffer.byteLength(error)
    return saved > keptBytesMax ? error : body
  }
}

function bodyBytes(body: AnswerBody): number {
  if (typeof body === 'string') return Buffer.byteLength(body)
  let bytes = 0
  for (const piece of body) bytes += typeof piece === 'string' ? Buffer.byteLength(piece) : piece.length
  return bytes
}

/** A member of a request; `known` if its answer is stored. */
export type Member = Call<CachedAnswer, AskedCall>

/**
 * Maximum calls of one batch that wait for a job at the same time. This keeps the pool busy without filling its queue.
 */
const batchJobsMax = 8

const tooLarge = Failure.of({ kind: 'ResponseTooLarge' })
export const timedOut = Failure.of({ kind: 'RequestTimedOut' })
/** The pool's full queues contain about a second of work, so after a second there is room. */
const busy = Failure.of({ kind: 'ServerBusy', retryAfterMs: 1000 })

/**
 * Takes a place for a call that may wait; the caller frees it with `release`. If there is no place, charges the minimum
 * and returns the failure.
 */
export function noRoom(context: RequestContext): Failure | undefined {
  return context.admit() ? undefined : busy.chargedTo(context)
}

/** The call's own member `at`, as written; undefined if it has none. */
export function pinOfCall(call: Member): unknown {
  return call.kind === 'call' ? call.at : undefined
}

interface BatchRun<N extends RpcNetwork> {
  readonly calls: readonly Member[]
  readonly request: RpcRequest<N>
  readonly turns: RequestSlices
  readonly limits: { readonly batchBytesMax: number; readonly requestMsMax: number }
  /** Starts a call. Never throws; the promise never rejects. */
  start(call: Member): Outcome | Promise<Outcome>
  /** Charges and counts a call that is not started because of `why`. */
  refuse(call: Member, why: Failure): Failure
  /** The failure for an exception that nothing else caught. */
  fail(thrown: unknown): Failure
}

/**
 * The body of a batch's answer. A call starts once fewer than {@link batchJobsMax} calls wait for a job, so a long call
 * delays only the end of the batch.
 */
export function runBatch<N extends RpcNetwork>(run: BatchRun<N>): AnswerBody | Promise<AnswerBody> {
  const { calls, request, turns, limits } = run
  const answer = new BatchAnswer(calls.length, limits.batchBytesMax)
  const waiting = new Set<Promise<void>>()
  let deadline: Deadline<Outcome> | undefined
  let isRefused = false
  let next = 0
  const untilDeadline = () => {
    deadline ??= new Deadline(limits.requestMsMax, timedOut)
    return deadline
  }
  const start = (call: Member): Outcome | Promise<Outcome> => {
    const unbegun = answer.isFull ? tooLarge : deadline?.hasPassed ? timedOut : isRefused ? busy : undefined
    return unbegun === undefined ? run.start(call) : run.refuse(call, unbegun)
  }
  const awaitOutcome = (index: number, outcome: Promise<Outcome>) => {
    const done = untilDeadline()
      .race(outcome)
      .then((settled) => {
        waiting.delete(done)
        putOutcome(run, answer, index, settled)
      })
    waiting.add(done)
  }
  return turns.tryRepeat((hasTurn): AnswerBody | Promise<unknown> | undefined => {
    isRefused ||= !hasTurn
    // A batch whose client has left runs no further calls; its answer is not sent.
    while (next < calls.length && !request.context.isFinished) {
      const index = next++
      const outcome = start(calls[index] as Member)
      if (outcome instanceof Promise) awaitOutcome(index, outcome)
      else putOutcome(run, answer, index, outcome)
      if (waiting.size === batchJobsMax) return Promise.race(waiting)
      // Stored answers, refusals and invalid calls take no time.
      if (calls[next]?.kind === 'call' && !isRefused && turns.isOver) {
        untilDeadline()
        return undefined
      }
    }
    if (waiting.size > 0) return Promise.all(waiting)
    deadline?.clear()
    return finishBatch(answer, calls)
  })
}

/** The answer to a batch; `outcomeOf` gives the outcome of each call. */
export function answerAll(
  calls: readonly Member[],
  bytesMax: number,
  outcomeOf: (call: Member) => Failure,
): AnswerBody {
  const answer = new BatchAnswer(calls.length, bytesMax)
  for (const [index, call] of calls.entries()) {
    if (call.id !== undefined) answer.putError(index, renderErrorAnswer(call.id, outcomeOf(call).error))
  }
  return finishBatch(answer, calls)
}

/** Adds the outcome of a call to the answer. A notification, whose id is undefined, gets none. Never throws. */
function putOutcome<N extends RpcNetwork>(
  { calls, request, fail }: BatchRun<N>,
  answer: BatchAnswer,
  index: number,
  outcome: Outcome,
): void {
  const call = calls[index] as Member
  if (call.id === undefined) {
    if (!(outcome instanceof Failure)) answer.countUnsent(index, outcome.length)
    return
  }
  const at = request.hashAt(pinOfCall(call))
  if (outcome instanceof Failure) return answer.putError(index, renderError(call.id, outcome.error, at))
  try {
    answer.putResult(index, renderOutcome(call.id, at, outcome))
  } catch (thrown) {
    answer.putError(index, renderErrorAnswer(call.id, fail(thrown).error, at))
  }
}

function finishBatch(answer: BatchAnswer, calls: readonly Member[]): AnswerBody {
  return answer.finish((index) => renderErrorAnswer(calls[index]?.id ?? 'null', tooLarge.error))
}
