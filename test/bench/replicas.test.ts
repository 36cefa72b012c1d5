import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { demoNetwork, devnetFolder } from '../../bench/data/benchData.js'
import { keptBytes, play } from '../../bench/scenarios/replicasRun.js'
import type { RunContext } from '../../bench/scenarios/specialScenario.js'
import { withPostgres } from '../../bench/servers/replicaPlay.js'
import { readChainFile } from '../../src/ingest/chainFile.js'
import { withoutPostgres } from '../feed/postgres.js'

const blocks = 20
/** So slow that those who listen are there before the chain ends, also on a machine that does much else. */
const intervalMs = 500

t.test('a chain that is played to replicas is timed and weighed', { skip: withoutPostgres }, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'tidegate-replicas-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const chainPath = join(devnetFolder, 'chain.rlp')
  let to = 0
  for await (const _ of readChainFile(chainPath)) to++
  const chain = { name: 'demo', folder, genesisPath: join(devnetFolder, 'genesis.json'), chainPath, to }
  const context: RunContext = {
    folder,
    settings: {} as RunContext['settings'],
    isQuick: true,
    logBlocks: 0,
    storeShare: 0.01,
    server: {},
    network: demoNetwork,
  }
  await withPostgres(async (postgres) => {
    const played = await play(context, { ...chain, from: to - blocks, intervalMs }, postgres, 'played', 2)
    t.ok((played.delays.p50 ?? 0) > 0, `after ${played.delays.p50} ms`)
    t.ok((played.others?.cpuMicros ?? 0) > 0)
    t.ok(played.walBytes > 0)
    const kept = await keptBytes(postgres, 'played')
    t.ok(kept.bundles > 500 && kept.tables > kept.bundles, JSON.stringify(kept))
    const [row] = await postgres.query(`select head_number::int from played.feed`)
    t.equal(row?.head_number, to)
  })
})
