// @alone it measures its process, or closes what others share
/** The memory limits of subscriptions, for one connection, one key and in all, and the release of memory. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import {
  filterKeyBytes,
  SubscriberPool,
  subscriptionBytes,
} from '../../../../src/serving/streams/subscriberPool.js'
import { localTotals } from '../../../../src/serving/transport/totals.js'
import { until } from '../../../library/until.js'
import { addressOfNumber } from './forkingChain.js'
import { openStreams } from './openStreams.js'
import { limits, settle, TestClient } from './testClient.js'

const KiB = 1024

let serial = 0

/** Addresses that no other filter has. */
function newAddresses(count: number): string[] {
  return Array.from({ length: count }, () => addressOfNumber(++serial))
}

const bytesWith = (addresses: number) => subscriptionBytes + addresses * filterKeyBytes

t.test('a connection, a key and the server have room for so much and no more', async (t) => {
  const { endpoint } = openStreams(t)
  const some = bytesWith(100)
  const bounds = { bytesMax: 2 * some, bytesPerKeyMax: 3 * some, bytesInAllMax: 4 * some }
  const totals = localTotals()
  const pool = new SubscriberPool({ ...limits, ...bounds }, totals)
  const [one, two, three] = ['a', 'a', 'b'].map((key) => new TestClient(endpoint, limits, pool, key)) as [
    TestClient,
    TestClient,
    TestClient,
  ]
  const ask = (client: TestClient, addresses = 100) =>
    client.call('eth_subscribe', ['logs', { address: newAddresses(addresses) }])
  const refusalOf = (whose: string, max: number) => ({
    error: { code: -32005, message: new RegExp(`the subscriptions of ${whose} may take ${max} bytes`) },
  })
  const first = ask(one).result
  t.match(ask(one, 101), refusalOf('this connection', bounds.bytesMax))
  t.match(ask(one), { result: /^0x/ })
  t.match(one.call('eth_subscribe', ['newHeads']), refusalOf('this connection', bounds.bytesMax))
  t.match(ask(two), { result: /^0x/ })
  t.match(ask(two), refusalOf('this API key', bounds.bytesPerKeyMax))
  t.match(ask(three), { result: /^0x/ })
  t.match(ask(three, 1), refusalOf('this server', bounds.bytesInAllMax))
  t.equal(totals.subscriptionBytes.value, 4 * some, 'what was refused is not counted')
  t.equal(one.call('eth_unsubscribe', [first]).result, true)
  t.equal(totals.subscriptionBytes.value, 3 * some)
  t.match(ask(two), { result: /^0x/ }, 'what one gives back another may take')
  for (const client of [one, two, three]) client.subscriber.close()
  await settle()
  t.equal(totals.subscriptionBytes.value, 0)
  t.equal(totals.addSubscriptionBytesOfKey('a', 0), 0)
})

t.test('what finds no room is not decoded', async (t) => {
  const { endpoint } = openStreams(t)
  const some = bytesWith(100)
  const bounds = {
    bytesMax: 3 * some,
    bytesPerKeyMax: 2 * some,
    bytesInAllMax: 3 * some,
    subscriptionsMax: 3,
  }
  const totals = localTotals()
  const pool = new SubscriberPool({ ...limits, ...bounds }, totals)
  const [one, two, three] = ['a', 'a', 'b'].map((key) => new TestClient(endpoint, limits, pool, key)) as [
    TestClient,
    TestClient,
    TestClient,
  ]
  const undecodable = (count: number) => ['logs', { address: Array(count).fill('no address') }]
  const subscribe = (client: TestClient, params: readonly unknown[]) => client.call('eth_subscribe', params)
  const refused = (why: string) => ({ error: { code: -32005, message: new RegExp(why) } })
  t.match(subscribe(one, undecodable(100)), { error: { code: -32602 } })
  t.match(subscribe(one, undecodable(400)), refused('this connection'))
  t.match(subscribe(one, ['logs', { address: newAddresses(100) }]), { result: /^0x/ })
  t.match(subscribe(two, undecodable(101)), refused('this API key'))
  t.match(subscribe(three, ['logs', { address: newAddresses(100) }]), { result: /^0x/ })
  t.match(subscribe(three, undecodable(101)), refused('this server'))
  t.equal(totals.subscriptionBytes.value, 2 * some, 'and not counted')
  for (let i = 0; i < 2; i++) t.match(subscribe(three, ['newHeads']), { result: /^0x/ })
  t.match(subscribe(three, undecodable(1)), refused('at most 3 subscriptions'))
})

