/** A follower and a gateway with nodes that disagree about branches, the time, and the safe block. */
import t, { type Test } from 'tap'
import { testAddresses } from '../../ingest/chainMaker.js'
import { makeFolder } from '../../library/folder.js'
import { waitFor } from '../../library/until.js'
import type { Service } from '../../service/service.js'
import {
  type AnvilNode,
  anvilGenesis,
  type NodeBlock,
  startAnvil,
  withoutAnvil,
} from '../../upstream/anvilNode.js'
import {
  between,
  HeadListener,
  openBetween,
  reaches,
  startFollower,
  startGateway,
} from '../../upstream/followedNode.js'
import type { WeatherNode } from '../../upstream/weatherNode.js'

const skip = withoutAnvil
const balance = [String(testAddresses[1]), 'latest']

interface Started {
  readonly services: readonly Service[]
  /** Events of a subscriber of each service. */
  readonly listeners: readonly HeadListener[]
}

/** Both kinds before the same nodes, once they have this head. */
async function startBoth(
  t: Test,
  nodes: readonly WeatherNode[],
  anvil: AnvilNode,
  quorum = 1,
): Promise<Started> {
  const folder = makeFolder(t)
  const urls = nodes.map(({ url }) => url)
  const services = [
    await startFollower(t, folder, { urls, genesisPath: anvil.genesisPath, quorum, pollMs: 100 }),
    await startGateway(t, folder, { urls, quorum }),
  ]
  const listeners: HeadListener[] = []
  for (const service of services) {
    await reaches(service, await anvil.head())
    listeners.push(await HeadListener.open(t, service))
  }
  return { services, listeners }
}

/** Resolves once both serve this head with the state of its node. */
async function bothReach({ services }: Started, head: NodeBlock, anvil: AnvilNode): Promise<void> {
  for (const service of services) {
    await reaches(service, head)
    const expected = await anvil.ask('eth_getBalance', balance)
    await waitFor('the balance', async () => {
      return (await service.call('eth_getBalance', balance)).result === expected
    })
  }
}

/** Resolves once each subscriber was led, block by block, from `base` to `head`. */
async function bothReported({ listeners }: Started, base: NodeBlock, head: NodeBlock): Promise<void> {
  for (const listener of listeners) {
    await waitFor(`the news of ${head.hash}`, () => listener.events.at(-1)?.hash === head.hash)
    if (listener.follow(base.hash).at(-1) !== head.hash) throw new Error('led elsewhere')
  }
}

t.test('of two nodes on different branches first one leads, then the other', { skip }, async (t) => {
  const one = await startAnvil(t, makeFolder(t))
  const other = await startAnvil(t, makeFolder(t))
  const nodes = [await openBetween(t, one), await openBetween(t, other)]
  const base = await one.head()
  t.equal((await other.head()).hash, base.hash)
  const started = await startBoth(t, nodes, one)
  let head = await one.mine(3)
  await bothReach(started, head, one)
  for (const [leader, blocks] of [
    [other, 5],
    [one, 4],
    [other, 3],
  ] as const) {
    head = await leader.mine(blocks)
    await bothReach(started, head, leader)
  }
  await bothReported(started, base, head)
  for (const { said } of started.services) t.notMatch(said.err, 'lied')
})

t.test('with a quorum of 2, nodes on different branches move no head', { skip }, async (t) => {
  const one = await startAnvil(t, makeFolder(t))
  const other = await startAnvil(t, makeFolder(t))
  const base = await one.mine(2)
  const nodes = [await openBetween(t, one), await openBetween(t, one)]
  const [, second] = nodes as [WeatherNode, WeatherNode]
  const started = await startBoth(t, nodes, one, 2)
  await other.mine(4)
  second.answer = between(other)
  const polled = async () => {
    const asked = nodes.map(({ requests }) => requests.length)
    await waitFor('polls', () =>
      nodes.every(({ requests }, index) => requests.length > (asked[index] ?? 0) + 8),
    )
  }
  await polled()
  await one.mine(3)
  await polled()
  for (const service of started.services) await reaches(service, base)
  second.answer = between(one)
  const head = await one.mine(1)
  await bothReach(started, head, one)
  await bothReported(started, base, head)
  for (const listener of started.listeners) t.notOk(listener.events.some(({ removed }) => removed))
})

