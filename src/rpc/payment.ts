/** What calls cost their caller: charged before, for long answers after. Owns how a refusal of it is told. */
import type { Remembered } from './answerMemo.js'
import type { Caller } from './caller.js'
import type { Json } from './method.js'
import { Failure, type Outcome } from './outcome.js'
import { bytesPerUnit } from './price.js'

/** Charges for a call: undefined where it is paid or nothing is counted, else why it is not begun. */
export function unpaid(caller: Caller, units: number): Failure | undefined {
  const waitMs = caller.charge(units)
  return waitMs === 0 ? undefined : limitExceeded(caller, `this call costs ${units}`, waitMs)
}

export function limitExceeded({ identity }: Caller, cost: string, retryAfterMs: number): Failure {
  const limit = identity.allowance?.unitsPerSecond ?? 0
  const what = `${cost} compute units, and ${limit} may be spent a second`
  return Failure.of({ kind: 'LimitExceeded', what, limit, retryAfterMs })
}

/** A remembered answer costs what it did when it was made. */
export function repeat({ json, price }: Remembered, caller: Caller): Outcome {
  const refusal = unpaid(caller, price)
  if (refusal === undefined) countBytes(caller, json)
  return refusal ?? json
}

/** A long answer costs by its bytes. */
export function countBytes(caller: Caller, json: Json): void {
  if (json.length >= bytesPerUnit) caller.answered(json.length)
}
