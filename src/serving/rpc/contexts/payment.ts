/**
 * Charges callers: for calls before they run, for long answers after. Owns the fault of a call that cannot be paid.
 */
import type { CachedAnswer } from '../answers/answerMemo.js'
import { Failure, type Outcome } from '../answers/outcome.js'
import type { Json } from '../method.js'
import { bodyUnits, bytesPerUnit, unitsMin } from './price.js'
import type { RequestContext } from './requestContext.js'

/**
 * Maximum size of a body that is read although the caller cannot pay for it. Its calls are refused with their ids: on a
 * WebSocket nobody can use an error without an id. 1,000 calls take 1.4 ms.
 */
const unpaidBytesMax = 64 * 1024

/** Charges for a call; returns the failure if the caller cannot pay. */
export function unpaid(context: RequestContext, units: number): Failure | undefined {
  const waitMs = context.charge(units)
  return waitMs === 0 ? undefined : limitExceeded(context, 'this call', units, waitMs)
}

/** The failure of a call whose method is outside the scope of its key; it costs the same as an invalid call. */
export function notAllowed(context: RequestContext, method: string): Failure | undefined {
  const { methods } = context.identity
  if (methods === undefined || methods.allows(method)) return undefined
  return unpaid(context, unitsMin) ?? Failure.of({ kind: 'MethodNotAllowed', method })
}

/** Charges for reading a request of `bytes` bytes; returns the failure if the request must not be read. */
export function unpaidReading(context: RequestContext, bytes: number): Failure | undefined {
  const units = bodyUnits(bytes)
  const waitMs = context.chargeReading(units)
  if (waitMs === 0) return undefined
  if (bytes > unpaidBytesMax) return limitExceeded(context, 'this request', units, waitMs)
  context.oweReading(units)
  return undefined
}

/** The failure of work that costs `units` and could be paid for in `retryAfterMs` milliseconds. */
function limitExceeded(
  { identity }: RequestContext,
  subject: string,
  units: number,
  retryAfterMs: number,
): Failure {
  const { exceededLimit: lack } = identity.allowance ?? {}
  if (lack !== undefined) return Failure.of({ kind: 'LimitExceeded', ...lack, retryAfterMs })
  const limit = identity.allowance?.unitsPerSecond ?? 0
  const left = Math.max(Math.floor(units - (retryAfterMs * limit) / 1_000), 0)
  const what = `${subject} costs ${units} compute units, ${left} are left, and ${limit} come in a second`
  return Failure.of({ kind: 'LimitExceeded', what, limit, retryAfterMs })
}

/** Charges the price of the first call for a stored answer. */
export function repeat({ json, price, method }: CachedAnswer, context: RequestContext): Outcome {
  const refusal = notAllowed(context, method) ?? unpaid(context, price)
  if (refusal === undefined) countBytes(context, json)
  return refusal ?? json
}

export function countBytes(context: RequestContext, json: Json): void {
  if (json.length >= bytesPerUnit) context.answered(json.length)
}
