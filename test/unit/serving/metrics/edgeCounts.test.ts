import t from 'tap'
import { bucketSeconds, durationBuckets } from '../../../../src/primitives/durationBuckets.js'
import {
  allotCounts,
  bucketBytes,
  EdgeCounts,
  type EdgeFigures,
  errorCodes,
  errorNames,
  sizeBuckets,
  storedTimedOneIn,
} from '../../../../src/serving/metrics/edgeCounts.js'

const methods = ['eth_call', 'eth_getLogs']

const figures: EdgeFigures = {
  atMs: 1,
  cpuSeconds: 2,
  heapBytes: 3,
  connections: 4,
  subscriptions: 5,
  skippedEvents: 6,
  blockHits: 7,
  blockMisses: 8,
  blockBytes: 9,
  proofHits: 10,
  proofMisses: 11,
  proofBytes: 12,
  copyBytes: 13,
}

function open(edges = 1): EdgeCounts[] {
  const memory = allotCounts(methods, edges)
  return Array.from({ length: edges }, (_, edge) => new EdgeCounts(memory, methods, edge))
}

t.test('a method that is not served is counted as other, whatever its name', async (t) => {
  const [counts] = open() as [EdgeCounts]
  for (const name of ['eth_nothing', '', '__proto__', 'tg_secret']) counts.repeated(counts.slotOf(name), 5)
  t.strictSame(
    counts.readMethods().map(({ method, calls }) => [method, calls]),
    [['other', 4]],
  )
})

t.test('each edge has a part of its own', async (t) => {
  const [first, second] = open(2) as [EdgeCounts, EdgeCounts]
  first.repeated(first.slotOf('eth_call'), 10)
  second.ended(second.slotOf('eth_getLogs'), true, performance.now(), undefined, -32005)
  second.rejected('key')
  second.publish(figures)
  t.match(first.readMethods(), [{ method: 'eth_call', calls: 1, repeated: 1, answerBytes: 10 }])
  t.equal(first.readErrors().get('-32005'), 0)
  t.match(second.readMethods(), [{ method: 'eth_getLogs', calls: 1, repeated: 0 }])
  t.equal(second.readErrors().get('-32005'), 1)
  t.equal(second.readRejections().get('key'), 1)
  t.equal(first.readRejections().get('key'), 0)
  t.strictSame(second.figures, figures)
  t.equal(first.figures.atMs, 0)
})

t.test('networks are counted by themselves, and errors by method and code', async (t) => {
  const networks = ['main', 'test']
  const counts = new EdgeCounts(allotCounts(methods, 1, networks), methods, 0, networks)
  const call = (network: string, method: string, code?: number) =>
    counts.ended(counts.slotsFrom(network) + counts.slotOf(method), true, performance.now(), 1, code)
  call('main', 'eth_call')
  call('test', 'eth_call', -32000)
  call('test', 'eth_getLogs', -32005)
  call('test', 'eth_nothing', -32601)
  const read = counts.readMethods()
  t.strictSame(
    read.map(({ network, method, calls, failed }) => [network, method, calls, failed]),
    [
      ['main', 'eth_call', 1, 0],
      ['test', 'eth_call', 1, 1],
      ['test', 'eth_getLogs', 1, 1],
      ['test', 'other', 1, 1],
    ],
  )
  const codes = read.map(({ errors }) => errorNames.filter((_, at) => errors[at] === 1))
  t.strictSame(codes, [[], ['-32000'], ['-32005'], ['-32601']])
  t.equal(counts.methodAt(counts.slotsFrom('test') + counts.slotOf('eth_getLogs')), 'eth_getLogs')
  counts.rejected('busy')
  t.equal(counts.readRejections().get('busy'), 1)
  t.strictSame(counts.readMethods(), read, 'what stands beside them is apart')
})

t.test('a size falls into the smallest bucket that holds it', async (t) => {
  for (const bytes of [0, 1, 63, 64, 65, 256, 257, 4 ** 13, 4 ** 13 + 1, 2 ** 31 - 1]) {
    const [counts] = open() as [EdgeCounts]
    counts.repeated(counts.slotOf('eth_call'), bytes)
    const [found] = counts.readMethods()
    const bucket = found?.sizes.indexOf(1) ?? -1
    t.ok(bytes <= (bucketBytes(bucket) ?? Number.POSITIVE_INFINITY), `${bytes} is not above its bound`)
    if (bucket > 0) t.ok(bytes > (bucketBytes(bucket - 1) as number), `${bytes} is above the bound before`)
  }
  t.equal(bucketBytes(sizeBuckets - 1), undefined)
})

