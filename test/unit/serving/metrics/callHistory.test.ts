import t from 'tap'
import { CallHistory } from '../../../../src/serving/metrics/callHistory.js'
import { allotCounts, EdgeCounts } from '../../../../src/serving/metrics/edgeCounts.js'
import { RecentCalls } from '../../../../src/serving/metrics/recentCalls.js'

const methods = ['eth_call']

/** A history beside the counts of an edge, with a clock that goes on a second a tick. */
function open() {
  const edge = new EdgeCounts(allotCounts(methods, 1), methods, 0)
  let nowMs = 0
  const recent = new RecentCalls([edge], () => nowMs)
  const history = new CallHistory(() => nowMs)
  const tick = (count = 1) => {
    for (let second = 0; second < count; second++) {
      nowMs += 1_000
      recent.sample()
      history.tick(() => recent.read())
    }
  }
  return { edge, history, tick }
}

t.test('the first point is there at once, the next after ten seconds, with what came between', async (t) => {
  const { edge, history, tick } = open()
  tick()
  t.match(history.points, [{ atMs: 1_000, callsPerSecond: 0, p50Seconds: undefined }])
  for (let call = 0; call < 70; call++) edge.repeated(0, 1, edge.beginStored())
  edge.ended(0, true, performance.now(), undefined, -32005)
  edge.rejected(401)
  tick(9)
  t.equal(history.points.length, 1)
  tick()
  t.equal(history.points.length, 2)
  t.match(history.points[1], {
    atMs: 11_000,
    callsPerSecond: 7.1,
    errorsPerSecond: 0.1,
    rejectionsPerSecond: 0.1,
    p50Seconds: Number,
    p99Seconds: Number,
  })
})

t.test('an hour is kept', async (t) => {
  const { history, tick } = open()
  tick(2 * 3_600)
  t.equal(history.points.length, 360)
  t.equal(history.points[0]?.atMs, 3_601_000)
  t.equal(history.points.at(-1)?.atMs, 7_191_000)
})

t.test('keys that spent most are told apart, all others together, each at the time it spent', async (t) => {
  const { history, tick } = open()
  tick()
  t.strictSame(history.readKeys(), [])
  const keys = Array.from({ length: 30 }, (_, at) => ({ keyId: `key ${at}`, units: 100 - at }))
  history.take(keys)
  history.take([{ keyId: 'key 29', units: 1_000 }])
  tick(10)
  history.take([{ keyId: 'key 1', units: 50 }])
  tick(10)
  const told = history.readKeys()
  t.strictSame(
    told.map(({ keyId }) => keyId),
    ['key 29', 'key 1', 'key 0', 'key 2', undefined],
  )
  t.strictSame(told[0]?.unitsPerSecond, [0, 107.1, 0])
  t.strictSame(told[1]?.unitsPerSecond, [0, 9.9, 5])
  const units = keys.reduce((sum, key) => sum + key.units, 1_000)
  t.equal(
    told.reduce((sum, { unitsPerSecond }) => sum + (unitsPerSecond[1] ?? 0), 0).toFixed(3),
    (units / 10).toFixed(3),
  )
})
