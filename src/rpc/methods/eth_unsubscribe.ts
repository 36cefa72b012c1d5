import { FaultError } from '../../primitives/faults.js'
import { defineMethod } from '../method.js'
import type { Network } from '../network.js'
import { anything, optional, text } from '../params.js'

const subscriptionId = text('a subscription id')

/** Ends a subscription of the caller's connection; false where it has none of that id. */
export const eth_unsubscribe = defineMethod({
  name: 'eth_unsubscribe',
  params: [optional(anything, undefined)],
  cost: 'inline',
  price: 1,
  memo: 'never',
  run(_network: Network, [id], { subscriber }) {
    if (subscriber === undefined) throw new FaultError({ kind: 'NotificationsNotSupported' })
    if (id === undefined) throw new FaultError({ kind: 'MissingArgument', index: 0 })
    return String(subscriber.unsubscribe(subscriptionId.decode(id, 0)))
  },
})
