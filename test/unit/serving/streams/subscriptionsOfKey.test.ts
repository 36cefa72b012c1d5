import t from 'tap'
import type { OwnedSubscription } from '../../../../src/serving/streams/subscriber.js'
import { Subscriber } from '../../../../src/serving/streams/subscriber.js'
import { SubscriberPool } from '../../../../src/serving/streams/subscriberPool.js'
import { localTotals } from '../../../../src/serving/transport/totals.js'
import { wideSocketLimits } from '../../../transport/serverLimits.js'

t.test('a key may have so many subscriptions, over all its connections', async (t) => {
  const pool = new SubscriberPool(wideSocketLimits.subscriptions, localTotals())
  const sink = { bufferedBytes: 0, send() {}, close() {} }
  const open = (key: string, ofKeyMax?: number) => {
    const subscriber = new Subscriber(sink, key, pool)
    subscriber.ofKeyMax = ofKeyMax
    return subscriber
  }
  let serial = 0
  const subscription = (): OwnedSubscription => ({
    id: String(serial++),
    bytes: 2_000,
    resume() {},
    end() {},
  })
  const one = open('shop', 2)
  const two = open('shop', 2)
  one.add(subscription())
  two.add(subscription())
  const refused = Object.assign(new Error(), {
    name: 'FaultError',
    message: 'TooManySubscriptions',
    fault: { kind: 'TooManySubscriptions', whose: 'of this API key', max: 2 },
  })
  t.throws(() => one.add(subscription()), refused)
  t.throws(() => two.requireRoom(2_000), refused)
  open('other').add(subscription())
  t.equal(one.unsubscribe('0'), true)
  two.add(subscription())
  t.throws(() => two.add(subscription()), refused)
  two.ofKeyMax = undefined
  two.add(subscription())
  t.equal(two.count, 3)
})
