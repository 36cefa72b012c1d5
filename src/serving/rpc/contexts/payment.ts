/**
 * Charging callers: for calls before they run, for long answers after. Owns the fault of a call that cannot be paid.
 */
import type { CachedAnswer } from '../answers/answerMemo.js'
import { Failure, type Outcome } from '../answers/outcome.js'
import type { Json } from '../method.js'
import { bodyUnits, bytesPerUnit, unitsMin } from './price.js'
import type { RequestContext } from './requestContext.js'

/**
 * Longest body that is read although it cannot be paid, to refuse its calls with their ids: on a WebSocket an error
 * without an id answers nobody. 1,000 calls take 1.4 ms.
 */
const unpaidBytesMax = 64 * 1024

/** Charges for a call: undefined where it is paid or there is no limit, otherwise the failure. */
export function unpaid(context: RequestContext, units: number): Failure | undefined {
  const waitMs = context.charge(units)
  return waitMs === 0 ? undefined : limitExceeded(context, 'this call', units, waitMs)
}

/** The failure of a call whose method is outside the scope of its key, which is charged as an invalid one. */
export function notAllowed(context: RequestContext, method: string): Failure | undefined {
  const { methods } = context.identity
  if (methods === undefined || methods.allows(method)) return undefined
  return unpaid(context, unitsMin) ?? Failure.of({ kind: 'MethodNotAllowed', method })
}

/** Charges for reading a request of so many bytes: the failure of one that is not to be read. */
export function unpaidReading(context: RequestContext, bytes: number): Failure | undefined {
  const units = bodyUnits(bytes)
  const waitMs = context.chargeReading(units)
  if (waitMs === 0) return undefined
  if (bytes > unpaidBytesMax) return limitExceeded(context, 'this request', units, waitMs)
  context.oweReading(units)
  return undefined
}

/** The refusal of what costs so many units and could be paid in so many milliseconds. */
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

/** Charges for a stored answer the price of its first call. */
export function repeat({ json, price, method }: CachedAnswer, context: RequestContext): Outcome {
  const refusal = notAllowed(context, method) ?? unpaid(context, price)
  if (refusal === undefined) countBytes(context, json)
  return refusal ?? json
}

export function countBytes(context: RequestContext, json: Json): void {
  if (json.length >= bytesPerUnit) context.answered(json.length)
}
