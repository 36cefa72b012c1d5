import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { defer } from '../../../src/primitives/deferred.js'
import { testAddresses } from '../../ingest/chainMaker.js'
import { makeReplayedChainIn } from '../../ingest/replayedChain.js'
import { makeFolder, writeInto } from '../../library/folder.js'
import { waitFor } from '../../library/until.js'
import { adminOf } from '../../service/adminClient.js'
import { runProgram } from '../../service/program.js'
import { type Service, startService } from '../../service/service.js'
import { anvilGenesis, startAnvil, withoutAnvil } from '../../upstream/anvilNode.js'
import { followAnvil, HeadListener, reaches, startFollower } from '../../upstream/followedNode.js'
import { forwardTo, type NodeCall, WeatherNode } from '../../upstream/weatherNode.js'

const healthOf = async (service: Service) =>
  JSON.parse(await (await fetch(`${service.origin}/health`)).text())

/** Resolves once the subscriber has got this head. */
function reported(listener: HeadListener, hash: string): Promise<unknown> {
  return waitFor(`the news of ${hash}`, () => listener.events.at(-1)?.hash === hash)
}

t.test('follows anvil: blocks, state, reorganisations and reverts', { skip: withoutAnvil }, async (t) => {
  const folder = makeFolder(t)
  const anvil = await startAnvil(t, folder)
  await anvil.mine(20)
  const flags = ['--network', 'dev', '--data', join(folder, 'data'), '--follow', anvil.url]
  const service = await startService([...flags, '--genesis', anvil.genesisPath, '--no-auth'])
  t.teardown(() => service.stop())
  await reaches(service, await anvil.head())
  const base = await anvil.head()
  const listener = await HeadListener.open(t, service)
  const sameState = async () => {
    for (const address of testAddresses) {
      const params = [String(address), 'latest']
      t.equal(
        (await service.call('eth_getBalance', params)).result,
        await anvil.ask('eth_getBalance', params),
      )
    }
  }
  for (let round = 0; round < 3; round++) await reaches(service, await anvil.mine(1))
  await sameState()

  const snapshot = await anvil.ask('evm_snapshot')
  await reported(listener, (await anvil.mine(4)).hash)
  await anvil.ask('anvil_reorg', [3, []])
  await reported(listener, (await anvil.head()).hash)
  await reaches(service, await anvil.head())
  await anvil.ask('anvil_mine', ['0x2'])
  await reported(listener, (await anvil.head()).hash)
  await sameState()

  await anvil.ask('evm_revert', [snapshot])
  await reaches(service, await anvil.head())
  await reported(listener, (await anvil.mine(2)).hash)
  await sameState()
  const chain = listener.follow(base.hash)
  t.equal(chain.at(-1), (await anvil.head()).hash)
  t.ok(
    listener.events.some(({ removed }) => removed),
    'blocks were taken back one by one',
  )
  await anvil.ask('anvil_mine', ['0xc8'])
  await reaches(service, await anvil.head())
  for (const tag of ['safe', 'finalized']) {
    const theirs = await anvil.ask('eth_getBlockByNumber', [tag, false])
    await waitFor(`the ${tag} block`, async () => {
      const { result } = await service.call('eth_getBlockByNumber', [tag, false])
      return result.hash === theirs.hash
    })
  }
  t.equal((await service.call('eth_syncing')).result, false)
  t.equal(await service.stop(), 0)
  const verified = await runProgram(['verify', '--network', 'dev', '--data', join(folder, 'data')])
  t.equal(verified.status, 0, verified.out + verified.err)
})

t.test('follows anvil from a genesis without accounts', { skip: withoutAnvil }, async (t) => {
  const { anvil, service } = await followAnvil(t, { genesis: { ...anvilGenesis(), alloc: {} } })
  await reaches(service, await anvil.mine(3))
  t.equal((await service.call('eth_blockNumber')).result, '0x3')
})