t.test('however many connections ask, no more is held than what all may take', async (t) => {
  const { endpoint } = openStreams(t)
  const totals = localTotals()
  const pool = new SubscriberPool(limits, totals)
  let refused = 0
  for (let socket = 0; socket < 12; socket++) {
    const client = new TestClient(endpoint, limits, pool, 'one')
    for (let asked = 0; asked < 45; asked++) {
      const { error } = client.call('eth_subscribe', ['logs', { address: newAddresses(1_000) }])
      if (error !== undefined) refused++
    }
  }
  t.equal(12 * 45 - refused, Math.floor(limits.bytesPerKeyMax / bytesWith(1_000)))
  t.equal(totals.subscriptionBytes.value, (12 * 45 - refused) * bytesWith(1_000))
})

t.test('what subscriptions are counted at is at least what they take', async (t) => {
  setFlagsFromString('--expose-gc')
  const collectGarbage: () => void = runInNewContext('gc')
  const { endpoint } = openStreams(t)
  const topic = () => `0x${(++serial).toString(16).padStart(64, '0')}`
  const heldBytes = async () => {
    // V8 frees buffers after the collection that finds them unused, some after the next one. An unused request with a
    // thousand topics has 70 KB.
    for (let round = 0; round < 3; round++) {
      collectGarbage()
      await settle()
    }
    const { heapUsed, external } = process.memoryUsage()
    return heapUsed + external
  }
  const shapes: readonly (readonly [name: string, count: number, paramsOf: () => unknown[]])[] = [
    ['heads', 1_000, () => ['newHeads']],
    ['all logs', 1_000, () => ['logs']],
    ['one address', 1_000, () => ['logs', { address: newAddresses(1) }]],
    ['a thousand addresses', 40, () => ['logs', { address: newAddresses(1_000) }]],
    ['a thousand topics', 40, () => ['logs', { topics: [Array.from({ length: 1_000 }, topic)] }]],
    ['four topics', 1_000, () => ['logs', { topics: [topic(), topic(), topic(), topic()] }]],
  ]
  for (const [name, count, paramsOf] of shapes) {
    const totals = localTotals()
    const client = new TestClient(endpoint, limits, new SubscriberPool(limits, totals))
    const before = await heldBytes()
    for (let index = 0; index < count; index++) {
      client.subscribe(...paramsOf())
      client.sent.length = 0
    }
    const taken = (await heldBytes()) - before
    const counted = totals.subscriptionBytes.value
    t.ok(taken < counted, `${name}: ${Math.round(taken / count)} bytes each, counted ${counted / count}`)
    client.subscriber.close()
    await settle()
  }
})

t.test(
  'a connection that goes gives its subscriptions back in turns, and hears nothing meanwhile',
  async (t) => {
    const { endpoint, forks } = openStreams(t)
    const totals = localTotals()
    const pool = new SubscriberPool({ ...limits, bytesMax: 2 ** 30 }, totals)
    const watched = addressOfNumber(1)
    const leaving = new TestClient(endpoint, limits, pool)
    const staying = new TestClient(endpoint, limits, pool)
    for (let index = 0; index < 20; index++) {
      leaving.subscribe('logs', { address: [watched, ...newAddresses(999)] })
    }
    const stayingId = staying.subscribe('logs', { address: watched })
    await settle()
    const heard = leaving.sent.length
    leaving.subscriber.close()
    forks.extend([{ address: watched, topics: [] }])
    let turns = 0
    for (let before = totals.subscriptionBytes.value; before > subscriptionBytes + filterKeyBytes; turns++) {
      await nextTurn()
      const after = totals.subscriptionBytes.value
      t.ok(before - after <= 256 * KiB + bytesWith(1_000), `${before - after} bytes in one turn`)
      before = after
    }
    t.ok(turns >= 7, `${turns} turns for 2 MB`)
    forks.extend([{ address: watched, topics: [] }])
    await until(() => staying.events(stayingId).length === 2)
    t.equal(leaving.sent.length, heard)
  },
)
