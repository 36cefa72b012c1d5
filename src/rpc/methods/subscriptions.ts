/** Subscriptions of the caller's connection; `streams` sends their events. */
import { FaultError } from '../../primitives/faults.js'
import { bytesOfSubscription } from '../../streams/subscriberPool.js'
import { countKeysOf, decodeSubscription } from '../logs/subscriptionRequest.js'
import { chainMethod } from '../network.js'
import { anything, optional, text } from '../params/params.js'
import { booleanSchema, textSchema } from '../params/schema.js'

const subscriptionId = text('a subscription id')

export const subscriptionMethods = {
  /**
   * Events come after this answer. As in go-ethereum, with further options: `replayFrom`, `policy` and `queueBytes`.
   *
   * @example eth_subscribe("logs", {"address": "0x62…", "topics": ["0xdd…"], "replayFrom": "0x5a…", "policy": "dropOldest"})
   */
  eth_subscribe: chainMethod({
    summary:
      'Id of a subscription to `newHeads`, `logs`, `transactionReceipts` or `syncing`, over a WebSocket',
    // The second parameter depends on the first, and without a connection both are ignored.
    params: [optional(anything, undefined), optional(anything, undefined)],
    paramNames: ['kind', 'options'],
    // An address or topic takes 10 µs: to decode, and to add to the index and remove again.
    price: (args) => 10 + countKeysOf(args),
    memo: 'never',
    result: textSchema,
    run({ streams }, args, context) {
      const { subscriber } = context
      if (subscriber === undefined) throw new FaultError({ kind: 'NotificationsNotSupported' })
      const wanted = decodeSubscription(args, subscriber.limits, (keys) =>
        subscriber.requireRoom(bytesOfSubscription(keys)),
      )
      const stream =
        wanted.kind === 'syncing'
          ? streams.subscribeSyncing(subscriber, wanted.delivery)
          : streams.subscribe(subscriber, wanted.request)
      context.onFinished(() => stream.start())
      return `"${stream.id}"`
    },
  }),
  /** A fault where the connection has none with this id, as in go-ethereum. */
  eth_unsubscribe: chainMethod({
    summary: 'Ends a subscription of this connection',
    params: [optional(anything, undefined)],
    paramNames: ['subscription'],
    price: 1,
    memo: 'never',
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
