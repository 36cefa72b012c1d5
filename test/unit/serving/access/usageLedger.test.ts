import { join } from 'node:path'
import t, { type Test } from 'tap'
import { NodeStore } from '../../../../src/data/store/node/nodeStore.js'
import { hourMs, type KeyUsage, type UsageStore } from '../../../../src/data/store/node/usage.js'
import { UsageCounter } from '../../../../src/serving/access/usageCounter.js'
import { UsageLedger } from '../../../../src/serving/access/usageLedger.js'
import { type UsageQuestion, UsageReport } from '../../../../src/serving/access/usageReport.js'

const methods = ['eth_call', 'eth_getLogs']
const alice = 'aaaaaaaaaaaa'
const bob = 'bbbbbbbbbbbb'
const startMs = Date.UTC(2026, 10, 22, 18, 59)

function open(t: Test) {
  const store = NodeStore.open({ path: join(t.testdir(), 'node.mdb'), mapBytes: 2 ** 30 })
  const counter = new UsageCounter((slot) => methods[slot] as string)
  const failures: Error[] = []
  const noted: unknown[] = []
  let nowMs = startMs
  const ledger = new UsageLedger(store.openUsage() as UsageStore, counter, {
    nowMs: () => nowMs,
    onFailure: (error) => failures.push(error),
    onNoted: ({ method, block }, what) => void noted.push([what, method, block]),
  })
  t.teardown(async () => {
    await ledger.close()
    await store.close()
  })
  const pass = (ms: number) => {
    nowMs += ms
  }
  const read = async (question: UsageQuestion) => {
    const report = new UsageReport(question, nowMs)
    await ledger.read(report.from, report.to, question.key, (cells) => report.add(cells))
    return report.rows()
  }
  return { counter, ledger, failures, noted, pass, read }
}

const nothing = { used: [], slow: [], failed: [], refused: [] }

t.test('an edge counts by key, network and method, and gives each count away once', async (t) => {
  const counter = new UsageCounter((slot) => methods[slot] as string)
  const first = counter.ofNetwork('first')
  const second = counter.ofNetwork('second')
  t.equal(counter.take(), undefined)
  first.count(alice, 0, 1, false, 5, 100)
  first.count(alice, 0, 1, true, 5, 0)
  first.count(alice, 0, 0, false, 7, 50)
  first.count(bob, 0, 1, false, 1, 1)
  first.count(alice, 1, 1, false, 2, 2)
  second.count(alice, 0, 1, false, 3, 3)
  second.noteSlow(bob, 1, { error: '-32000: late', ms: 150, block: 'latest (271)', params: '[]' })
  for (let time = 0; time < 30; time++) {
    for (const [slot, error] of [
      [0, '-32602: wrong'],
      [1, `-32000: ${time}`],
    ] as const)
      first.noteFailed(bob, slot, error, () => ({ error, ms: 0, block: undefined, params: '["x"]' }))
  }
  for (let time = 0; time < 3; time++) first.refused(alice, 'limit', 'too much')
  counter.refused(bob, 'key network', 'network outside the scope of the key')
  const report = counter.take()
  t.strictSame(report?.used, [
    { keyId: alice, network: 'first', method: 'eth_call', calls: 2, errors: 1, units: 17, bytes: 150 },
    { keyId: alice, network: 'first', method: 'eth_getLogs', calls: 1, errors: 0, units: 2, bytes: 2 },
    { keyId: bob, network: 'first', method: 'eth_call', calls: 1, errors: 0, units: 1, bytes: 1 },
    { keyId: alice, network: 'second', method: 'eth_call', calls: 1, errors: 0, units: 3, bytes: 3 },
  ])
  t.match(report?.slow, [
    {
      keyId: bob,
      network: 'second',
      method: 'eth_getLogs',
      error: '-32000: late',
      block: 'latest (271)',
      ms: 150,
    },
  ])
  t.match(report?.failed[0], { keyId: bob, network: 'first', method: 'eth_call', error: '-32602: wrong' })
  t.equal(report?.failed.length, 10, 'a flood of failures takes little time')
  t.strictSame(report?.refused, [
    { keyId: alice, reason: 'limit', count: 3, why: 'too much' },
    { keyId: bob, reason: 'key network', count: 1, why: 'network outside the scope of the key' },
  ])
  t.equal(counter.take(), undefined)
  first.count(alice, 1, 1, false, 2, 2)
  t.match(counter.take()?.used, [{ method: 'eth_getLogs', calls: 1 }], 'what was last counted begins anew')
})