t.test('before one node', { skip }, async (t) => {
  const folder = makeFolder(t)
  const anvil = await startAnvil(t, folder, { ...anvilGenesis(), timestamp: '0x0' })
  const node = await openBetween(t, anvil)
  const mineAt = async (timestamp: number) => {
    await anvil.ask('evm_setNextBlockTimestamp', [timestamp])
    return anvil.mine(1)
  }
  const base = await mineAt(100)
  const started = await startBoth(t, [node], anvil)
  const block = (id: string) => anvil.ask('eth_getBlockByNumber', [id, false])

  await t.test('safe and finalized are known from the first head on', async (t) => {
    for (const tag of ['safe', 'finalized']) {
      const { hash } = await block(tag)
      for (const service of started.services) {
        await waitFor(`the ${tag} block`, async () => {
          return (await service.call('eth_getBlockByNumber', [tag, false])).result?.hash === hash
        })
      }
      t.pass(tag)
    }
  })

  await t.test('clocks do not matter: heads of the far past and of the future', async (t) => {
    for (const timestamp of [200, 4_102_444_800, 32_503_680_000]) {
      const head = await mineAt(timestamp)
      t.equal(Number((head as unknown as { timestamp: string }).timestamp), timestamp)
      await bothReach(started, head, anvil)
    }
    await bothReported(started, base, await anvil.head())
  })

  await t.test('safe and finalized lie on the chain, and do not move back', async (t) => {
    let named: Readonly<Record<string, unknown>> = {}
    node.answer = between(anvil, (call, answer) => {
      const found = call.method === 'eth_getBlockByNumber' ? named[String(call.params[0])] : undefined
      return found === undefined ? answer : { result: found }
    })
    const markers = async (service: Service) => {
      const blocks = ['safe', 'finalized'].map((tag) => service.call('eth_getBlockByNumber', [tag, false]))
      return (await Promise.all(blocks)).map(({ result }) => Number(result?.number)).join()
    }
    /** Reports both at a new head. Once they were polled and the next head is there, the markers must be these. */
    const name = async (safe: unknown, finalized: unknown, expected: string) => {
      named = { safe, finalized }
      const asked = node.calls.length
      await bothReach(started, await anvil.mine(1), anvil)
      await waitFor('the question', () => {
        const later = node.calls.slice(asked).filter(({ params }) => params[0] === 'finalized')
        return later.length >= started.services.length
      })
      await bothReach(started, await anvil.mine(1), anvil)
      for (const service of started.services) {
        await waitFor(`${expected} to be marked`, async () => (await markers(service)) === expected)
      }
      t.pass(expected)
    }
    await name(await block('0x3'), await block('0x2'), '3,2')
    await name(await block('0x1'), await block('0x0'), '3,2')
    const stranger = `0x${'77'.repeat(32)}`
    await name({ ...(await block('0x5')), hash: stranger }, { number: '0xffff', hash: stranger }, '3,2')
    await name({ number: 'x' }, null, '3,2')
    await name(await block('0x6'), await block('0x5'), '6,5')
    // The branch with the safe block is removed. The next reported one counts, even if it is lower.
    await anvil.ask('anvil_reorg', [Number((await anvil.head()).number) - 3, []])
    await name(await block('0x4'), await block('0x3'), '4,3')
  })

  await t.test('a node that becomes another chain ends nothing', async (t) => {
    const stranger = await startAnvil(t, makeFolder(t), { ...anvilGenesis(), timestamp: '0x7' })
    await stranger.mine(20)
    const before = await anvil.head()
    node.answer = between(stranger)
    await waitFor('the log line', () => /is of another chain/.test(started.services[0]?.said.err ?? ''))
    for (const service of started.services) await reaches(service, before)
    node.answer = between(anvil)
    const head = await anvil.mine(2)
    await bothReach(started, head, anvil)
    await bothReported(started, base, head)
    t.pass(`led from ${base.hash} to ${head.hash}`)
  })
})
