/** Pool threads on a real store: the data that they read, and that ending them damages neither store nor process. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { ChainReader } from '../../../src/data/store/chainReader.js'
import { mapBytesDefault } from '../../../src/data/store/lmdb/environment.js'
import { FaultError } from '../../../src/primitives/faults.js'
import { packageRoot } from '../../../src/primitives/packageRoot.js'
import { startIngest } from '../../../src/sources/ingest/thread/ingestThread.js'
import { until } from '../../library/until.js'
import { openTestPool } from '../../pool/poolJobs.js'
import { fixtureDir } from '../../service/fixtures.js'

/**
 * Number of ended threads. Without protection, one of the first 200 or so ended the process; that number would take too
 * long here. `KILLS=300` makes a longer run.
 */
const endings = Number(process.env.KILLS ?? 6)

t.test('threads that are ended in the midst of reads leave the store and the process whole', async (t) => {
  const path = join(fixtureDir, 'networks/demo/chain.mdb')
  const store = ChainReader.open({ path })
  const head = store.readHead()?.number
  const { pool, losses } = openTestPool({
    stores: [{ network: 'demo', path, mapBytes: mapBytesDefault }],
    graceMs: 5,
    classes: { execute: { runMsMax: 20, timedOut: { kind: 'RequestTimedOut' } } },
  })
  t.teardown(async () => {
    await pool.close(0)
    await store.close()
  })
  for (let i = 0; i < endings; i++) {
    await t.rejects(pool.run('readStubbornly', { network: 'demo', args: { ms: 60_000 } }), FaultError)
    t.equal(await pool.run('readHead', { network: 'demo', args: null }), head)
  }
  await until(() => losses.length >= endings / 2)
  t.equal(store.readHead()?.number, head)
})

t.test('each job sees what was committed before it began', async (t) => {
  const devnet = join(packageRoot(), 'data/devnet')
  const storePath = join(t.testdir(), 'chain.mdb')
  const genesisPath = join(devnet, 'genesis.json')
  const ingest = startIngest(
    {
      storePath,
      mapBytes: mapBytesDefault,
      genesis: { text: readFileSync(genesisPath, 'utf8'), path: genesisPath },
      // Each block of a replay is committed on its own.
      replay: { file: join(devnet, 'chain.rlp'), from: 200, intervalMs: 1, script: [] },
    },
    () => undefined,
  )
  await ingest.opened
  const store = ChainReader.open({ path: storePath })
  const { pool } = openTestPool({ stores: [{ network: 'demo', path: storePath, mapBytes: mapBytesDefault }] })
  t.teardown(async () => {
    await pool.close(0)
    await store.close()
  })
  const seen = new Set<number>()
  const late: string[] = []
  let isOver = false
  void ingest.finished.then(() => {
    isOver = true
  })
  for (let isLast = false; !isLast; ) {
    isLast = isOver
    store.refresh()
    const committed = store.readHead()?.number ?? -1
    const head = await pool.run('readHead', { network: 'demo', args: null })
    if (head < committed) late.push(`block ${committed} was committed, the job saw ${head}`)
    seen.add(head)
  }
  t.strictSame(late, [])
  t.ok(seen.size > 1, 'the head moved meanwhile')
})

t.test('a job that names a network the pool does not know is a defect, not a hang', async (t) => {
  const { pool } = openTestPool()
  t.teardown(() => pool.close(0))
  await t.rejects(pool.run('readHead', { network: 'nowhere', args: null }), { message: /no network nowhere/ })
  await t.rejects(pool.run('readHead', { network: undefined, args: null }), { message: /names no network/ })
})