t.test('reports of all edges add up, by the hour in which they came', async (t) => {
  const { counter, ledger, pass, read } = open(t)
  const network = counter.ofNetwork('demo')
  network.count(alice, 0, 1, false, 5, 100)
  await ledger.flush()
  const used = { keyId: alice, network: 'demo', method: 'eth_call', calls: 2, errors: 1, units: 3, bytes: 4 }
  ledger.take({ ...nothing, used: [used] })
  pass(60_000)
  network.count(alice, 0, 1, false, 5, 100)
  t.strictSame(await read({ by: 'hour,key' }), [
    { key: alice, time: '2026-11-22T18:00:00.000Z', calls: 3, errors: 1, units: 8, bytes: 104 },
    { key: alice, time: '2026-11-22T19:00:00.000Z', calls: 1, errors: 0, units: 5, bytes: 100 },
  ])
})

t.test('top keys are those of the last minute', async (t) => {
  const { counter, ledger, pass } = open(t)
  const network = counter.ofNetwork('demo')
  network.count(alice, 0, 1, false, 5, 100)
  network.count(bob, 0, 1, false, 50, 100)
  t.strictSame(
    ledger.readTopKeys().map(({ keyId, units }) => [keyId, units]),
    [
      [bob, 50],
      [alice, 5],
    ],
  )
  pass(30_000)
  network.count(alice, 0, 1, false, 60, 100)
  t.equal(ledger.readTopKeys()[0]?.keyId, alice)
  pass(30_000)
  t.strictSame(
    ledger.readTopKeys().map(({ keyId, units }) => [keyId, units]),
    [[alice, 60]],
  )
  pass(60_000)
  t.strictSame(ledger.readTopKeys(), [])
})

t.test('slow calls come newest first, and are bounded', async (t) => {
  const { ledger } = open(t)
  const call = {
    keyId: alice,
    network: 'demo',
    method: 'eth_call',
    error: undefined,
    block: undefined,
    params: '[]',
    ms: 200,
  }
  for (let atMs = 0; atMs < 200; atMs++) ledger.take({ ...nothing, slow: [{ ...call, atMs }] })
  const found = ledger.readSlowCalls()
  t.equal(found.length, 50)
  t.equal(found[0]?.atMs, 199)
})

t.test('refusals of a key are counted by reason, for an hour', async (t) => {
  const { ledger, pass } = open(t)
  const refuse = (keyId: string, count: number, why: string) =>
    ledger.take({ ...nothing, refused: [{ keyId, reason: 'limit', count, why }] })
  refuse(alice, 3, 'first')
  pass(59 * 60_000)
  refuse(alice, 4, 'last')
  refuse(bob, 9, 'of bob')
  t.match(ledger.readRefusals(), [
    { keyId: bob, count: 9 },
    { keyId: alice, count: 7, why: 'last' },
  ])
  pass(2 * 60_000)
  t.match(ledger.readRefusals(), [{ keyId: bob }, { keyId: alice, count: 4 }])
  pass(60 * 60_000)
  t.strictSame(ledger.readRefusals(), [])
  for (let key = 0; key < 3_000; key++) refuse(key.toString(16).padStart(12, '0'), 1, 'flood')
  t.equal(ledger.readRefusals().length, 50)
})

t.test('the 50 keys that spend most have counters, all others one, and no counter falls', async (t) => {
  const { ledger, pass } = open(t)
  const id = (key: number) => key.toString(16).padStart(12, '0')
  const spend = (key: number, units: number) => {
    const used = { keyId: id(key), network: 'demo', method: 'eth_call', calls: 1, errors: 0, units, bytes: 0 }
    ledger.take({ ...nothing, used: [used] })
  }
  const totals = () => new Map(ledger.readKeyTotals().map(({ keyId = 'other', units }) => [keyId, units]))
  for (let key = 1; key <= 60; key++) spend(key, 10)
  t.equal(totals().size, 51)
  t.equal(totals().get('other'), 100)
  const before = totals()
  spend(60, 1_000)
  pass(60_000)
  spend(60, 5)
  t.equal(totals().get(id(60)), 5, 'its own counter begins')
  t.equal(totals().size, 51)
  for (const [keyId, units] of totals()) t.ok(units >= (before.get(keyId) ?? 0), keyId)
  const sum = [...totals().values()].reduce((sum, units) => sum + units, 0)
  t.ok(sum >= 1_600 - 10 && sum <= 1_605, 'what a dropped key had is gone, nothing is counted twice')
})

