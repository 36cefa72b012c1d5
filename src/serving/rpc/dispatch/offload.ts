/**
 * Calls for the pool: refuses those of full queues, passes long ones to a thread that answers them completely
 * (offloadedCall.ts), and charges for them.
 */
import { FaultError } from '../../../primitives/faults.js'
import { Failure } from '../answers/outcome.js'
import { unpaid } from '../contexts/payment.js'
import { unitsMin } from '../contexts/price.js'
import type { RequestContext } from '../contexts/requestContext.js'
import type { Json, Method, RpcNetwork } from '../method.js'

/** Whether long calls of a method stay text. */
export function isOffloaded(method: Method<never> | undefined, network: RpcNetwork): boolean {
  return method?.jobClass !== undefined && network.answerOffloaded !== undefined
}

/** The failure of any call of a method whose queue in the pool the caller fills; undefined where it may run. */
export function refuseUnread(
  { jobClass }: Method<never>,
  network: RpcNetwork,
  context: RequestContext,
): Failure | undefined {
  const fault = jobClass && network.refusal?.(jobClass, context)
  return fault && (unpaid(context, unitsMin) ?? Failure.of(fault))
}

/** Has a pool thread answer a call that stayed text. A price by its arguments is charged afterwards. */
export function offload(
  { name, jobClass, price }: Method<never>,
  text: Uint8Array,
  network: RpcNetwork,
  context: RequestContext,
): Failure | Promise<Json> {
  const least = typeof price === 'number' ? price : unitsMin
  const refusal = unpaid(context, least)
  if (refusal !== undefined) return refusal
  if (jobClass === undefined || network.answerOffloaded === undefined) {
    throw new Error(`no thread answers ${name}, whose text was left as it is`)
  }
  return network.answerOffloaded({ method: name, jobClass, text }, context).then((answer) => {
    context.chargeLate(Math.max(answer.price - least, 0))
    if ('fault' in answer) throw new FaultError(answer.fault)
    return answer.json
  })
}
