// @shares
/** Quotas that several processes share over a real PostgreSQL, and the same spent by one process alone. */
import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { QuotaLeases } from '../../../../src/operation/shared/quotaLeases.js'
import { SharedKeys } from '../../../../src/operation/shared/sharedKeys.js'
import { Allowances, allotSpentMemory, type KeyAllowance } from '../../../../src/serving/access/allowances.js'
import { KeyFreshness, keyFreshnessBytes } from '../../../../src/serving/access/keyFreshness.js'
import { Meter } from '../../../../src/serving/access/meter.js'
import { leaseUnits } from '../../../../src/serving/access/unitLeases.js'
import { startPostgres, withoutPostgres } from '../../../feed/postgres.js'
import { makeFolder } from '../../../library/folder.js'
import { until, waitFor } from '../../../library/until.js'

const limits = { unitsPerSecond: 1_000, unitsBurst: 5_000 }
const lease = leaseUnits({ perSecond: 1_000, burst: 5_000, perDay: undefined })
const keyId = '0123456789ab'

/** Spends the allowances by tens, in turn, until `units` are spent. Returns the spent units and the longest time. */
async function spend(allowances: readonly KeyAllowance[], units: number) {
  const startMs = performance.now()
  let spent = 0
  await until(() => {
    for (let before = -1; spent < units && before < spent; ) {
      before = spent
      for (const allowance of allowances) if (allowance.charge(10) === 0) spent += 10
    }
    return spent >= units
  })
  return { spent, seconds: (performance.now() - startMs) / 1_000 }
}

/** A quota is the same in every store: all of it can be spent, and never more by a lease. */
async function keepsQuota(t: Test, allowances: readonly KeyAllowance[]): Promise<void> {
  const { spent, seconds } = await spend(allowances, 8_000)
  const allowed = 5_000 + 1_000 * seconds
  t.ok(
    spent <= allowed + lease,
    `${spent} units in ${seconds.toFixed(1)} s, ${Math.round(allowed)} are allowed`,
  )
  t.comment(`${spent} units in ${seconds.toFixed(1)} s, ${Math.round(allowed)} are allowed`)
}

t.test('a quota that one process has alone', async (t) => {
  const allowances = new Allowances(new Meter())
  await keepsQuota(t, [allowances.of(keyId, limits) as KeyAllowance])
})

