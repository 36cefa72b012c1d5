import t from 'tap'
import { durationBuckets } from '../../../../src/primitives/durationBuckets.js'
import { allotCounts, EdgeCounts } from '../../../../src/serving/metrics/edgeCounts.js'
import { quantile, RecentCalls } from '../../../../src/serving/metrics/recentCalls.js'

const methods = ['eth_call', 'eth_getLogs']

function open() {
  const memory = allotCounts(methods, 2)
  const edges = [0, 1].map((edge) => new EdgeCounts(memory, methods, edge)) as [EdgeCounts, EdgeCounts]
  let nowMs = 5_000
  const recent = new RecentCalls(edges, () => nowMs)
  const sampleAfter = (ms: number) => {
    nowMs += ms
    recent.sample()
  }
  return { edges, recent, sampleAfter }
}

t.test('there are no rates before the second sample', async (t) => {
  t.match(open().recent.read(), { callsPerSecond: 0, windowSeconds: 0, methods: [], errors: [] })
})

t.test('calls of the last second and of the window are told apart, of all edges together', async (t) => {
  const { edges, recent, sampleAfter } = open()
  const [first, second] = edges
  for (let call = 0; call < 6; call++) first.repeated(first.slotOf('eth_call'), 10)
  sampleAfter(1_000)
  second.repeated(second.slotOf('eth_call'), 10)
  second.ended(second.slotOf('eth_getLogs'), true, performance.now(), undefined, -32005)
  second.rejected('key')
  sampleAfter(2_000)
  const rates = recent.read()
  t.match(rates, {
    callsPerSecond: 1,
    errorsPerSecond: 0.5,
    rejectionsPerSecond: 0.5,
    windowSeconds: 3,
    p50Seconds: rates.methods[1]?.p50Seconds,
    p99Seconds: rates.methods[1]?.p99Seconds,
    errors: [{ name: '-32005', total: 1, perSecond: 1 / 3 }],
    rejections: [{ name: 'key', total: 1, perSecond: 1 / 3 }],
  })
  t.match(rates.methods, [
    { method: 'eth_call', callsPerSecond: 7 / 3, repeatedPerSecond: 7 / 3, resultBytesPerSecond: 70 / 3 },
    { method: 'eth_getLogs', callsPerSecond: 1 / 3, repeatedPerSecond: 0, errorsPerSecond: 1 / 3 },
  ])
  t.equal(rates.methods[0]?.p50Seconds, undefined, 'stored answers in batches are not timed')
  t.ok((rates.methods[1]?.p99Seconds ?? 0) > 0)
})

t.test('what is older than the window is forgotten', async (t) => {
  const { edges, recent, sampleAfter } = open()
  edges[0].repeated(edges[0].slotOf('eth_call'), 10)
  for (let second = 0; second < 10; second++) sampleAfter(1_000)
  t.equal(recent.read().methods.length, 1)
  sampleAfter(1_000)
  t.strictSame(recent.read().methods, [])
  t.equal(recent.read().windowSeconds, 10)
})

t.test('a quantile lies within the bucket that holds its rank', async (t) => {
  const buckets = new Array<number>(durationBuckets).fill(0)
  t.equal(quantile(buckets, 0.5), undefined)
  buckets[6] = 100
  t.equal(quantile(buckets, 0.5), 48e-6, 'half-way between 32 and 64 µs')
  buckets[8] = 100
  t.equal(quantile(buckets, 0.5), 64e-6)
  t.equal(quantile(buckets, 0.75), 192e-6)
  const late = new Array<number>(durationBuckets).fill(0)
  late[durationBuckets - 1] = 1
  t.equal(quantile(late, 0.99), 2 ** 25 / 1e6, 'the last bucket has no upper bound')
})
