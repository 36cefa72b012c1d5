/**
 * Subscriptions to events that cannot be made again. All of one kind get all events, and share them while they wait.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { KeptEvents } from './eventMessage.js'
import type { Subscriber } from './subscriber.js'
import { bytesOfSubscription, turnMsMax } from './subscriberPool.js'
import { type Delivery, Subscription } from './subscription.js'

/** A subscription that leaves `members` when it ends. The caller adds it once the client knows its id. */
export function keptSubscription(
  subscriber: Subscriber,
  delivery: Delivery,
  members: Set<Subscription<KeptEvents>>,
): Subscription<KeptEvents> {
  const events = {
    again: ({ messages }: KeptEvents, first: number) => messages.slice(first),
    onIdle: () => undefined,
    onEnd: () => members.delete(subscription),
  }
  const subscription: Subscription<KeptEvents> = new Subscription(
    subscriber,
    delivery,
    events,
    bytesOfSubscription(0),
  )
  subscriber.add(subscription)
  return subscription
}

/** Deliveries between two readings of the clock. */
const deliveriesPerPause = 16

/** Delivers to all members; other work of the thread runs in between. */
export async function deliverAll(
  { messages }: KeptEvents,
  members: Iterable<Subscription<KeptEvents>>,
): Promise<void> {
  let sinceMs = performance.now()
  let deliveries = 0
  for (const message of messages) {
    for (const subscription of members) {
      subscription.deliver(message)
      if (++deliveries % deliveriesPerPause > 0 || performance.now() - sinceMs < turnMsMax) continue
      await nextTurn()
      sinceMs = performance.now()
    }
  }
}
