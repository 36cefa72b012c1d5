// @shares
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { CallHistory } from '../../../../src/serving/metrics/callHistory.js'
import { allotCounts, EdgeCounts } from '../../../../src/serving/metrics/edgeCounts.js'
import { sampleCounts } from '../../../../src/serving/metrics/recentCalls.js'

const methods = ['eth_call', 'eth_getLogs']
const day = 86_400
const hour = 3_600

/** A history beside the counts of an edge, with a clock that moves by ticks. */
function open(t: Test, path?: string, nowMs = 0, count = methods, networks: readonly string[] = ['']) {
  const edge = new EdgeCounts(allotCounts(count, 1, networks), count, 0, networks)
  const clock = { nowMs }
  const failures: Error[] = []
  const history = new CallHistory({
    path,
    counts: () => sampleCounts([edge], clock.nowMs),
    ages: () => ({ demo: 7 }),
    nowMs: () => clock.nowMs,
    onFailure: (error) => failures.push(error),
  })
  t.teardown(() => history.close())
  const tick = (seconds: number, step = 1) => {
    for (let passed = 0; passed < seconds; passed += step) {
      clock.nowMs += step * 1_000
      history.tick()
    }
  }
  const call = (method: string, times: number, errorCode?: number) => {
    for (let at = 0; at < times; at++) edge.ended(edge.slotOf(method), true, performance.now(), 1, errorCode)
  }
  return { edge, history, tick, call, failures, clock }
}

t.test('a minute is a point, and what came since then is one already', async (t) => {
  const { edge, history, tick, call } = open(t)
  t.strictSame(history.read(hour).atMs, [])
  call('eth_call', 30)
  call('eth_getLogs', 30, -32005)
  edge.rejected('key')
  tick(30)
  t.match(history.read(hour), {
    atMs: [30_000],
    calls: [{ callsPerSecond: 2, errorsPerSecond: 1, p50Seconds: Number, p99Seconds: Number }],
    rejectionsPerSecond: [1 / 30],
    errors: [{ name: '-32005', values: [1] }],
    ages: [{ network: 'demo', seconds: [7] }],
  })
  tick(30)
  call('eth_call', 60)
  tick(60)
  const found = history.read(hour)
  t.strictSame(found.atMs, [60_000, 120_000])
  t.strictSame(
    found.calls.map(({ callsPerSecond }) => callsPerSecond),
    [1, 1],
  )
  t.match(found.methods, [
    { method: 'eth_call', calls: 90, failed: 0, callsPerSecond: 0.75, errorsPerSecond: 0 },
    { method: 'eth_getLogs', calls: 30, failed: 30, callsPerSecond: 0.25, errorsPerSecond: 0.25 },
  ])
  t.strictSame(found.failures, [{ network: '', method: 'eth_getLogs', code: '-32005', count: 30 }])
  t.strictSame(found.refusals, [{ reason: 'key', count: 1 }])
  const one = history.read(hour, { method: 'eth_getLogs' }).calls
  t.strictSame(
    one.map(({ callsPerSecond, errorsPerSecond }) => [callsPerSecond, errorsPerSecond]),
    [
      [0.5, 0.5],
      [0, 0],
    ],
  )
  t.equal(one[1]?.p50Seconds, undefined)
})

t.test('networks are apart, and older files have points without them', async (t) => {
  const path = join(t.testdir(), 'calls.jsonl')
  const older = { at: 1_000, seconds: 1, methods: { eth_call: [7, 2] }, errors: { '-32000': 2 } }
  writeFileSync(path, `${JSON.stringify({ ...older, rejections: {}, units: {}, ages: {} })}\n`)
  const networks = ['main', 'test']
  const { history, tick, edge } = open(t, path, 2_000, undefined, networks)
  const call = (network: string, code?: number) =>
    edge.ended(edge.slotsFrom(network) + edge.slotOf('eth_call'), true, performance.now(), 1, code)
  call('main')
  call('test')
  call('test', -32000)
  tick(60)
  const of = (network?: string) => history.read(hour, { network })
  t.match(of().networks, [
    { network: 'main', calls: 1, failed: 0 },
    { network: 'test', calls: 2, failed: 1 },
  ])
  t.match(of('test').methods, [{ network: 'test', method: 'eth_call', calls: 2 }])
  t.strictSame(of('test').failures, [{ network: 'test', method: 'eth_call', code: '-32000', count: 1 }])
  t.strictSame(of('main').failures, [])
  t.match(of('main').errors, [])
  t.equal(
    of().methods.reduce((sum, { calls }) => sum + calls, 0),
    10,
  )
  t.match(of().failures, [
    { network: '', method: '', code: '-32000', count: 2 },
    { network: 'test', count: 1 },
  ])
})