t.test('follows another Tidegate, with its reorganisations', async (t) => {
  const folder = makeFolder(t)
  const upstreamFolder = makeFolder(t)
  const chain = await makeReplayedChainIn(upstreamFolder, {
    length: 40,
    from: 30,
    intervalMs: 20,
    reorganisations: [
      { after: 33, back: 3, blocks: 4 },
      { after: 36, back: 1, blocks: 1 },
    ],
  })
  const upstream = await chain.start()
  t.teardown(() => upstream.stop())
  const genesisPath = join(upstreamFolder, 'genesis.json')
  const service = await startFollower(t, folder, { urls: [upstream.origin], genesisPath })
  const last = chain.heads.at(-1)
  const hash = `0x${Buffer.from(last?.hash ?? []).toString('hex')}`
  await reaches(service, { number: '0x28', hash, parentHash: '' })
  t.match(JSON.parse((await (await fetch(`${service.origin}/health`)).text()) as string), {
    status: 'ok',
    networks: { dev: { head: 40, syncing: false } },
  })
})

t.test('a follower is not ready before it has reached the head, also where that is its own', async (t) => {
  const folder = makeFolder(t)
  const upstreamFolder = makeFolder(t)
  const chain = await makeReplayedChainIn(upstreamFolder, { length: 6, from: 6, intervalMs: 1 })
  const upstream = await chain.start()
  t.teardown(() => upstream.stop())
  const node = new WeatherNode(forwardTo(upstream.origin))
  node.hasSockets = false
  await node.start()
  t.teardown(() => node.stop())
  const options = { urls: [node.url], genesisPath: join(upstreamFolder, 'genesis.json') }
  const readyOf = async (service: Service) => {
    const { status, text } = await (await adminOf(service, join(folder, 'data'))).get('/ready')
    return { status, failing: JSON.parse(text).failing }
  }
  const isHeadAsked = ({ method, params: [block] }: NodeCall) =>
    method === 'eth_getBlockByNumber' && block === 'latest'
  for (const withheld of ['the blocks', 'the head']) {
    const held = defer<void>()
    node.answer = async (call) => {
      const isOfChain = ['eth_chainId', 'debug_chainConfig'].includes(call.method) || call.params[0] === '0x0'
      if (!isOfChain && (withheld === 'the head' || !isHeadAsked(call))) await held.promise
      return forwardTo(upstream.origin)(call)
    }
    const service = await startFollower(t, folder, options)
    t.match(await healthOf(service), { status: 'syncing', networks: { dev: { syncing: true } } }, withheld)
    const why = { check: 'firstImport', network: 'dev' }
    t.match(await readyOf(service), { status: 503, failing: [why] }, withheld)
    held.resolve()
    await waitFor('the head to be reached', async () => (await readyOf(service)).status === 200)
    t.match(await healthOf(service), { status: 'ok', networks: { dev: { head: 6, syncing: false } } })
    t.equal(await service.stop(), 0)
  }
})

t.test('a node of another chain is refused at start, by name', { skip: withoutAnvil }, async (t) => {
  const folder = makeFolder(t)
  const anvil = await startAnvil(t, folder)
  const other = writeInto(folder, 'other.json', {
    ...JSON.parse(readFileSync(anvil.genesisPath, 'utf8')),
    timestamp: '0x5',
  })
  const name = anvil.url.slice('http://'.length)
  const words = ['serve', '--port', '0', '--network', 'dev', '--no-auth', '--follow', anvil.url]
  const wrong = await runProgram([...words, '--data', join(folder, 'a'), '--genesis', other])
  t.equal(wrong.status, 1)
  t.match(wrong.err, `upstream ${name} is of another chain: its genesis is 0x`)
  t.match(wrong.err, 'timestamp differ')
  const node = new WeatherNode(
    forwardTo(anvil.url, (call, answer) => (call.method === 'eth_chainId' ? { result: '0x5' } : answer)),
  )
  await node.start()
  t.teardown(() => node.stop())
  const words2 = [
    ...words.slice(0, -1),
    node.url,
    '--data',
    join(folder, 'b'),
    '--genesis',
    anvil.genesisPath,
  ]
  const other2 = await runProgram(words2)
  t.equal(other2.status, 1)
  t.match(
    other2.err,
    `upstream ${node.url.slice(7)} is of another chain: its chain id is 5, this network's is 31337`,
  )
})

