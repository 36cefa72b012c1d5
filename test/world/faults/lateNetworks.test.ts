/**
 * Networks whose source is down at the first start, or ends: the others are served, and the source recovers by itself.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { openEnvironment, openTable } from '../../../src/data/store/lmdb/environment.js'
import { reachesTip } from '../../faults/storm.js'
import { StormChain } from '../../faults/stormChain.js'
import { answerFrom, HonestNode } from '../../faults/stormNodes.js'
import { makeFolder, writeInto } from '../../library/folder.js'
import { someOf } from '../../library/property.js'
import { waitFor } from '../../library/until.js'
import { patientLimits } from '../../service/fixtures.js'
import { storePathOf, writeConfig } from '../../service/program.js'
import { type Service, startService } from '../../service/service.js'
import { startFollower } from '../../upstream/followedNode.js'
import { WeatherNode } from '../../upstream/weatherNode.js'

async function health(service: Service) {
  const answer = await fetch(`${service.origin}/health`)
  return { code: answer.status, ...JSON.parse(await answer.text()) }
}

async function adminOrigin(service: Service): Promise<string> {
  return waitFor('the admin listener', () => /"admin":"(http:[^"]+)"/.exec(service.said.err)?.[1])
}

/** A node of a chain that begins to listen later. */
async function nodeOf(t: Test, chain: StormChain): Promise<WeatherNode> {
  const { tip } = chain
  const node = new WeatherNode((call) => answerFrom(chain, { tip, has: () => true }, true, call))
  node.hasSockets = false
  await node.start()
  t.teardown(() => node.stop())
  return node
}

/** The usual limits, so that the start is as long as for operators. */
const limits = { ...patientLimits, startMsMax: 4_000 }

const edgeCounts = process.platform === 'linux' ? [1, 2] : [1]
for (const edges of someOf(edgeCounts, 1)) {
  t.test(`with ${edges} edges, networks without a node keep nobody from listening`, async (t) => {
    const chain = await StormChain.fromSeed(5)
    const node = await nodeOf(t, chain)
    await node.stop()
    const folder = makeFolder(t)
    const genesis = writeInto(folder, 'genesis.json', JSON.parse(chain.maker.genesisText))
    const upstreams = [{ url: node.url }]
    const follow = { type: 'follow', upstreams, pollMs: 100 }
    const networks = [
      { name: 'here', genesis, source: { type: 'develop', blockSeconds: 0 } },
      { name: 'reported', kind: 'gateway', upstreams, pollMs: 100 },
      { name: 'known', kind: 'gateway', genesis, upstreams, pollMs: 100 },
      { name: 'followed', genesis, source: follow },
    ]
    const admin = { port: 0 }
    const config = writeConfig(folder, { dataDir: 'data', edges, admin, limits, networks })
    const service = await startService(['--config', config, '--no-auth'], {}, true)
    t.teardown(() => service.stop())
    t.teardown(() => t.passing() || t.comment(service.said.err))
    t.match(await service.call('eth_blockNumber'), { result: '0x0' }, 'the one that needs nobody')
    const late = ['reported', 'known', 'followed']
    for (const name of late) {
      const batch = JSON.stringify([
        { jsonrpc: '2.0', id: 7, method: 'eth_blockNumber', params: [] },
        { jsonrpc: '2.0', id: 'x', method: 'eth_subscribe', params: ['newHeads'] },
      ])
      const error = { code: -32000, message: new RegExp(`^network ${name} has no block yet: .{10,}`) }
      const answers = JSON.parse((await service.post(`/${name}`, batch)).text)
      t.match(answers, [
        { id: 7, error },
        { id: 'x', error },
      ])
    }
    const page = await waitFor('the reasons', async () => {
      const found = await health(service)
      return late.every((name) => /does not (answer|say)/.test(found.networks[name].trouble)) && found
    })
    t.match(page, { code: 200, networks: { here: { syncing: false, head: 0 } } })
    t.match(page.status, /^(syncing|failing)$/)
    for (const name of late) {
      t.match(page.networks[name], { syncing: true, trouble: /.{10,}/ }, name)
      t.notOk('head' in page.networks[name])
    }
    const url = await adminOrigin(service)
    const ready = (await (await fetch(`${url}/ready`)).json()) as { failing: { network: string }[] }
    t.strictSame(new Set(ready.failing.map(({ network }) => network)), new Set(late))
    t.equal((await fetch(`${url}/live`)).status, 200)
    const token = readFileSync(join(folder, 'data/node/admin-token'), 'utf8').trim()
    const headers = { authorization: `Bearer ${token}` }
    t.match(
      await (await fetch(`${url}/metrics`, { headers })).text(),
      'tidegate_syncing{network="reported"} 1',
    )
    const listed = (await (await fetch(`${url}/api/networks`, { headers })).json()) as {
      opening: string | null
    }[]
    t.equal(listed.filter(({ opening }) => opening !== null).length, late.length)

    await node.start()
    for (const name of late) {
      await waitFor(`the head of ${name}`, async () => {
        const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_blockNumber', params: [] })
        const { text } = await service.post(`/${name}`, body)
        return JSON.parse(text).result === `0x${chain.tip.number.toString(16)}`
      })
    }
    await waitFor('the health of it', async () => (await health(service)).status === 'ok')
    await waitFor('readiness', async () => (await fetch(`${url}/ready`)).status === 200)
  })
}

