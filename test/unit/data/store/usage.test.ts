import { join } from 'node:path'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { openEnvironment, openTable } from '../../../../src/data/store/lmdb/environment.js'
import { NodeStore } from '../../../../src/data/store/node/nodeStore.js'
import {
  hourMs,
  type KeyUsage,
  type UsageStore,
  usageDays,
  usageTableNames,
} from '../../../../src/data/store/node/usage.js'
import { decodeUsage, encodeUsage, type UsageCell } from '../../../../src/data/store/node/usageBlock.js'
import { propertyRuns } from '../../../library/property.js'

const mapBytes = 2 ** 30
const keyId = '0123456789ab'

function openStore(t: Test) {
  const path = join(t.testdir(), 'node.mdb')
  const store = NodeStore.open({ path, mapBytes })
  t.teardown(() => store.close())
  return { path, store, usage: store.openUsage() as UsageStore }
}

function cell(hour: number, method = 'eth_call', rest: Partial<KeyUsage> = {}): KeyUsage {
  return { keyId, network: 'demo', hour, method, calls: 3, errors: 1, units: 70, bytes: 400, ...rest }
}

function readAll(usage: UsageStore, from = 0, to = 10 ** 6, id?: string): KeyUsage[] {
  return [...usage.read(from, to, id)]
    .flat()
    .sort((a, b) => a.hour - b.hour || a.method.localeCompare(b.method))
}

t.test('what is encoded is decoded, with sums of cells that are the same', async (t) => {
  const amount = fc.oneof(fc.nat(3), fc.nat(), fc.nat(2 ** 45))
  const cells = fc.array(
    fc.record({
      network: fc.constantFrom('a', 'zweites-netz'),
      method: fc.constantFrom('eth_call', 'other', 'ünïcode'),
      hour: fc.nat(5),
      calls: fc.oneof(fc.nat(3), fc.nat(2 ** 40)),
      errors: amount,
      units: amount,
      bytes: amount,
    }),
    { maxLength: 30 },
  )
  fc.assert(
    fc.property(cells, (found) => {
      const sums = new Map<string, UsageCell>()
      for (const cell of found) {
        const name = [cell.network, cell.method, cell.hour].join()
        const sum = sums.get(name)
        sums.set(name, {
          ...cell,
          calls: cell.calls + (sum?.calls ?? 0),
          errors: cell.errors + (sum?.errors ?? 0),
          units: cell.units + (sum?.units ?? 0),
          bytes: cell.bytes + (sum?.bytes ?? 0),
        })
      }
      const order = (a: UsageCell, b: UsageCell) => JSON.stringify(a).localeCompare(JSON.stringify(b))
      t.strictSame(decodeUsage(encodeUsage(found)).sort(order), [...sums.values()].sort(order))
    }),
    propertyRuns(100),
  )
})

t.test('a row that is cut short is no row', async (t) => {
  const whole = encodeUsage([cell(5), cell(9)])
  for (let length = 1; length < whole.length; length++) {
    t.throws(() => decodeUsage(whole.subarray(0, length)), RangeError)
  }
})

t.test('usage adds up by hour, and is read by key and time', async (t) => {
  const { usage } = openStore(t)
  await usage.add([
    cell(100),
    cell(101),
    cell(100, 'eth_getLogs'),
    cell(100, 'eth_call', { keyId: 'ba9876543210' }),
  ])
  await usage.add([cell(100)])
  t.strictSame(readAll(usage, 0, 200, keyId), [
    cell(100, 'eth_call', { calls: 6, errors: 2, units: 140, bytes: 800 }),
    cell(100, 'eth_getLogs'),
    cell(101),
  ])
  t.equal(readAll(usage).length, 4)
  t.strictSame(readAll(usage, 101, 102), [cell(101)])
  t.strictSame(readAll(usage, 102, 200), [])
})

t.test('packing moves the days that are over, and changes nothing that is read', async (t) => {
  const { usage } = openStore(t)
  // Hours of two months, on both sides of midnight.
  const hours = [743, 744, 745, 767, 768, 1_415, 1_416, 1_417]
  const expected: KeyUsage[] = []
  for (const hour of hours) {
    await usage.add([cell(hour)])
    expected.push(cell(hour))
    await usage.pack(hour * hourMs)
    t.strictSame(readAll(usage), expected, `at hour ${hour}`)
  }
  await usage.add([cell(744)])
  await usage.pack(3_000 * hourMs)
  expected[1] = cell(744, 'eth_call', { calls: 6, errors: 2, units: 140, bytes: 800 })
  t.strictSame(readAll(usage), expected, 'what comes late is added')
  t.strictSame(readAll(usage, 744, 768), expected.slice(1, 4))
})

t.test(`what is older than ${usageDays} days is removed, and nothing younger`, async (t) => {
  const { usage } = openStore(t)
  const first = 24 * 400
  const days = Array.from({ length: 500 }, (_, day) => first + day * 24)
  await usage.add(days.map((hour) => cell(hour)))
  const now = first + 500 * 24
  await usage.pack(now * hourMs)
  const kept = readAll(usage)
  t.ok((kept[0]?.hour ?? now) <= now - usageDays * 24)
  t.ok((kept[0]?.hour ?? 0) > now - (usageDays + 32) * 24, 'by whole months')
  t.ok(kept.length >= usageDays)
})

t.test('a busy key takes less than 1 MB in 400 days', async (t) => {
  // Busy: ten methods in each hour, with up to a million calls each, of answers of every length.
  const methods = Array.from({ length: 10 }, (_, index) => `eth_getSomething${index}`)
  const { path, store, usage } = openStore(t)
  let seed = 1
  const random = (below: number) => {
    seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((seed / 2 ** 32) * below)
  }
  const begin = Date.UTC(2026, 0, 1) / hourMs
  const cells = (hour: number) =>
    methods.map((method, index) => {
      const calls = random(1_000_000)
      const errors = index < 5 ? 0 : random(1_000)
      const units = calls * (index + 1) + (index < 5 ? 0 : random(calls))
      return cell(hour, method, { calls, errors, units, bytes: calls * 500 + random(calls * 100) })
    })
  let total = 0
  for (let day = 0; day < usageDays; day += 10) {
    const hours = Array.from({ length: 240 }, (_, hour) => begin + day * 24 + hour)
    const added = hours.flatMap(cells)
    total += added.reduce((sum, { calls, units, bytes, errors }) => sum + calls + units + bytes + errors, 0)
    await usage.add(added)
    await usage.pack((begin + (day + 10) * 24) * hourMs)
  }
  const found = readAll(usage, begin, begin + usageDays * 24, keyId)
  t.equal(found.length, usageDays * 24 * methods.length)
  t.equal(
    found.reduce((sum, { calls, units, bytes, errors }) => sum + calls + units + bytes + errors, 0),
    total,
  )
  await store.close()
  const environment = openEnvironment({ path, readOnly: true, mapBytes })
  const pages = Object.values(usageTableNames).map((name) => {
    const stats = openTable(environment, name)?.getStats() as Record<string, number>
    const { treeBranchPageCount = 0, treeLeafPageCount = 0, overflowPages = 0 } = stats
    return treeBranchPageCount + treeLeafPageCount + overflowPages
  })
  await environment.close()
  const bytes = pages.reduce((sum, count) => sum + count) * 4_096
  t.ok(bytes < 10 ** 6, `${bytes} bytes on disk`)
  t.comment(`${bytes} bytes on disk`)
})
