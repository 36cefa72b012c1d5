/** A quota of units that three processes share over a real PostgreSQL, which is killed meanwhile. */
import { copyFileSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { startPostgres, withoutPostgres } from '../postgres.js'
import { copyDemoStore, makeFolder, runProgram, writeInto } from '../program.js'
import { genesisPath } from '../rpc/demoChain.js'
import { type Service, startService } from '../service.js'

/**
 * Calls that cost 60 units each, and no work: no key in them is one. Few at once, since a body of 2 KiB has a price of
 * its own, which a refused batch pays as well.
 */
const callsMax = 4
const callUnits = 60
const batch = JSON.stringify(
  Array.from({ length: callsMax }, (_, id) => ({
    jsonrpc: '2.0',
    id,
    method: 'eth_getProof',
    params: [`0x${'0'.repeat(40)}`, Array(40).fill('none')],
  })),
)
const unitsPerSecond = 1_000
const unitsBurst = 25_000
const lease = unitsBurst / 10

/** Sends batches to all in turn until calls of `units` were paid; what was paid, and in which time at most. */
async function spend(services: readonly Service[], key: string, units: number) {
  const startMs = performance.now()
  let spent = 0
  while (spent < units) {
    for (const service of services) {
      const { status, text } = await service.post(`/v3/${key}`, batch)
      if (status !== 200) continue
      const answers = JSON.parse(text) as { readonly error: { readonly code: number } }[]
      spent += callUnits * answers.filter(({ error }) => error.code !== -32005).length
    }
  }
  return { spent, seconds: (performance.now() - startMs) / 1_000 }
}

t.test('three processes share a quota', { skip: withoutPostgres }, async (t) => {
  const postgres = await startPostgres(t)
  const folders = [makeFolder(t), makeFolder(t), makeFolder(t)]
  const configs = folders.map((folder, index) => {
    const dataDir = join(folder, 'data')
    copyDemoStore(dataDir, 'demo')
    return writeInto(folder, 'tidegate.json', {
      dataDir,
      networks: [{ name: 'demo', genesis: genesisPath }],
      shared: { url: postgres.url },
      ...(index === 1 && process.platform === 'linux' && { edges: 2 }),
    })
  })
  const [first = ''] = configs
  const words = ['--units-per-second', String(unitsPerSecond), '--units-burst', String(unitsBurst)]
  const made = await runProgram(['keys', 'create', '--name', 'shop', ...words, '--config', first])
  const key = made.out.trim()
  t.match(key, /^tg_/, made.err)
  const services: Service[] = []
  for (const [index, config] of configs.entries()) {
    const node = join(folders[index] ?? '', 'data/node')
    mkdirSync(node, { recursive: true, mode: 0o700 })
    if (index > 0) copyFileSync(join(folders[0] ?? '', 'data/node/pepper'), join(node, 'pepper'))
    const service = await startService(['--config', config])
    t.teardown(() => service.stop())
    services.push(service)
  }

  t.test('it is spent whole, and overspent by a lease at most', async (t) => {
    const { spent, seconds } = await spend(services, key, unitsBurst + 4_000)
    const allowed = unitsBurst + unitsPerSecond * seconds
    t.comment(`${spent} units in ${seconds.toFixed(1)} s, ${Math.round(allowed)} are allowed`)
    t.ok(spent <= allowed + lease, `${spent} units, ${Math.round(allowed)} are allowed`)
  })

  t.test('it goes on without the database, and with it again', async (t) => {
    await postgres.kill()
    const alone = await spend(services, key, 4_000)
    // What each had left of its lease, and what flows in.
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
