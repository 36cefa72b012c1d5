/** Answers every call of a refused request with one failure and runs none. */
import type { Answer } from '../answers/answer.js'
import type { AskedCall, CachedAnswer } from '../answers/answerMemo.js'
import { Failure, singleAnswer } from '../answers/outcome.js'
import { bodyUnits, unitsMin } from '../contexts/price.js'
import type { RequestContext } from '../contexts/requestContext.js'
import { RequestSlices } from '../contexts/requestSlices.js'
import { CallReader, usualBytesMax } from '../reading/envelope.js'
import { answerAll, type Member } from './batch.js'
import type { DispatchLimits } from './endpoint.js'

/** Longest refused request that is read for its ids. */
const refusedBytesMax = 2 ** 20

export const invalidRequest = Failure.of({ kind: 'InvalidRequest' })

/** See {@link Endpoint.refuse}. `block` names the head. Throws FaultError for a body that cannot be read. */
export function refuseRequest(
  body: Uint8Array,
  refused: Failure,
  context: RequestContext,
  limits: DispatchLimits,
  block: string | undefined,
): Answer {
  const units = Math.max(bodyUnits(body.length), unitsMin)
  const isPaid = context.chargeReading(units) === 0
  const turns = new RequestSlices(limits.turnMsMax, context, 0)
  const isLong = body.length > usualBytesMax
  if (isLong && (!isPaid || body.length > refusedBytesMax || turns.isOverOrAwaited)) {
    return singleAnswer('null', undefined, refused, block)
  }
  if (!isPaid) context.oweReading(units)
  turns.begin()
  const reader = new CallReader<CachedAnswer, AskedCall>(body, limits)
  const calls: Member[] = []
  while (reader.left > 0) calls.push(reader.read(undefined))
  const outcomeOf = ({ kind }: Member) => (kind === 'invalid' ? invalidRequest : refused)
  if (reader.isBatch) {
    const answers = answerAll(calls, limits.batchBytesMax, outcomeOf)
    return { status: 200, body: answers, retryAfterMs: undefined, block }
  }
  const call = calls[0] as Member
  return singleAnswer(call.id, undefined, outcomeOf(call), block)
}
