// @shares
/** Limits of many subscriptions in time of the event loop and in memory, for any filters. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t, { type Test } from 'tap'
import { SubscriberPool, subscriptionBytes } from '../../../../src/serving/streams/subscriberPool.js'
import { localTotals } from '../../../../src/serving/transport/totals.js'
import { threadCpuMs } from '../../../library/loopWatch.js'
import { someOf } from '../../../library/property.js'
import { until } from '../../../library/until.js'
import {
  addressOfNumber,
  type ChosenLog,
  type ForkBlock,
  growFrom,
  makeBlock,
} from '../../../unit/serving/streams/forkingChain.js'
import { openStreams } from '../../../unit/serving/streams/openStreams.js'
import { limits, settle, TestClient } from '../../../unit/serving/streams/testClient.js'

const word = (n: number) => `0x${n.toString(16).padStart(64, '0')}`
const log: ChosenLog = { address: addressOfNumber(1), topics: [word(1), word(2)] }
const wide = {
  ...limits,
  subscriptionsMax: 100_000,
  bytesMax: 2 ** 30,
  bytesPerKeyMax: 2 ** 30,
  bytesInAllMax: 2 ** 30,
}

/** CPU time of this thread until `isOver`: of the longest turn of the event loop, and in all, ms. */
async function turnsOf(work: () => void, isOver: () => boolean): Promise<{ longest: number; sum: number }> {
  let longest = 0
  let sum = 0
  let since = threadCpuMs()
  for (work(); ; await nextTurn()) {
    const now = threadCpuMs()
    longest = Math.max(longest, now - since)
    sum += now - since
    since = now
    if (isOver()) return { longest, sum }
  }
}

function subscribeAll(t: Test, count: number, paramsOf: (at: number) => unknown[]) {
  const open = openStreams(t)
  const pool = new SubscriberPool(wide, localTotals())
  const clients = Array.from({ length: 16 }, () => new TestClient(open.endpoint, wide, pool))
  for (let at = 0; at < count; at++) (clients[at % 16] as TestClient).subscribe(...paramsOf(at))
  const reported = new TestClient(open.endpoint)
  const id = reported.subscribe('logs', { address: log.address })
  return { ...open, pool, clients, reported: () => reported.results(id).length }
}

/** Filters that each log is compared with, and that match none. */
const silent: readonly (readonly [name: string, paramsOf: (at: number) => unknown[]])[] = [
  ['ranges that are over', () => ['logs', { fromBlock: '0x0', toBlock: '0x0' }]],
  ['ranges far ahead', () => ['logs', { fromBlock: '0xffffff', toBlock: '0xffffff' }]],
  ['ranges far ahead without an end', () => ['logs', { fromBlock: '0xffffff', toBlock: 'latest' }]],
  ['four topics, where logs have two', () => ['logs', { topics: [[], [], [], []] }]],
  ['one bucket', (at) => ['logs', { topics: [[word(1), word(1_000 + at)], [word(3)]] }]],
]

for (const [name, paramsOf] of someOf(silent, 2)) {
  t.test(`filters that get nothing hold the loop for a slice at a time: ${name}`, async (t) => {
    const logs = 1_000
    const { forks, reported } = subscribeAll(t, 10_000, paramsOf)
    forks.extend([])
    await settle()
    forks.write(makeBlock(forks.head, Array(logs).fill(log)))
    const { longest, sum } = await turnsOf(
      () => forks.chain.refreshHead(),
      () => reported() === logs,
    )
    t.comment(`longest turn ${longest.toFixed(1)} ms, in all ${sum.toFixed(0)} ms`)
    t.ok(longest < 50, `${longest} ms`)
    if (name.startsWith('ranges')) t.ok(sum < 500, `${sum} ms, though nothing needs to be compared`)
  })
}

t.test(
  'a subscription whose range is over comes back with a reorganisation, and ends once that cannot come',
  async (t) => {
    const { forks, endpoint } = openStreams(t, 10_000, 2)
    const client = new TestClient(endpoint)
    const [trunk] = forks.extend([])
    const id = client.subscribe('logs', { fromBlock: '0x2', toBlock: '0x2' })
    const [left] = forks.extend([log], [])
    await settle()
    const branch = growFrom(trunk as ForkBlock, [[log], [], []])
    forks.write(branch[2] as ForkBlock)
    forks.chain.refreshHead()
    await until(() => client.results(id).length === 3)
    t.strictSame(
      client.results(id).map(({ blockHash, removed }) => [blockHash, removed]),
      [
        [left?.hash, false],
        [left?.hash, true],
        [branch[0]?.hash, false],
      ],
    )
    t.equal(client.subscriber.count, 1)
    forks.extend([log], [log])
    await settle()
    t.equal(client.subscriber.count, 0, 'given back')
    t.match(client.call('eth_unsubscribe', [id]), { error: { message: 'subscription not found' } })
  },
)

