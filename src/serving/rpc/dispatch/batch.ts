/**
 * Runs the calls of a batch and joins their answers. Owns how many wait at the same time, when a batch pauses, and
 * when it runs no further call. Does not own the running of a call (dispatch.ts).
 */
import type { Answer } from '../answers/answer.js'
import type { AskedCall, CachedAnswer } from '../answers/answerMemo.js'
import { BatchAnswer } from '../answers/batchAnswer.js'
import { Failure, type Outcome, renderOutcome } from '../answers/outcome.js'
import { renderErrorAnswer } from '../answers/wireErrors.js'
import { Deadline } from '../contexts/deadline.js'
import { unpaid } from '../contexts/payment.js'
import { unitsMin } from '../contexts/price.js'
import type { RequestContext } from '../contexts/requestContext.js'
import type { RequestSlices, SlicedWork } from '../contexts/requestSlices.js'
import type { RpcNetwork } from '../method.js'
import { parseFault } from '../reading/bodyScan.js'
import type { Call } from '../reading/envelope.js'
import type { RequestBasis } from './requestBasis.js'

/** A member of a request; `known` where its answer is stored. */
export type Member = Call<CachedAnswer, AskedCall>

/** Calls of one batch that wait for a job at the same time: enough to keep the pool busy, too few to fill its queue. */
const batchJobsMax = 8

const tooLarge = Failure.of({ kind: 'ResponseTooLarge' })
export const timedOut = Failure.of({ kind: 'RequestTimedOut' })
/** Full queues of the pool hold about a second of work, so after a second there is room. */
const busy = Failure.of({ kind: 'ServerBusy', retryAfterMs: 1000 })

/** Takes a place for a call that may wait, for `release`; the failure of one that finds none, which is charged as refused. */
export function noRoom(context: RequestContext): Failure | undefined {
  return context.admit() ? undefined : (unpaid(context, unitsMin) ?? busy)
}

/** The call's own member `at`, as written; undefined where it has none. */
export function pinOfCall(call: Member): unknown {
  return call.kind === 'call' ? call.at : undefined
}

/** Whether a call turned out not to be JSON, so that its whole request is not. */
export function isParseError(outcome: unknown): boolean {
  return outcome instanceof Failure && outcome.fault?.kind === 'ParseError'
}

interface BatchRun<N extends RpcNetwork> {
  readonly calls: readonly Member[]
  readonly basis: RequestBasis<N>
  readonly context: RequestContext
  readonly turns: RequestSlices
  readonly limits: { readonly batchBytesMax: number; readonly requestMsMax: number }
  /** Begins a call. Never throws; the promise never rejects. */
  start(call: Member): Outcome | Promise<Outcome>
  /** Charges and counts a call that is not begun for `why`. */
  refuse(call: Member, why: Failure): Failure
  /** The failure for an exception that nothing else caught. */
  fail(thrown: unknown): Failure
}

/**
 * The body of a batch's answer; yields where it must wait. A call begins as soon as fewer than {@link batchJobsMax}
 * calls wait for a job, so a long call delays only the end of the batch.
 */
export function* runBatch<N extends RpcNetwork>(run: BatchRun<N>): SlicedWork<Answer['body']> {
  const { calls, context, turns, limits } = run
  const answer = new BatchAnswer(calls.length, limits.batchBytesMax)
  const waiting = new Set<Promise<void>>()
  let deadline: Deadline<Outcome> | undefined
  let isRefused = false
  /** A call, and so the batch, turned out not to be JSON. */
  let isBroken = false
  for (const [index, call] of calls.entries()) {
    // Stored answers, refusals and invalid calls take no time.
    if (index > 0 && call.kind === 'call' && !isRefused && turns.isOver) {
      deadline ??= new Deadline(limits.requestMsMax, timedOut)
      isRefused = !(yield* turns.tryPause())
    }
    // A batch whose client has left runs no further calls; its answer is not sent.
    if (context.isFinished || isBroken) break
    let outcome: Outcome | Promise<Outcome>
    const unbegun = answer.isFull ? tooLarge : deadline?.hasPassed ? timedOut : isRefused ? busy : undefined
    if (unbegun !== undefined) outcome = run.refuse(call, unbegun)
    else outcome = run.start(call)
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

/** The answer to a batch in which `outcomeOf` gives the outcome of each call. */
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

/** Adds the outcome of a call to the answer. A notification, whose id is undefined, gets none. Never throws. */
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
  const at = basis.hashOf(pinOfCall(call))
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
