// @shares
/** A quota of units that three processes share over a real PostgreSQL, which is killed in between. */
import t from 'tap'
import { withoutPostgres } from '../../feed/postgres.js'
import { payOnce, shareQuota } from '../../feed/sharedQuota.js'
import type { Service } from '../../service/service.js'

const unitsPerSecond = 1_000
const unitsBurst = 25_000
const lease = unitsBurst / 10

/**
 * Sends batches to all services in turn until calls of `units` were paid. Returns the paid units and the longest time.
 */
async function spend(services: readonly Service[], key: string, units: number) {
  const startMs = performance.now()
  let spent = 0
  while (spent < units) for (const service of services) spent += await payOnce(service, key)
  return { spent, seconds: (performance.now() - startMs) / 1_000 }
}

t.test('three processes share a quota', { skip: withoutPostgres }, async (t) => {
  const words = ['--units-per-second', String(unitsPerSecond), '--units-burst', String(unitsBurst)]
  const { postgres, services, key } = await shareQuota(t, words)
  t.match(key, /^tg_/)

  t.test('it is spent whole, and overspent by a lease at most', async (t) => {
    const { spent, seconds } = await spend(services, key, unitsBurst + 4_000)
    const allowed = unitsBurst + unitsPerSecond * seconds
    t.comment(`${spent} units in ${seconds.toFixed(1)} s, ${Math.round(allowed)} are allowed`)
    t.ok(spent <= allowed + lease, `${spent} units, ${Math.round(allowed)} are allowed`)
  })

  t.test('it goes on without the database, and with it again', async (t) => {
    await postgres.kill()
    const alone = await spend(services, key, 4_000)
    // The rest of each lease, and the units that flow in.
    const allowed = services.length * lease + unitsPerSecond * alone.seconds
    t.ok(alone.spent <= allowed + lease, `${alone.spent} units, ${Math.round(allowed)} are allowed`)
    await postgres.start()
    await spend(services, key, 4_000)
  })

  t.test('a process that stops gives its leases back', async (t) => {
    for (const service of services) t.equal(await service.stop(), 0)
    t.strictSame(await postgres.query('select * from tidegate.lease'), [])
    t.strictSame(await postgres.query('select * from tidegate.process'), [])
  })
})
