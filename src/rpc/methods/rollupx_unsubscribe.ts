import { FaultError } from '../../primitives/faults.js'
import { defineMethod } from '../method.js'
import { text } from '../params.js'
import type { RollupNetwork } from '../rollupNetwork.js'
import { booleanSchema } from '../schema.js'

/** Ends a subscription of the caller's connection; false where it has none with this id. */
export const rollupx_unsubscribe = defineMethod({
  name: 'rollupx_unsubscribe',
  summary: 'Ends a subscription of this connection',
  params: [text('a subscription id')],
  paramNames: ['subscription_id'],
  byName: true,
  cost: 'inline',
  price: 1,
  memo: 'never',
  result: booleanSchema,
  run(_network: RollupNetwork, [id], { subscriber }) {
    if (subscriber === undefined) throw new FaultError({ kind: 'NotificationsNotSupported' })
    return String(subscriber.unsubscribe(id))
  },
})
