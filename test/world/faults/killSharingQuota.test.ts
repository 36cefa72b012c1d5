// @shares
/** A quota that three processes share over a real PostgreSQL, of which one is killed while it spends. */
import t from 'tap'
import { withoutPostgres } from '../../feed/postgres.js'
import { batchUnits, callUnits, payOnce, shareQuota } from '../../feed/sharedQuota.js'
import { once, until, waitFor } from '../../library/until.js'
import type { Service } from '../../service/service.js'

/** A quota of a day alone, so that no units flow in while the test runs. */
const unitsPerDay = 60_000
const lease = 1_000
/** Long enough that a process that lives reports in time on a slow machine, too. */
const leaseMs = 6_000

/** A client that spends units at one process, one batch after the other, until it is stopped or the process ends. */
class Spender {
  /** Units of the calls that were answered. */
  spent = 0
  /** Batches without a paid call. */
  refused = 0
  readonly #service: Service
  #isStopped = false
  readonly #running: Promise<void>

  constructor(service: Service, key: string) {
    this.#service = service
    this.#running = this.#run(key)
  }

  /** Resolves once the last answer came, or will not come. */
  stop(): Promise<void> {
    this.#isStopped = true
    return this.#running
  }

  async #run(key: string): Promise<void> {
    while (!this.#isStopped) {
      const paid = await payOnce(this.#service, key).catch((error: unknown) => {
        if (this.#service.process.killed) return undefined
        throw error
      })
      if (paid === undefined) return
      this.spent += paid
      if (paid === 0) this.refused++
    }
  }
}

t.test(
  'what a process had leased when it was killed is spent by the others, and once',
  { skip: withoutPostgres },
  async (t) => {
    const limits = ['--units-per-day', String(unitsPerDay)]
    const { postgres, services, key } = await shareQuota(t, limits, { leaseMs })
    const spenders = services.map((service) => new Spender(service, key))
    await until(() => spenders.every(({ spent }) => spent > 3 * lease))
    const [victim, ...others] = services as [Service, ...Service[]]
    const [ofVictim, ...ofOthers] = spenders as [Spender, ...Spender[]]
    const rowsOfVictim = (table: string, name: string) =>
      postgres.query(`select * from tidegate.${table} where ${name} like '% ${victim.process.pid} %'`)
    const ended = once(victim.process, 'exit')
    victim.process.kill('SIGKILL')
    await ended
    await ofVictim.stop()
    const [row] = await rowsOfVictim('lease', 'process')
    t.comment(`killed after ${ofVictim.spent} units, of a lease of ${row?.units} at most`)

    await waitFor('its lease to be lost', async () => (await rowsOfVictim('lease', 'process')).length === 0)
    await waitFor(
      'the process to be forgotten',
      async () => (await rowsOfVictim('process', 'name')).length === 0,
    )
    await waitFor('all of the quota to be leased', async () => {
      const [quota] = await postgres.query('select day_units::int from tidegate.quota')
      return quota?.day_units === unitsPerDay
    })
    const refused = ofOthers.map((one) => one.refused)
    await until(() => ofOthers.every((one, at) => one.refused > (refused[at] as number) + 1))
    for (const one of ofOthers) await one.stop()
    for (const service of others) t.equal(await service.stop(), 0)

    // The reports of the others, and of the killed one before; the rest of a lease is returned.
    const [quota] = await postgres.query('select day_units::int from tidegate.quota')
    const spentByOthers = ofOthers.reduce((sum, { spent }) => sum + spent, 0)
    const all = spentByOthers + ofVictim.spent
    t.comment(`${all} units were spent of ${unitsPerDay}`)
    t.ok(quota?.day_units > unitsPerDay - others.length * callUnits, `${quota?.day_units} are spent`)
    // The batch during which the process was killed may have been reported.
    const charged = quota?.day_units - spentByOthers
    t.ok(
      charged <= ofVictim.spent + batchUnits,
      `of ${ofVictim.spent} units of the killed one ${charged} are charged`,
    )
    t.ok(all <= unitsPerDay + lease, `${all} units, which is more by a lease at most`)
  },
)
