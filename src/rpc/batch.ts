/**
 * Runs the calls of a batch and puts their answers together. Owns how many wait at a time, when a batch pauses and
 * when it runs no further call. Does not own what a call comes to (dispatch.ts).
 */
import type { Answer } from './answer.js'
import type { Remembered } from './answerMemo.js'
import { BatchAnswer } from './batchAnswer.js'
import { parseFault } from './bodyScan.js'
import type { Caller } from './caller.js'
import { Deadline } from './deadline.js'
import type { Call } from './envelope.js'
import type { RpcNetwork } from './method.js'
import { Failure, type Outcome, renderOutcome } from './outcome.js'
import type { RequestBasis } from './requestBasis.js'
import type { Steps, Turns } from './turns.js'
import { renderErrorAnswer } from './wireErrors.js'

/** A member of a request; `known` where its answer is remembered. */
export type Member = Call<Remembered>

/** Calls of one batch that wait for a job at the same time: enough to keep the pool busy, too few to fill its queue. */
const batchJobsMax = 8

const tooLarge = Failure.of({ kind: 'ResponseTooLarge' })
export const timedOut = Failure.of({ kind: 'RequestTimedOut' })
/** After a second most of what waits now is done: the pool's full queues hold about as much. */
export const busy = Failure.of({ kind: 'ServerBusy', retryAfterMs: 1000 })

/** The block that a call itself is pinned to, as it was written; undefined where it names none. */
export function pinOf(call: Member): unknown {
  return call.kind === 'call' ? call.at : undefined
}

/** Whether a call turned out to be no JSON; then its whole request is none. */
export function isParseError(outcome: Outcome): boolean {
  return outcome instanceof Failure && outcome.fault?.kind === 'ParseError'
}

export interface BatchRun<N extends RpcNetwork> {
  readonly calls: readonly Member[]
  readonly basis: RequestBasis<N>
  readonly caller: Caller
  readonly turns: Turns
  readonly limits: { readonly batchBytesMax: number; readonly requestMsMax: number }
  /** Begins a call. Never throws; the promise never rejects. */
  start(call: Member): Outcome | Promise<Outcome>
  /** What a thrown value that nothing on the way here expected comes to. */
  fail(thrown: unknown): Failure
}

/**
 * The body of a batch's answer; yields where it has to wait. A call is begun as soon as fewer than
 * {@link batchJobsMax} wait for a job, so that a long one holds up nothing but the end of the batch.
 */
export function* runBatch<N extends RpcNetwork>(run: BatchRun<N>): Steps<Answer['body']> {
  const { calls, caller, turns, limits } = run
  const answer = new BatchAnswer(calls.length, limits.batchBytesMax)
  const waiting = new Set<Promise<void>>()
  let deadline: Deadline<Outcome> | undefined
  let isRefused = false
  /** A call has turned out to be no JSON, and with it the batch. */
  let isBroken = false
  for (const [index, call] of calls.entries()) {
    // What is remembered, refused or no call takes no time.
    if (index > 0 && call.kind === 'call' && !isRefused && turns.isOver) {
      deadline ??= new Deadline(limits.requestMsMax, timedOut)
      isRefused = !(yield* turns.tryPause())
    }
    // A batch whose client went away runs no further calls; what it comes to is not sent.
    if (caller.isGone || isBroken) break
    let outcome: Outcome | Promise<Outcome>
    if (answer.isFull) outcome = tooLarge
    else if (deadline?.hasPassed) outcome = timedOut
    else outcome = isRefused ? busy : run.start(call)
    if (outcome instanceof Promise) {
      deadline ??= new Deadline(limits.requestMsMax, timedOut)
      const done = deadline.race(outcome).then((settled) => {
        waiting.delete(done)
        isBroken ||= isParseError(settled)
        putOutcome(run, answer, index, settled)
      })
      waiting.add(done)
      if (waiting.size === batchJobsMax) {
        yield Promise.race(waiting)
        turns.begin()
      }
    } else putOutcome(run, answer, index, outcome)
  }
  if (waiting.size > 0) yield Promise.all(waiting)
  deadline?.clear()
  if (isBroken) throw parseFault()
  return finishBatch(answer, calls)
}

/** Each call of a batch answered with what `outcomeOf` says. */
export function answerAll(
  calls: readonly Member[],
  bytesMax: number,
  outcomeOf: (call: Member) => Failure,
): Answer['body'] {
  const answer = new BatchAnswer(calls.length, bytesMax)
  for (const [index, call] of calls.entries()) {
    if (call.id !== undefined) answer.putError(index, renderErrorAnswer(call.id, outcomeOf(call).error))
  }
  return finishBatch(answer, calls)
}

/** A notification, whose id is undefined, gets no answer whatever came of it. Never throws. */
function putOutcome<N extends RpcNetwork>(
  { calls, basis, fail }: BatchRun<N>,
  answer: BatchAnswer,
  index: number,
  outcome: Outcome,
): void {
  const call = calls[index] as Member
  if (call.id === undefined) {
    if (!(outcome instanceof Failure)) answer.countUnsent(index, outcome.length)
    return
  }
  const at = basis.hashOf(pinOf(call))
  if (outcome instanceof Failure) return answer.putError(index, renderErrorAnswer(call.id, outcome.error, at))
  try {
    answer.putResult(index, renderOutcome(call.id, at, outcome))
  } catch (thrown) {
    answer.putError(index, renderErrorAnswer(call.id, fail(thrown).error, at))
  }
}

function finishBatch(answer: BatchAnswer, calls: readonly Member[]): Answer['body'] {
  return answer.finish((index) => renderErrorAnswer(calls[index]?.id ?? 'null', tooLarge.error))
}