t.test('quotas in PostgreSQL', { skip: withoutPostgres }, async (t) => {
  const postgres = await startPostgres(t)

  const open = async (
    t: Test,
    schema: string,
    pepper?: string,
    ofKey = limits as object,
    leaseMs = 15_000,
  ) => {
    const folder = makeFolder(t)
    if (pepper !== undefined) copyFileSync(pepper, join(folder, 'pepper'))
    const options = {
      path: join(folder, 'shared-keys.mdb'),
      pepperPath: join(folder, 'pepper'),
      mapBytes: 2 ** 28,
    }
    const keys = await SharedKeys.open({ url: postgres.url, schema, ...options }, { mustAnswer: true })
    keys.follow(new KeyFreshness(new SharedArrayBuffer(keyFreshnessBytes), 600_000), () => undefined)
    const allowances = Allowances.over(allotSpentMemory(true), undefined)
    if (allowances.leases === undefined) throw new Error('units are shared')
    const leases = new QuotaLeases(keys, allowances.leases, () => allowances.quotaOf(ofKey), leaseMs)
    let isClosed = false
    const close = async () => {
      if (isClosed) return
      isClosed = true
      await leases.close()
      await keys.close()
    }
    t.teardown(close)
    const allowance = allowances.of(keyId, ofKey) as KeyAllowance
    return { allowance, leases: allowances.leases, pepper: join(folder, 'pepper'), close }
  }
  const openThree = async (t: Test, schema: string, ofKey?: object) => {
    const first = await open(t, schema, undefined, ofKey)
    const others = [await open(t, schema, first.pepper, ofKey), await open(t, schema, first.pepper, ofKey)]
    return [first, ...others]
  }

  t.test('three processes spend one quota, and no more', async (t) => {
    const all = await openThree(t, 'three')
    await keepsQuota(
      t,
      all.map(({ allowance }) => allowance),
    )
  })

  t.test('one process can spend all of it', async (t) => {
    const [one] = await openThree(t, 'one')
    if (one !== undefined) await keepsQuota(t, [one.allowance])
  })

  t.test('a quota of a day is spent once, and leases that are returned can be spent again', async (t) => {
    const all = await openThree(t, 'day', { unitsPerDay: 100_000 })
    const [first, ...others] = all
    if (first === undefined) return
    await spend([first.allowance], 3_000)
    await first.close()
    const rows = await postgres.query('select day_units::int as units from day.quota')
    t.strictSame(rows, [{ units: 3_000 }], 'what is leased and not spent is given back')
    await postgres.query('update day.quota set day_units = 98000')
    await spend(
      others.map(({ allowance }) => allowance),
      2_000,
    )
    const isOver = ({ allowance }: (typeof all)[number]) =>
      allowance.charge(10) > 1_000 && allowance.exceededLimit?.limit === 100_000
    await until(() => others.every(isOver))
  })

  t.test('a quota of a day that is over is not spent on by who waits', async (t) => {
    const { allowance } = await open(t, 'patient', undefined, { unitsPerDay: 10_000 }, 1_500)
    let spent = 0
    const spend = () => {
      while (allowance.charge(10) === 0) spent += 10
      return spent
    }
    await until(() => spend() >= 10_000)
    for (let round = 0; round < 3; round++) {
      await waitFor('the lease to end', async () => {
        const rows = await postgres.query('select * from patient.lease')
        return rows.length === 0
      })
      spend()
      await waitFor(
        'another lease',
        async () => (await postgres.query('select * from patient.lease')).length > 0,
      )
    }
    t.equal(spent, 10_000)
  })

  t.test('without the database a key goes on at the rate of its last lease', async (t) => {
    const all = await openThree(t, 'gone')
    const allowances = all.map(({ allowance }) => allowance)
    await spend(allowances, 6_000)
    await postgres.kill()
    const { spent, seconds } = await spend(allowances, 4_000)
    // The rest of the burst, a lease of each, and the units that flow in.
    const allowed = 3 * lease + 1_000 * seconds
    t.ok(spent <= allowed + lease, `${spent} units in ${seconds} s`)
    await postgres.start()
    await spend(allowances, 2_000)
  })

  t.test('a lease that is lost can be spent again, and a debt is paid first', async (t) => {
    await open(t, 'sums')
    // The quota has hardly any inflow.
    const exchange = async (process: string, spent: number, wanted: number) => {
      const [row] = await postgres.query('select granted::int, holders from sums.lease_of_test($1, $2, $3)', [
        process,
        spent,
        wanted,
      ])
      return row
    }
    await postgres.query(`create function sums.lease_of_test(process text, spent bigint, wanted bigint)
      returns table (granted bigint, holders integer) language sql set search_path to sums
      as $$ select granted, holders from exchange_lease('ab', process, spent, wanted, 60000, 0.001, 1000, null) $$`)
    t.strictSame(await exchange('a', 0, 600), { granted: 600, holders: 1 })
    t.strictSame(await exchange('b', 0, 600), { granted: 400, holders: 2 })
    t.strictSame(await exchange('b', 400, 100), { granted: 0, holders: 2 })
    await postgres.query(`update sums.lease set until = now() - interval '1 s' where process = 'a'`)
    t.strictSame(await exchange('b', 0, 500), { granted: 500, holders: 1 })
    t.strictSame(await exchange('b', 600, 0), { granted: 0, holders: 1 }, '100 more than it had')
    t.strictSame(await exchange('b', 0, -1), { granted: 0, holders: 0 })
    t.strictSame(
      await exchange('c', 0, 100),
      { granted: 0, holders: 1 },
      'the 100 that were left paid for them',
    )
  })
})