/** Whole blocks for many clients that do not read, each with its own events or shared ones. */
const loud: readonly (readonly [
  name: string,
  paramsOf: (at: number, hashes: readonly string[]) => unknown[],
])[] = [
  ['receipts of all transactions', () => ['transactionReceipts']],
  [
    'receipts of sets that differ',
    (at, hashes) => ['transactionReceipts', { transactionHashes: hashes.slice(at % 40, 150 + (at % 40)) }],
  ],
  ['logs', () => ['logs', { queueBytes: 2 ** 24 }]],
  ['logs of the oldest block on', () => ['logs', { replayFrom: '0x1', queueBytes: 2 ** 24 }]],
  ['logs, of which the newest are kept', () => ['logs', { policy: 'dropOldest', queueBytes: 2 ** 24 }]],
]

for (const [name, paramsOf] of someOf(loud, 2)) {
  t.test(`what waits for those who do not read is held for none of them: ${name}`, async (t) => {
    setFlagsFromString('--expose-gc')
    const collectGarbage: () => void = runInNewContext('gc')
    const { forks, endpoint } = openStreams(t)
    const blocks = Array.from({ length: 4 }, () => Array(600).fill(log))
    const made = growFrom(forks.head, blocks)
    const hashes = made.flatMap(({ blockDiff: { senders } }) =>
      Array.from(
        { length: senders.length / 52 },
        (_, at) => `0x${Buffer.from(senders.subarray(at * 52 + 20, at * 52 + 52)).toString('hex')}`,
      ),
    )
    const totals = localTotals()
    const pool = new SubscriberPool(wide, totals)
    const clients = Array.from({ length: 2 }, () => new TestClient(endpoint, wide, pool))
    const isReplay = name.includes('oldest block')
    if (isReplay) {
      forks.write(made[3] as ForkBlock)
      forks.chain.refreshHead()
    }
    for (const client of clients) {
      for (let at = 0; at < 1_000; at++) client.subscribe(...paramsOf(at, hashes))
      client.sent.length = 0
      client.isReading = false
    }
    const bytes = () => {
      collectGarbage()
      const { heapUsed, external } = process.memoryUsage()
      return heapUsed + external
    }
    const before = bytes()
    const counted = totals.subscriptionBytes.value
    if (!isReplay) {
      forks.write(made[3] as ForkBlock)
      forks.chain.refreshHead()
    }
    await settle()
    for (let turns = 0; turns < 2_000; turns++) await nextTurn()
    const unsent = clients.reduce((sum, { sent }) => sum + sent.join('').length, 0)
    const taken = bytes() - before - 2 * unsent
    const charged = totals.subscriptionBytes.value - counted
    t.comment(`${(taken / 2 ** 20).toFixed(1)} MiB, charged ${(charged / 2 ** 20).toFixed(1)}`)
    // Two caches of events, and the memory of the store's rows.
    t.ok(taken < charged + 40 * 2 ** 20, `${taken} bytes`)
    for (const client of clients) client.subscriber.close()
    await until(() => totals.subscriptionBytes.value === 0)
  })
}

t.test('a note for which there is no room has the policy apply at once', async (t) => {
  const { forks, endpoint } = openStreams(t)
  const totals = localTotals()
  const of = (policy: string) => {
    const client = new TestClient(
      endpoint,
      limits,
      new SubscriberPool({ ...limits, bytesMax: subscriptionBytes + 150 }, totals),
    )
    return { client, id: client.subscribe('newHeads', { policy }) }
  }
  const close = of('close')
  const drop = of('dropOldest')
  for (const { client } of [close, drop]) client.isReading = false
  forks.extend(...Array.from({ length: 12 }, () => []))
  await settle()
  t.notOk(close.client.closed, 'one block waits')
  forks.extend([], [])
  await settle()
  t.match(close.client.closed, { code: 1013, reason: /slow reader/ })
  t.notOk(drop.client.closed)
  drop.client.isReading = true
  drop.client.read()
  await settle()
  const results = drop.client.results(drop.id)
  t.match(results.at(-2), { skipped: {} })
  t.equal(Number(results.at(-1).number), 14)
})