t.test(
  'a node that is down at start is waited for, and what is held is served',
  { skip: withoutAnvil },
  async (t) => {
    const folder = makeFolder(t)
    const anvil = await startAnvil(t, folder)
    const node = new WeatherNode(forwardTo(anvil.url))
    node.hasSockets = false
    await node.start()
    t.teardown(() => node.stop())
    const options = { urls: [node.url], genesisPath: anvil.genesisPath }
    const held = await anvil.mine(3)
    const first = await startFollower(t, folder, options)
    await reaches(first, held)
    t.equal(await first.stop(), 0)
    await node.stop()
    const service = await startFollower(t, folder, options)
    await reaches(service, held)
    await waitFor('the log line', () =>
      service.said.err.includes('does not answer (ECONNREFUSED); trying again'),
    )
    const health = async () => JSON.parse(await (await fetch(`${service.origin}/health`)).text())
    await waitFor('the health of it', async () => (await health()).status === 'failing')
    t.match(await health(), { networks: { dev: { syncing: true } } })
    t.match((await service.call('eth_syncing')).result, { currentBlock: '0x3' })
    const newer = await anvil.mine(2)
    await node.start()
    await reaches(service, newer)
    await waitFor('the health of it', async () => (await health()).status === 'ok')
    t.equal((await service.call('eth_syncing')).result, false)
    t.match(service.said.err, 'answers again')
  },
)

t.test(
  'a reorganisation deeper than allowed is not followed, and both branches are named',
  { skip: withoutAnvil },
  async (t) => {
    const { anvil, service } = await followAnvil(t, { blocks: 8, reorgDepthMax: 3 })
    await anvil.ask('anvil_reorg', [3, []])
    await reaches(service, await anvil.head())
    const ours = await anvil.head()
    await anvil.ask('anvil_reorg', [4, []])
    await waitFor('the health of it', async () => (await healthOf(service)).status === 'failing')
    const { trouble } = (await healthOf(service)).networks.dev
    t.match(trouble, 'part more than 3 blocks below the head (reorgDepthMax)')
    t.match(trouble, `to 8 (${ours.hash}), the upstream's`)
    t.match(trouble, /the upstream's \d+ \(0x[0-9a-f]{64}\) to \d+ \(0x[0-9a-f]{64}\)/)
    const said = service.said.err.split('\n').filter((line) => line.includes('reorgDepthMax'))
    t.equal(said.length, 1)
    t.match(said[0], '"level":50')
    await reaches(service, ours)
  },
)

t.test(
  'a node that goes back further than allowed is not followed either',
  { skip: withoutAnvil },
  async (t) => {
    const { anvil, service } = await followAnvil(t, { blocks: 2, reorgDepthMax: 3 })
    const snapshot = await anvil.ask('evm_snapshot', [])
    await reaches(service, await anvil.mine(4))
    const ours = await anvil.head()
    await anvil.ask('evm_revert', [snapshot])
    await waitFor('the log line', () =>
      service.said.err.includes('part more than 3 blocks below the head (reorgDepthMax)'),
    )
    await reaches(service, ours)
    t.match(await healthOf(service), { status: 'failing', networks: { dev: { head: 6 } } })
  },
)

t.test('the flags that follow a node need each other', async (t) => {
  const folder = makeFolder(t)
  const serve = ['serve', '--data', folder, '--no-auth']
  for (const [words, why] of [
    [['--network', 'dev', '--follow', 'ftp://x'], /--follow: expected a URL of http, https, ws or wss/],
    [
      ['--network', 'dev', '--follow', 'http://127.0.0.1:9', '--genesis', 'none.json'],
      /there is no file .*none\.json/,
    ],
    [['--follow', 'http://127.0.0.1:9'], /name the network with --network NAME/],
    [['--genesis', 'x.json'], /--genesis .* --follow/],
  ] as const) {
    const { status, err } = await runProgram([...serve, ...words])
    t.equal(status, 2, words.join(' '))
    t.match(err, why)
  }
})
