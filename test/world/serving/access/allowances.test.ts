// @shares
import { join } from 'node:path'
import t from 'tap'
import type { KeyLimits } from '../../../../src/data/store/node/keyRows.js'
import { NodeStore } from '../../../../src/data/store/node/nodeStore.js'
import { Allowances, type KeyAllowance } from '../../../../src/serving/access/allowances.js'
import { DayQuotas } from '../../../../src/serving/access/dayQuotas.js'
import { Meter } from '../../../../src/serving/access/meter.js'
import { onSmallDisk, withoutSmallDisk } from '../../../store/smallDisk.js'

const keyId = '0123456789ab'
const noon = Date.UTC(2027, 0, 31, 12)

function openRig(defaults?: { unitsPerSecond: number; unitsBurst: number }) {
  const clock = { ms: noon }
  const quotas = new DayQuotas(undefined, () => clock.ms)
  const allowances = new Allowances(new Meter(undefined, () => clock.ms), defaults, quotas)
  const of = (limits: KeyLimits) => allowances.of(keyId, limits) as KeyAllowance
  return { clock, quotas, allowances, of }
}

t.test('a key without limits has no allowance, and one without its own has the default', async (t) => {
  t.equal(openRig().allowances.of(keyId), undefined)
  t.equal(openRig().allowances.of(keyId, { sockets: 1, weight: 2 }), undefined)
  const { allowances, of } = openRig({ unitsPerSecond: 10, unitsBurst: 100 })
  t.equal(allowances.of(keyId)?.charge(101), 100)
  t.equal(of({ unitsPerSecond: 5 }).unitsPerSecond, 5)
  t.equal(of({ unitsPerSecond: 5 }).charge(25_000), 0, 'its own burst')
})

t.test('requests are counted, whatever they cost, and reading is none', async (t) => {
  const { of, clock } = openRig()
  const allowance = of({ requestsPerSecond: 2, requestsBurst: 3 })
  t.strictSame(
    [1, 500, 1].map((units) => allowance.charge(units)),
    [0, 0, 0],
  )
  t.equal(allowance.charge(1), 500)
  t.strictSame(allowance.exceededLimit, {
    what: 'this API key may make 2 requests a second, 3 at once',
    limit: 2,
  })
  t.equal(allowance.charge(1_000, 0), 0)
  t.equal(allowance.exceededLimit, undefined)
  clock.ms += 500
  t.equal(allowance.charge(1), 0)
})

t.test('the quota of a day ends it until midnight', async (t) => {
  const { of, clock } = openRig()
  const allowance = of({ unitsPerDay: 100 })
  t.equal(allowance.charge(60), 0)
  const waitMs = 12 * 3_600_000
  t.equal(allowance.charge(41), waitMs)
  t.strictSame(allowance.exceededLimit, {
    what: 'this API key may spend 100 compute units a day',
    limit: 100,
    isOfDay: true,
  })
  t.equal(allowance.charge(40), 0, 'what was refused took nothing')
  clock.ms += waitMs - 1
  t.equal(allowance.charge(1), 1)
  clock.ms += 1
  t.equal(allowance.charge(100), 0)
  allowance.debit(1_000)
  t.match(allowance.headers()[1]?.[1], /^"day";r=0;t=86400$/)
})

t.test('a charge that one limit refuses takes nothing of the others', async (t) => {
  const { of } = openRig()
  const limits = {
    requestsPerSecond: 1,
    requestsBurst: 5,
    unitsPerSecond: 10,
    unitsBurst: 100,
    unitsPerDay: 150,
  }
  const allowance = of(limits)
  t.equal(allowance.charge(90), 0)
  t.equal(allowance.charge(20), 1_000, 'units')
  t.equal(allowance.exceededLimit, undefined)
  t.strictSame(allowance.headers(), [
    [
      'ratelimit-policy',
      '"requests";q=5;w=5, "units";q=100;w=10;qu="compute-units", "day";q=150;w=86400;qu="compute-units"',
    ],
    ['ratelimit', '"requests";r=4;t=1, "units";r=10;t=9, "day";r=60;t=43200'],
  ])
})

t.test('what was spent today is known after a start, and what was spent before is not', async (t) => {
  const path = join(t.testdir(), 'node.mdb')
  const spend = async (ms: number, units: number) => {
    const store = NodeStore.open({ path, mapBytes: 2 ** 30 })
    const quotas = new DayQuotas(undefined, () => ms)
    const kept = quotas.keep(store)
    quotas.debit(keyId, units)
    await kept.close()
    await store.close()
    return quotas.spent(keyId)
  }
  t.equal(await spend(noon, 40), 40)
  t.equal(await spend(noon + 1, 2), 42)
  t.equal(await spend(noon + 86_400_000, 5), 5)
})

t.test('what was spent while the disk was full is known after a start', { skip: withoutSmallDisk }, (t) =>
  onSmallDisk(t, 1024, async ({ folder, leave }) => {
    const path = join(folder, 'node.mdb')
    const open = () => {
      const store = NodeStore.open({ path, mapBytes: 2 ** 30 })
      const quotas = new DayQuotas(undefined, () => noon)
      return { store, quotas, kept: quotas.keep(store) }
    }
    const { store, quotas, kept } = open()
    leave(-4)
    quotas.debit(keyId, 40)
    await kept.close()
    t.equal(store.isStoring, false, 'nothing was stored')
    t.equal(quotas.spent(keyId), 40)
    leave(1024)
    await kept.close()
    await store.close()
    const next = open()
    t.equal(next.quotas.spent(keyId), 40)
    await next.kept.close()
    await next.store.close()
  }),
)