t.test('the only network, whose node is away, is served nevertheless', async (t) => {
  const chain = await StormChain.fromSeed(7)
  const node = await nodeOf(t, chain)
  await node.stop()
  for (const source of ['--follow', '--upstream', '--genesis FILE --follow', '--genesis FILE --upstream']) {
    const folder = makeFolder(t)
    const config = writeConfig(folder, { limits })
    const genesis = writeInto(folder, 'genesis.json', JSON.parse(chain.maker.genesisText))
    const words = source.split(' ').map((each) => (each === 'FILE' ? genesis : each))
    const flags = [...words, node.url, '--network', 'far', '--data', folder, '--no-auth', '--config', config]
    const service = await startService(flags, {}, true)
    const page = await health(service)
    t.match(
      page,
      { code: 503, status: /^(syncing|failing)$/, networks: { far: { trouble: String } } },
      source,
    )
    t.match(await service.call('eth_chainId'), {
      error: { code: -32000, message: /^network far has no block/ },
    })
    t.match(service.lines.join('\n'), 'far: no block yet')
    t.equal(await service.stop(), 0)
  }
})

t.test('a source that ends by a defect is started again, after longer and longer pauses', async (t) => {
  const chain = await StormChain.fromSeed(6)
  const honest = new HonestNode(chain, { lagSteps: 0, hasRaw: true })
  await honest.node.start()
  t.teardown(() => honest.node.stop())
  const folder = makeFolder(t)
  const genesisPath = writeInto(folder, 'genesis.json', JSON.parse(chain.maker.genesisText))
  const first = await startFollower(t, folder, { urls: [honest.node.url], genesisPath })
  await reachesTip(first, chain)
  await first.stop()
  // The next block reads data that cannot be decoded.
  const path = storePathOf(join(folder, 'data'), 'dev')
  const environment = openEnvironment({ path, readOnly: false, mapBytes: 2 ** 30 })
  t.teardown(() => environment.close())
  const accounts = openTable(environment, 'accounts')
  if (accounts === undefined) throw new Error('no table')
  const rows = [...accounts.getRange({})].map(({ key, value }) => {
    return [Uint8Array.from(key), Uint8Array.from(value)] as const
  })
  const put = (change: (row: Uint8Array) => Uint8Array) =>
    environment.transactionSync(() => {
      for (const [key, value] of rows) accounts.putSync(key, change(value))
    })
  put(() => Uint8Array.of(0xff, 1, 2))
  const service = await startFollower(t, folder, { urls: [honest.node.url], genesisPath })
  t.teardown(() => t.passing() || t.comment(service.said.err))
  await chain.advance(0)
  for (const seconds of [1, 2, 4]) {
    const line = new RegExp(`"the source ended: [^"]+; it is started again in ${seconds} s"`)
    await waitFor(`the end before ${seconds} s`, () => line.test(service.said.err))
    const page = await health(service)
    t.match(page, {
      code: 200,
      status: 'failing',
      networks: { dev: { source: /restarting/, syncing: true } },
    })
  }
  t.match(await service.call('eth_blockNumber'), { result: String }, 'what is stored is served')
  put((row) => row)
  await reachesTip(service, chain)
  await waitFor('the health of it', async () => (await health(service)).status === 'ok')
  await chain.advance(3)
  await reachesTip(service, chain)
})