t.test('of equal failures the newest is kept, so that they displace no others', async (t) => {
  const { ledger, noted } = open(t)
  const call = { keyId: alice, network: 'demo', method: 'eth_call', block: undefined, params: '[]', ms: 0 }
  const fail = (error: string, atMs: number) =>
    ledger.take({ ...nothing, failed: [{ ...call, error, atMs }] })
  fail('seldom', 0)
  t.strictSame(noted, [['failed call', 'eth_call', undefined]], 'each is reported, for the log')
  for (let atMs = 1; atMs < 500; atMs++) fail('often', atMs)
  t.match(ledger.readFailedCalls(), [
    { error: 'often', atMs: 499 },
    { error: 'seldom', atMs: 0 },
  ])
  for (let atMs = 500; atMs < 700; atMs++) fail(String(atMs), atMs)
  t.equal(ledger.readFailedCalls().length, 50)
  t.match(ledger.readFailedCalls()[0], { error: '699' })
})

t.test('a report is filtered, grouped and sorted as was asked', async (t) => {
  const cell = (hour: number, rest: Partial<KeyUsage>): KeyUsage => ({
    keyId: alice,
    network: 'demo',
    method: 'eth_call',
    hour,
    calls: 1,
    errors: 0,
    units: 1,
    bytes: 10,
    ...rest,
  })
  const day = Date.UTC(2026, 10, 22) / hourMs
  const cells = [cell(day, {}), cell(day + 1, { keyId: bob, units: 9 }), cell(day + 25, { method: 'other' })]
  const rowsOf = (question: UsageQuestion) => {
    const report = new UsageReport(question, (day + 30) * hourMs)
    report.add(cells.filter(({ hour }) => hour >= report.from && hour < report.to))
    return report.rows()
  }
  t.match(rowsOf({ from: '2026-11-22' }), [
    { key: bob, method: 'eth_call', units: 9 },
    { key: alice, method: 'eth_call', units: 1 },
    { key: alice, method: 'other', units: 1 },
  ])
  t.match(rowsOf({ from: '2026-11-22', by: 'day' }), [
    { time: '2026-11-22T00:00:00.000Z', calls: 2, bytes: 20 },
    { time: '2026-11-23T00:00:00.000Z', calls: 1 },
  ])
  t.match(rowsOf({ from: '2026-11-22', key: bob, by: 'network' }), [{ network: 'demo', calls: 1 }])
  t.match(rowsOf({ from: '2026-11-22', method: 'other', by: 'key' }), [{ key: alice, calls: 1 }])
  t.strictSame(rowsOf({ from: '2026-11-22', to: '2026-11-22T01:00Z', by: 'key' }).length, 1)
  t.strictSame(rowsOf({ by: 'key' }).length, 1, 'the last day where nothing is said')
  t.strictSame(rowsOf({ by: 'key', to: '9999-12-31' }).length, 1, 'the end is now at most')
  const { from, to } = new UsageReport(
    { from: '2026-11-22T10:30+01:00', to: '2026-11-22T18:00Z' },
    (day + 30) * hourMs,
  )
  t.strictSame([from - day, to - day], [9, 18])
})

t.test('a question that makes no sense is refused', async (t) => {
  for (const [question, why] of [
    [{ by: 'colour' }, /grouped by key, network, method, hour, day/],
    [{ from: 'yesterday' }, /expected a day/],
    [{ to: '2026-13-40' }, /expected a day/],
    [{ from: '2026-02-30' }, /expected a day/],
    [{ from: '2026-02-29T10:00Z' }, /expected a day/],
    [{ from: '2026-11-22T10:00' }, /expected a day/],
    [{ from: '9999-12-30', to: '9999-12-31' }, /after now/],
    [{ from: '2026-11-22', to: '2026-11-21' }, /begins after its end/],
  ] as const) {
    t.throws(() => new UsageReport(question, startMs), { name: 'UsageError', message: why })
  }
  const report = new UsageReport({ by: 'key' }, startMs, 1)
  const cell = { network: 'n', method: 'm', hour: 0, calls: 1, errors: 0, units: 1, bytes: 1 }
  t.throws(
    () =>
      report.add([
        { ...cell, keyId: alice },
        { ...cell, keyId: bob },
      ]),
    {
      name: 'UsageError',
      message: /more than 1 rows/,
    },
  )
})

t.test('a paused edge reports nothing, neither then nor later', async (t) => {
  const counter = new UsageCounter((slot) => methods[slot] as string)
  const network = counter.ofNetwork('first')
  counter.pause()
  network.count(alice, 0, 1, true, 5, 100)
  const late = { error: undefined, ms: 150, block: undefined, params: '[]' }
  network.noteSlow(alice, 0, late)
  network.noteFailed(alice, 0, '-32000: late', () => late)
  counter.refused(alice, 'limit', 'too much')
  t.equal(counter.take(), undefined)
  counter.resume()
  t.equal(counter.take(), undefined)
  network.count(bob, 0, 1, false, 1, 1)
  t.strictSame(counter.take(), {
    ...nothing,
    used: [{ keyId: bob, network: 'first', method: 'eth_call', calls: 1, errors: 0, units: 1, bytes: 1 }],
  })
})
