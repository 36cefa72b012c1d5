import { FaultError } from '../../primitives/faults.js'
import { defineMethod } from '../method.js'
import type { Network } from '../network.js'
import { anything, optional, text } from '../params.js'
import { booleanSchema } from '../schema.js'

const subscriptionId = text('a subscription id')

/** Ends a subscription of the caller's connection; a fault where it has none with this id, as in go-ethereum. */
export const eth_unsubscribe = defineMethod({
  name: 'eth_unsubscribe',
  summary: 'Ends a subscription of this connection',
  params: [optional(anything, undefined)],
  paramNames: ['subscription'],
  cost: 'inline',
  price: 1,
  memo: 'never',
  result: booleanSchema,
  run(_network: Network, [id], { subscriber }) {
    if (subscriber === undefined) throw new FaultError({ kind: 'NotificationsNotSupported' })
    if (id === undefined) throw new FaultError({ kind: 'MissingArgument', index: 0 })
    const isEnded = subscriber.unsubscribe(subscriptionId.decode(id, 0))
    if (!isEnded) throw new FaultError({ kind: 'SubscriptionIdNotFound' })
    return 'true'
  },
})
