import { FaultError } from '../../primitives/faults.js'
import { bytesOfSubscription } from '../../streams/subscriberPool.js'
import { defineMethod } from '../method.js'
import type { Network } from '../network.js'
import { anything, optional } from '../params.js'
import { textSchema } from '../schema.js'
import { countKeysOf, decodeSubscription } from '../subscriptionRequest.js'

/**
 * Subscribes the caller's connection to `newHeads`, `logs` or `syncing` and answers the id of the subscription.
 * Events come after this answer. As in go-ethereum, with further options: `replayFrom`, `policy` and `queueBytes`.
 *
 * @example eth_subscribe("logs", {"address": "0x62…", "topics": ["0xdd…"], "replayFrom": "0x5a…", "policy": "dropOldest"})
 */
export const eth_subscribe = defineMethod({
  name: 'eth_subscribe',
  summary: 'Id of a subscription to `newHeads`, `logs` or `syncing`, over a WebSocket',
  // The second parameter depends on the first, and without a connection both are ignored.
  params: [optional(anything, undefined), optional(anything, undefined)],
  paramNames: ['kind', 'options'],
  cost: 'inline',
  // An address or topic takes 10 µs: to decode, and to add to the index and remove again.
  price: (args) => 10 + countKeysOf(args),
  memo: 'never',
  result: textSchema,
  run({ streams }: Network, args, caller) {
    const { subscriber } = caller
    if (subscriber === undefined) throw new FaultError({ kind: 'NotificationsNotSupported' })
    const wanted = decodeSubscription(args, subscriber.limits, (keys) =>
      subscriber.requireRoom(bytesOfSubscription(keys)),
    )
    const stream =
      wanted.kind === 'syncing'
        ? streams.subscribeSyncing(subscriber, wanted.delivery)
        : streams.subscribe(subscriber, wanted.request)
    caller.onGone(() => stream.start())
    return `"${stream.id}"`
  },
})