t.test('a delay falls into the smallest bucket that holds it', async (t) => {
  for (const us of [0, 1, 2, 3, 31, 32, 33, 64, 65, 1_000, 2 ** 25, 2 ** 25 + 1, 2 ** 40]) {
    const [counts] = open() as [EdgeCounts]
    counts.delayed(us / 1_000)
    const bucket = counts.readDelays().buckets.indexOf(1)
    t.ok(us / 1e6 <= (bucketSeconds(bucket) ?? Number.POSITIVE_INFINITY), `${us} µs is not above its bound`)
    if (bucket > 0)
      t.ok(us / 1e6 > (bucketSeconds(bucket - 1) as number), `${us} µs is above the bound before`)
  }
  t.equal(bucketSeconds(durationBuckets - 1), undefined)
})

t.test('jobs are all timed, and of other calls a sample stands for all', async (t) => {
  const [counts] = open() as [EdgeCounts]
  const slot = counts.slotOf('eth_call')
  for (let call = 0; call < 160; call++) counts.ended(slot, false, counts.begin(false), 1)
  for (let call = 0; call < 7; call++) counts.ended(slot, true, counts.begin(true), 1)
  const [found] = counts.readMethods()
  t.equal(found?.calls, 167)
  t.equal(
    found?.durations.reduce((sum, value) => sum + value),
    167,
  )
  t.ok((found?.durationSeconds ?? 0) > 0)
})

t.test('of stored answers one in 64 is timed and stands for 64, whatever methods they are of', async (t) => {
  const [counts] = open() as [EdgeCounts]
  let timed = 0
  for (let call = 0; call < 10 * storedTimedOneIn; call++) {
    const startedMs = counts.beginStored()
    timed += Number(startedMs !== 0)
    counts.repeated(counts.slotOf(methods[call % 2] ?? ''), 1, startedMs)
    // The durations have no sample of a batch's member.
    counts.repeated(counts.slotOf('eth_call'), 1)
  }
  t.equal(timed, 10)
  const durations = counts.readMethods().flatMap((method) => method.durations)
  t.equal(
    durations.reduce((sum, value) => sum + value),
    10 * storedTimedOneIn,
  )
  t.ok(counts.readMethods().some(({ durationSeconds }) => durationSeconds > 0))
})

t.test('a request that begins while a stored answer is due leaves it due', async (t) => {
  const [counts] = open() as [EdgeCounts]
  for (let call = 1; call < storedTimedOneIn; call++) counts.repeated(0, 1, counts.beginStored())
  t.ok(counts.beginStored() > 0, 'of a call that turns out not to be stored')
  counts.repeated(0, 1, counts.beginStored())
  t.equal(counts.readMethods()[0]?.durations.indexOf(storedTimedOneIn) !== -1, true)
  t.equal(counts.beginStored(), 0)
})

t.test('an error code that is not listed is counted as other', async (t) => {
  const [counts] = open() as [EdgeCounts]
  for (const code of [...errorCodes, 1_234_567]) counts.ended(0, false, 0, undefined, code)
  t.strictSame([...counts.readErrors().values()], [...errorCodes.map(() => 1), 1])
})

t.test('cleared counts are as new ones, and those of other edges remain', async (t) => {
  const [first, second] = open(2) as [EdgeCounts, EdgeCounts]
  for (const counts of [first, second]) {
    const slot = counts.slotOf('eth_call')
    for (let call = 0; call < 100; call++) counts.repeated(slot, 10, counts.beginStored())
    counts.ended(slot, false, counts.begin(false), undefined, -32005)
    counts.rejected('key')
    counts.delayed(5)
    counts.publish(figures)
  }
  const kept = JSON.stringify([second.readMethods(), second.figures])
  first.clear()
  t.strictSame(first.readMethods(), [])
  t.equal(first.readRejections().get('key'), 0)
  t.equal(first.readDelays().seconds, 0)
  t.equal(first.figures.blockHits, 0)
  const timed = Array.from({ length: storedTimedOneIn }, () => {
    const startedMs = first.beginStored()
    first.repeated(first.slotOf('eth_call'), 1, startedMs)
    return startedMs > 0
  })
  t.equal(timed.indexOf(true), storedTimedOneIn - 1, 'the sample begins anew')
  t.equal(JSON.stringify([second.readMethods(), second.figures]), kept)
})
