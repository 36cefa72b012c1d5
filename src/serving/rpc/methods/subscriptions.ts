/** Subscriptions of the caller's connection; `streams` sends their events. */
import { whenKnown } from '../../../primitives/deferred.js'
import { FaultError } from '../../../primitives/faults.js'
import type { NetworkStreams, OpenedStream } from '../../streams/networkStreams.js'
import type { PendingStreams } from '../../streams/pendingStreams.js'
import type { Subscriber } from '../../streams/subscriber.js'
import { bytesOfSubscription } from '../../streams/subscriberPool.js'
import { countKeysOf, decodeSubscription, type SubscriptionRequest } from '../logs/subscriptionRequest.js'
import { chainMethod } from '../network.js'
import { anything, optional, text } from '../params/params.js'
import { booleanSchema, textSchema } from '../params/schema.js'

const subscriptionId = text('a subscription id')

function openStream(
  wanted: SubscriptionRequest,
  subscriber: Subscriber,
  streams: NetworkStreams,
  pendingStreams: PendingStreams | undefined,
): OpenedStream {
  switch (wanted.kind) {
    case 'syncing':
      return streams.subscribeSyncing(subscriber, wanted.delivery)
    case 'chain':
      return streams.subscribe(subscriber, wanted.request)
    case 'pending': {
      if (pendingStreams !== undefined)
        return pendingStreams.subscribe(subscriber, wanted.delivery, wanted.isWhole)
      const why = 'this network has no transaction pool, and follows no node that has one'
      throw new FaultError({ kind: 'SubscriptionNotFound', name: 'newPendingTransactions', why })
    }
  }
}

export const subscriptionMethods = {
  /**
   * Events come after this answer. As in go-ethereum, with further options: `replayFrom`, `policy` and `queueBytes`.
   *
   * @example
   * eth_subscribe("logs", {"address": "0x62…", "topics": ["0xdd…"], "replayFrom": "0x5a…", "policy": "dropOldest"})
   */
  eth_subscribe: chainMethod({
    summary:
      'Id of a subscription to `newHeads`, `logs`, `transactionReceipts`, `newPendingTransactions` or `syncing`, over a WebSocket',
    // The second parameter depends on the first. Without a connection both are ignored.
    params: [optional(anything).as('kind'), optional(anything).as('options')],
    // An address or topic costs one unit: for decoding, for adding it to the index and for removing it.
    price: (args) => 10 + countKeysOf(args),
    effect: true,
    result: textSchema,
    run({ streams, pendingStreams }, args, context, _turnMsMax, whenStored) {
      const { subscriber } = context
      if (subscriber === undefined) throw new FaultError({ kind: 'NotificationsNotSupported' })
      const wanted = decodeSubscription(args, subscriber.limits, (keys) =>
        subscriber.requireRoom(bytesOfSubscription(keys)),
      )
      // Missing data shows before anything is opened, so repeating this is safe.
      const opened = whenStored(() => openStream(wanted, subscriber, streams, pendingStreams))
      return whenKnown(opened, (stream) => {
        context.onFinished(() => stream.start())
        return `"${stream.id}"`
      })
    },
  }),
  /** As in go-ethereum, a fault if the connection has no subscription with this id. */
  eth_unsubscribe: chainMethod({
    summary: 'Ends a subscription of this connection',
    effect: true,
    params: [optional(anything).as('subscription')],
    price: 1,
    result: booleanSchema,
    run(_network, [id], { subscriber }) {
      if (subscriber === undefined) throw new FaultError({ kind: 'NotificationsNotSupported' })
      if (id === undefined) throw new FaultError({ kind: 'MissingArgument', index: 0 })
      const isEnded = subscriber.unsubscribe(subscriptionId.decode(id, 0))
      if (!isEnded) throw new FaultError({ kind: 'SubscriptionIdNotFound' })
      return 'true'
    },
  }),
}
