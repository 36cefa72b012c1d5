/**
 * Calls of methods that are not known here, or only of what is known here, and that the network's configuration has
 * passed on to its upstreams. Owns which methods these are, and their price. What is answered is not checked.
 */
import type { UpstreamCalls } from '../../../primitives/upstreamCalls.js'
import { Failure } from '../answers/outcome.js'
import { notAllowed, unpaid } from '../contexts/payment.js'
import { unitsMin } from '../contexts/price.js'
import type { RequestContext } from '../contexts/requestContext.js'
import type { Json, MethodRelay } from '../method.js'
import { type Member, noRoom } from './batch.js'

/** As for a transaction, which is passed on as well. */
const relayUnits = 50

/** A subscription ends with its connection, and callers share those to upstreams. */
const subscriptionPattern = /_(un)?subscribe$/i

/** Passes these methods on: names, or their beginning and `*`. Subscriptions never are. */
export function createRelay(passed: readonly string[], { relay }: UpstreamCalls): MethodRelay {
  const names = new Set(passed)
  const beginnings = passed.filter((name) => name.endsWith('*')).map((name) => name.slice(0, -1))
  return {
    passes(method) {
      if (subscriptionPattern.test(method)) return false
      return names.has(method) || beginnings.some((beginning) => method.startsWith(beginning))
    },
    ask: relay,
  }
}

/**
 * Charges for a call and passes it on; upstreams would not know the block to which it is pinned. As for other calls, what
 * does not come so far is charged the least.
 */
export function passOn(
  relay: MethodRelay,
  { method, params }: Extract<Member, { kind: 'call' }>,
  isPinned: boolean,
  context: RequestContext,
): Failure | Promise<Json> {
  const refused = notAllowed(context, method)
  if (refused !== undefined) return refused
  const given = params ?? []
  const isList = typeof given === 'object'
  if (isPinned || !isList) {
    return unpaid(context, unitsMin) ?? (isPinned ? pinned : Failure.of({ kind: 'ParamsNotArray' }))
  }
  const crowded = noRoom(context)
  if (crowded !== undefined) return crowded
  const refusal = unpaid(context, relayUnits)
  if (refusal !== undefined) {
    context.release()
    return refusal
  }
  return relay.ask(method, JSON.stringify(given)).finally(() => context.release())
}

const pinned = Failure.of({
  kind: 'InvalidRequest',
  why: 'a method that is passed on to upstreams cannot be pinned to a block',
})