t.test('a day is kept, and told in as many points as a chart can show', async (t) => {
  const { history, tick, call } = open(t)
  call('eth_call', 60)
  tick(2 * day, 60)
  t.equal(history.read(hour).atMs.length, 60)
  const { atMs, calls } = history.read(day)
  t.equal(atMs.length, 180)
  t.equal(atMs.at(-1), 2 * day * 1_000)
  t.ok((atMs[0] ?? 0) > day * 1_000)
  call('eth_call', 480)
  tick(60)
  const last = history.read(day).calls.at(-1)
  t.equal(Math.round((last?.callsPerSecond ?? 0) * 480), 480, 'added up over eight minutes')
  t.ok(calls.every(({ callsPerSecond }) => callsPerSecond === 0))
})

t.test('it survives a restart, and a line that was written in part', async (t) => {
  const path = join(t.testdir(), 'calls.jsonl')
  const before = open(t, path)
  before.call('eth_call', 60)
  before.history.take([{ keyId: 'key', units: 600 }])
  before.tick(60)
  before.call('eth_getLogs', 10, -32000)
  before.tick(10)
  await before.history.close()
  const whole = before.history.read(hour)
  writeFileSync(path, `${readFileSync(path, 'utf8')}{"at":70001,"sec`)
  const after = open(t, path, before.clock.nowMs)
  t.strictSame(after.history.read(hour), whole)
  t.match(whole.keys, [{ name: 'key', values: [10, 0] }])
  t.equal(statSync(path).mode & 0o777, 0o600)
  const blocked = open(t, join(t.testdir({ folder: {} }), 'folder'))
  blocked.tick(60)
  await blocked.history.close()
  t.match(blocked.failures, [{ code: 'EISDIR' }])
  t.equal(blocked.history.read(hour).atMs.length, 1, 'what cannot be written is known here')
})

t.test('files have two days at most, of few kilobytes a minute however much is called', async (t) => {
  const path = join(t.testdir(), 'calls.jsonl')
  const many = Array.from({ length: 150 }, (_, at) => `method_${at}`)
  const { history, tick, call, failures } = open(t, path, 0, many)
  history.take(Array.from({ length: 1_000 }, (_, at) => ({ keyId: `key ${at}`, units: at })))
  for (const [at, method] of many.entries()) call(method, at + 1, at)
  tick(60)
  const { methods, keys } = history.read(hour)
  t.equal(methods.length, 41)
  t.equal(methods[0]?.method, 'other')
  t.equal(keys.length, 5)
  const sum = keys.reduce((sum, { values }) => sum + (values[0] ?? 0), 0)
  t.equal(Math.round(sum * 60), 499_500)
  await history.close()
  t.ok(statSync(path).size < 8_192, String(statSync(path).size))
  tick(3 * day, 60)
  await history.close()
  const lines = (name: string) => readFileSync(name, 'utf8').trim().split('\n').length
  t.equal(lines(`${path}.old`), 1_440)
  t.ok(lines(path) <= 1_440)
  t.strictSame(failures, [])
})

t.test('an answer lists a hundred errors by method and code, those with most', async (t) => {
  const many = Array.from({ length: 150 }, (_, at) => `method_${at}`)
  const { history, tick, call } = open(t, undefined, 0, many)
  for (let round = 0; round < 3; round++) {
    for (const method of many.slice(50 * round, 50 * round + 39)) call(method, 2 + round, -32000)
    tick(60)
  }
  const { failures } = history.read(hour)
  t.equal(failures.length, 100)
  t.match(failures[0], { code: '-32000', count: 4 })
  t.equal(failures.at(-1)?.count, 2)
})

t.test('keys that spent most are told apart, all others together, each at the time it spent', async (t) => {
  const { history, tick } = open(t)
  const keys = Array.from({ length: 30 }, (_, at) => ({ keyId: `key ${at}`, units: 100 - at }))
  history.take(keys)
  history.take([{ keyId: 'key 29', units: 1_000 }])
  tick(60)
  history.take([{ keyId: 'key 5', units: 60 }])
  tick(60)
  const found = history.read(hour).keys
  t.strictSame(
    found.map(({ name }) => name),
    ['key 29', 'key 5', 'key 0', 'key 1', 'other'],
  )
  t.equal(found[1]?.values[1], 1)
})
