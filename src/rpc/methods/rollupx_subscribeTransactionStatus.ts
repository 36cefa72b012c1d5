import { whenKnown } from '../../primitives/awaitable.js'
import { FaultError } from '../../primitives/faults.js'
import { defineMethod } from '../method.js'
import type { RollupNetwork } from '../rollupNetwork.js'
import { transactionHash } from '../rollupParams.js'
import { textSchema } from '../schema.js'
import { StatusSubscription } from '../statusSubscription.js'

/**
 * `(transaction_hash)` → the id of a subscription. `rollupx_subscriptionTransactionStatus` events over the caller's
 * connection give the current status of the transaction, if known, and each later one.
 *
 * @example
 * rollupx_subscribeTransactionStatus("0x76b52e17bc09064bd986ead34263e6305ef3cecfb3ae9e19b86bf4f1a1a20ea")
 */
export const rollupx_subscribeTransactionStatus = defineMethod({
  name: 'rollupx_subscribeTransactionStatus',
  summary: 'Id of a subscription to the status of a transaction, over a WebSocket',
  params: [transactionHash],
  paramNames: ['transaction_hash'],
  byName: true,
  cost: 'inline',
  price: 10,
  memo: 'never',
  result: textSchema,
  run({ queue, prefix }: RollupNetwork, [hash], caller) {
    const { subscriber } = caller
    if (subscriber === undefined) throw new FaultError({ kind: 'NotificationsNotSupported' })
    const subscription = new StatusSubscription(subscriber, queue, prefix, hash)
    try {
      subscriber.add(subscription)
    } catch (error) {
      subscription.end()
      throw error
    }
    caller.onGone(() => subscription.start())
    const row = queue.readRow(hash)
    if (row instanceof Promise) row.catch(() => subscriber.unsubscribe(subscription.id))
    return whenKnown(row, (known) => {
      subscription.take(known)
      return `"${subscription.id}"`
    })
  },
})
