import t from 'tap'
import { Allowances, type KeyAllowance } from '../../../../src/serving/access/allowances.js'
import { Meter } from '../../../../src/serving/access/meter.js'
import { leaseUnits, UnitLeases, unitLeasesBytes } from '../../../../src/serving/access/unitLeases.js'

const keyId = '0123456789ab'
const news = { granted: 0, moreAtMs: 0, isDayOver: false, burstLeft: 0, dayLeft: 0 }

t.test('units that are leased', async (t) => {
  const memory = new SharedArrayBuffer(unitLeasesBytes)
  const leases = new UnitLeases(memory)
  const quota = { perSecond: 1_000, burst: 25_000, perDay: undefined }

  t.test(
    'a lease is a tenth of the burst, or what comes in a second, or a thousandth of the day',
    async (t) => {
      t.equal(leaseUnits(quota), 2_500)
      t.equal(leaseUnits({ ...quota, perSecond: 100_000 }), 100_000)
      t.equal(leaseUnits({ ...quota, perDay: 1_000_000 }), 1_000)
      t.equal(leaseUnits({ perSecond: undefined, burst: 0, perDay: 10 }), 1)
    },
  )

  t.test('a key begins with a credit, and spends no more than it has', async (t) => {
    leases.processes = 5
    const units = leases.of(keyId, quota)
    t.equal(leases.takeNeeded(), false)
    t.equal(units.charge(400), 0)
    t.equal(leases.takeNeeded(), true)
    t.ok(units.charge(101) > 0, 'the credit is 500')
    t.equal(units.charge(100), 0)
    // Another thread spends from the same lease.
    t.ok(new UnitLeases(memory).of(keyId, quota).charge(1) > 0)
    const [report, ...others] = leases.readReports()
    t.strictSame([report, others], [{ keyId, spent: 500, left: 0, wanted: 101 }, []])
    if (report === undefined) return
    units.debit(40)
    leases.renew(report, { ...news, granted: 2_500, moreAtMs: 1, burstLeft: 9_000 })
    t.strictSame(leases.readReports(), [{ keyId, spent: 40, left: 2_460, wanted: 0 }])
    t.equal(units.spent, 25_000 - 9_000 - 2_460)
    t.equal(units.charge(2_460), 0)
  })

  t.test('a lease that ends is reported, and a key that comes back begins anew', async (t) => {
    const [report] = leases.readReports()
    if (report === undefined) return t.fail('a key has a lease')
    t.match(leases.end(report), { keyId, spent: 2_500, left: 0 })
    t.strictSame(leases.readReports(), [])
    t.equal(leases.of(keyId, quota).charge(500), 0)
  })

  t.test('a key that comes back has no credit that the database did not have', async (t) => {
    leases.processes = 2
    const slow = { perSecond: 1, burst: 10_000, perDay: undefined }
    const daily = { perSecond: undefined, burst: 0, perDay: 1_000_000 }
    for (const [id, quota, left] of [
      ['aaaaaaaaaaaa', slow, { burstLeft: 800 }],
      ['bbbbbbbbbbbb', daily, { dayLeft: 800 }],
    ] as const) {
      const units = leases.of(id, quota)
      t.equal(units.charge(500), 0, 'the credit of a key that was never used')
      const end = (left: object) => {
        const [report] = leases.readReports().filter(({ keyId }) => keyId === id)
        if (report !== undefined) leases.renew(leases.end(report), { ...news, ...left })
      }
      end(left)
      t.ok(units.charge(500) > 0, 'one of two processes')
      t.equal(units.charge(400), 0)
      end({ burstLeft: 0, dayLeft: 0 })
      t.ok(units.charge(100) > 0, 'nothing was left')
    }
  })

  t.test('the refusal says which limit it was', async (t) => {
    const allowances = new Allowances(new Meter(), undefined, undefined, leases)
    const limits = { unitsPerSecond: 1_000, unitsPerDay: 1_000_000, requestsPerSecond: 1, requestsBurst: 2 }
    const allowance = allowances.of('ba9876543210', limits) as KeyAllowance
    t.ok(allowance.charge(700) > 0, 'more than the credit')
    t.equal(allowance.exceededLimit, undefined, 'the rate')
    const [report] = leases.readReports().filter(({ keyId }) => keyId === 'ba9876543210')
    if (report === undefined) return t.fail('a key has a lease')
    leases.renew(report, { ...news, isDayOver: true, moreAtMs: Date.now() + 3_600_000 })
    t.ok(allowance.charge(700) > 3_000_000)
    t.match(allowance.exceededLimit, {
      what: 'this API key may spend 1000000 compute units a day',
      limit: 1_000_000,
    })
    t.equal(allowance.charge(100), 0, 'requests that were refused cost nothing')
    t.match(allowance.headers()[1]?.[1], /"requests";r=1;.*"units";r=.*"day";r=/)
  })
})
