// @shares
import { readFileSync } from 'node:fs'
import t from 'tap'
import { resolveServeConfig } from '../../../../src/operation/config/config.js'
import type { SourceState } from '../../../../src/operation/edge/chainFeed.js'
import { startSource } from '../../../../src/operation/process/networkSource.js'
import { makeFolder, writeInto } from '../../../library/folder.js'
import { chainPath, genesisPath } from '../../../rpc/demoChain.js'

t.test('a source is behind from its start until it has delivered everything, at each start', async (t) => {
  const folder = makeFolder(t)
  const networks = [{ name: 'tides', genesis: genesisPath, source: { type: 'file', path: chainPath } }]
  const config = writeInto(folder, 'tidegate.json', { dataDir: 'data', networks })
  const resolved = resolveServeConfig({ config })
  const [network] = resolved.networks
  if (network === undefined) throw new Error('no network')
  for (const start of ['first', 'second']) {
    const source = startSource(network, resolved)
    if (source === undefined) throw new Error('no source')
    t.teardown(() => source.close())
    const states: (SourceState & { readonly hasCaughtUp: boolean })[] = []
    source.listen((state) => states.push({ ...state, hasCaughtUp: source.hasCaughtUp }))
    t.match(states, [{ syncing: { startingBlock: undefined, number: 0 } }], `${start}: before any block`)
    t.equal(source.hasCaughtUp, false)
    await source.ingested
    const last = states.pop()
    t.match(last, { syncing: undefined, hasCaughtUp: true }, start)
    const early = states.filter(({ syncing, hasCaughtUp }) => syncing === undefined && !hasCaughtUp)
    t.strictSame(early, [], start)
  }
})

t.test('a source that fails has not caught up', async (t) => {
  const folder = makeFolder(t)
  const path = writeInto(folder, 'chain.rlp', readFileSync(genesisPath))
  const networks = [{ name: 'tides', genesis: genesisPath, source: { type: 'file', path } }]
  const config = writeInto(folder, 'tidegate.json', { dataDir: 'data', networks })
  const resolved = resolveServeConfig({ config })
  const [network] = resolved.networks
  const source = network && startSource(network, resolved)
  if (source === undefined) throw new Error('no source')
  let state: SourceState | undefined
  source.listen((found) => {
    state = found
  })
  await t.rejects(source.ingested)
  t.match(state, { syncing: {}, failure: 'failed' })
  t.equal(source.hasCaughtUp, false)
})
