/** `serve --upstream` without a name: networks by the chains that the nodes have, and under stable names. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import { provedNetworks } from '../../../src/data/chain/families/provedNetworks.js'
import { knownNetworkNames } from '../../../src/data/chain/knownNetworks.js'
import { makeFolder } from '../../library/folder.js'
import { waitFor } from '../../library/until.js'
import { patientLimits } from '../../service/fixtures.js'
import { runHere, storePathOf, writeConfig } from '../../service/program.js'
import { type Service, startService } from '../../service/service.js'
import { FamilyNode, familyFixture } from '../../upstream/familyNode.js'

interface Page {
  readonly networks: Readonly<
    Record<string, { readonly head?: number; readonly trouble?: string; readonly upstreams?: object }>
  >
}

async function networksOf(service: Service) {
  const { networks } = (await (await fetch(`${service.origin}/health`)).json()) as Page
  return networks
}

/** Number of upstreams of each network, once all of them have answered. */
async function shapeOf(service: Service, count: number) {
  return waitFor('all upstreams', async () => {
    const entries = Object.entries(await networksOf(service)).map(([name, { upstreams = {} }]) => {
      return [name, Object.keys(upstreams).length] as const
    })
    const sum = entries.reduce((before, [, each]) => before + each, 0)
    return sum === count && Object.fromEntries(entries)
  })
}

async function startNode(t: Test, name: string, chainId?: number): Promise<FamilyNode> {
  const fixture = familyFixture(name)
  const node = new FamilyNode({ ...fixture, chainId: chainId ?? fixture.chainId })
  await node.node.start()
  t.teardown(() => node.node.stop())
  return node
}

/** Starts with these nodes and no other network. It waits only shortly for nodes that are away. */
async function serve(t: Test, data: string, nodes: readonly FamilyNode[], isEarly = false): Promise<Service> {
  const limits = { ...patientLimits, ...(isEarly && { startMsMax: 4_000 }) }
  const config = writeConfig(makeFolder(t), { limits })
  const upstreams = nodes.flatMap(({ node }) => ['--upstream', node.url])
  const service = await startService(
    ['--config', config, '--data', data, '--no-auth', ...upstreams],
    {},
    isEarly,
  )
  t.teardown(() => service.stop())
  t.teardown(() => t.passing() || t.comment(service.said.err))
  return service
}

t.test('each chain is a network under its name, also while its nodes are away', async (t) => {
  const data = makeFolder(t)
  const [bsc, arbitrum, other, second] = await Promise.all([
    startNode(t, 'rule-bsc'),
    startNode(t, 'go-arbitrum'),
    startNode(t, 'rule-bsc', 987_654),
    startNode(t, 'rule-bsc'),
  ])
  const nodes = [bsc, arbitrum, other, second]
  const service = await serve(t, data, nodes)
  const shape = { bsc: 2, arbitrum: 1, 'chain-987654': 1 }
  t.strictSame(await shapeOf(service, 4), shape)
  t.match(await service.call('eth_chainId'), { result: '0x38' }, 'the first one needs no path')
  const ask = (path: string) => service.post(path, '{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}')
  t.match(await ask('/chain-987654'), { text: /"0xf1206"/ })
  t.equal(await service.stop(), 0)
  const kept = readFileSync(join(data, 'node/upstreams.json'), 'utf8')
  t.notMatch(kept, bsc.node.url, 'URLs may contain keys')

  for (const { node } of nodes) await node.stop()
  const later = await serve(t, data, nodes)
  t.strictSame(await shapeOf(later, 4), shape)
  t.match(await later.call('eth_blockNumber'), { result: '0x14' }, 'what is stored is served')
})

t.test('a node that is away is waited for shortly, and counts as one of the first chain', async (t) => {
  const data = makeFolder(t)
  const bsc = await startNode(t, 'rule-bsc')
  const away = await startNode(t, 'go-arbitrum')
  await away.node.stop()
  const service = await serve(t, data, [away, bsc], true)
  t.strictSame(await shapeOf(service, 2), { bsc: 2 })
  t.match(service.said.err, /does not say which chain it has; until the next start it counts as one of/)
  await service.stop()
  await away.node.start()
  t.strictSame(await shapeOf(await serve(t, data, [away, bsc]), 2), { arbitrum: 1, bsc: 1 })
})

t.test('where no node says anything, the server listens and says why', async (t) => {
  const data = makeFolder(t)
  const node = await startNode(t, 'rule-bsc')
  await node.node.stop()
  const service = await serve(t, data, [node], true)
  const said = async () => (await networksOf(service)).upstream?.trouble?.includes('does not say which chain')
  await waitFor('the reason', said)
  t.match(await service.call('eth_chainId'), { error: { code: -32000 } })
  await node.node.start()
  await waitFor('its chain', async () => (await service.call('eth_chainId')).result === '0x38')
  await service.stop()
  t.strictSame(await shapeOf(await serve(t, data, [node]), 1), { bsc: 1 })
})

t.test('a store of something else keeps its name, and a damaged file is made anew', async (t) => {
  const data = makeFolder(t)
  const node = await startNode(t, 'rule-bsc')
  const other = await startNode(t, 'rule-scroll')
  const named = await startService([
    ...['--network', 'bsc', '--upstream', other.node.url, '--data', data, '--no-auth'],
  ])
  await named.stop()
  writeFileSync(join(data, 'node/upstreams.json'), '{"half":')
  mkdirSync(dirname(storePathOf(data, 'scroll')), { recursive: true })
  writeFileSync(storePathOf(data, 'scroll'), '')
  t.strictSame(await shapeOf(await serve(t, data, [node, other]), 2), { 'chain-56': 1, scroll: 1 })
})

t.test('flags for one network are refused where there are two', async (t) => {
  const nodes = [await startNode(t, 'rule-bsc'), await startNode(t, 'rule-scroll')]
  const upstreams = nodes.flatMap(({ node }) => ['--upstream', node.url])
  const { status, err } = await runHere(['serve', '--data', makeFolder(t), '--logs-from', '0', ...upstreams])
  t.match({ status, err }, { status: 2, err: /--logs-from is for one network.*bsc.*scroll/ })
})

t.test('no two chains have one name', async (t) => {
  const names = [...provedNetworks.map(([, name]) => name), ...knownNetworkNames]
  const ids = provedNetworks.map(([id]) => id)
  t.equal(new Set(names).size, names.length)
  t.equal(new Set(ids).size, ids.length)
  t.match(names, Array(names.length).fill(/^[a-z0-9][a-z0-9-]{0,31}$/))
})
