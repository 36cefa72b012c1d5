/** The head of a gateway if some of its nodes claim heads that do not exist or are invalid, or do not answer. */
import t, { type Test } from 'tap'
import { reachesTip } from '../../faults/storm.js'
import { type StormBlock, StormChain } from '../../faults/stormChain.js'
import { answerFrom, HonestNode, LyingNode } from '../../faults/stormNodes.js'
import { makeFolder } from '../../library/folder.js'
import { Dice, someOf } from '../../library/property.js'
import { waitFor } from '../../library/until.js'
import type { Service } from '../../service/service.js'
import { type GatewayOptions, startGateway } from '../../upstream/followedNode.js'
import { WeatherNode } from '../../upstream/weatherNode.js'

/** Nodes of one chain: a lying node, which is honest at first, and honest ones. */
async function openRig(t: Test, honestCount: number) {
  const chain = await StormChain.fromSeed(1)
  const honest = Array.from(
    { length: honestCount },
    () => new HonestNode(chain, { lagSteps: 0, hasRaw: true }),
  )
  const liar = new LyingNode(chain, new Dice(2))
  await liar.turnTo('otherState')
  for (const { node } of [liar, ...honest]) await open(t, node)
  return { chain, honest, liar }
}

async function open(t: Test, node: WeatherNode): Promise<WeatherNode> {
  node.hasSockets = false
  await node.start()
  t.teardown(() => node.stop())
  return node
}

/**
 * No node here is silent: stopped nodes refuse connections. This process gives all answers for a branch of 65 blocks,
 * which take seconds on a busy machine. With less time each attempt would fail, and the next would begin again.
 */
const nodeMs = 60_000

function start(
  t: Test,
  nodes: readonly WeatherNode[],
  options: Partial<GatewayOptions> = {},
): Promise<Service> {
  return startGateway(t, makeFolder(t), { urls: nodes.map(({ url }) => url), timeoutMs: nodeMs, ...options })
}

async function health(service: Service) {
  return JSON.parse(await (await fetch(`${service.origin}/health`)).text())
}

const lies = [
  [1, 'farGhost'],
  [2, 'ghost'],
] as const
for (const [quorum, lie] of someOf(lies, 1)) {
  t.test(`with a quorum of ${quorum}, a ${lie} among three stops nobody`, async (t) => {
    const { chain, honest, liar } = await openRig(t, 2)
    await liar.turnTo(lie)
    const service = await start(t, [liar.node, ...honest.map(({ node }) => node)], { quorum })
    await reachesTip(service, chain)
    for (const depth of [0, 0, 3, 64]) {
      await chain.advance(depth)
      await liar.onStep()
      await reachesTip(service, chain)
      t.equal((await health(service)).networks.dev.syncing, false)
    }
    await waitFor('the health of it', async () => (await health(service)).status === 'ok')
  })
}

t.test('a header that does not follow from its parent is not served, and who has it lied', async (t) => {
  const { chain, honest } = await openRig(t, 1)
  let invalid: StormBlock | undefined
  const view = {
    get tip() {
      return invalid ?? chain.tip
    },
    has: (block: StormBlock) => block === invalid || block.isValid,
  }
  const liar = await open(t, new WeatherNode((call) => answerFrom(chain, view, true, call)))
  const [{ node }] = honest as [HonestNode]
  const service = await start(t, [liar, node], { quorum: 1 })
  await reachesTip(service, chain)
  const { tip } = chain
  const header = { gasLimit: tip.made.block.header.gasLimit * 2n }
  const made = await chain.maker.extend(tip.made, { header })
  const hash = `0x${Buffer.from(made.hash).toString('hex')}`
  invalid = { made, number: made.number, hash, parent: tip, isValid: false, bornAt: 0 }
  chain.blocks.set(hash, invalid)
  const name = liar.url.slice('http://'.length)
  await waitFor('the log line', () =>
    service.said.err.includes(`${name} lied: block ${made.number} (${hash}) is invalid: gasLimit is `),
  )
  await chain.advance(0)
  await reachesTip(service, chain)
  t.notMatch(service.said.err, `${node.url.slice('http://'.length)} lied`)
})

t.test('/health and the log say why a head does not move', async (t) => {
  const { chain, honest } = await openRig(t, 3)
  const nodes = honest.map(({ node }) => node)
  const service = await start(t, nodes)
  await reachesTip(service, chain)
  t.equal((await health(service)).status, 'ok')
  const gone = nodes.slice(1)
  await Promise.all(gone.map((node) => node.stop()))
  await chain.advance(0)
  const stuck = await waitFor('the trouble', async () => {
    const page = await health(service)
    return page.networks.dev.trouble !== undefined && page
  })
  const names = gone.map(({ url }) => url.slice('http://'.length)).join(', ')
  const why = (which: string) => `2 of 3 upstreams have to agree on the head, and ${which} cannot be counted`
  // Callers see the numbers of the nodes, the operator their names.
  t.match(stuck, { status: 'failing', networks: { dev: { trouble: why('2, 3') } } })
  t.type(stuck.networks.dev.headAgeSeconds, 'number')
  t.match(service.said.err, `the head does not move: ${why(names)}`)
  await Promise.all(gone.map((node) => node.start()))
  await reachesTip(service, chain)
  await waitFor('the health of it', async () => (await health(service)).status === 'ok')
  t.match(service.said.err, 'the head moves again')
})

t.test('what is held is served where too few nodes answer for a head', async (t) => {
  const { chain, honest } = await openRig(t, 3)
  const nodes = honest.map(({ node }) => node) as [WeatherNode, WeatherNode, WeatherNode]
  const folder = makeFolder(t)
  const options = { urls: nodes.map(({ url }) => url), timeoutMs: nodeMs, quorum: 2 }
  const first = await startGateway(t, folder, options)
  await reachesTip(first, chain)
  await first.stop()
  await nodes[1].stop()
  await nodes[2].stop()
  const second = await startGateway(t, folder, options)
  const { result } = await second.call('eth_getBlockByNumber', ['latest', false])
  t.equal(result.hash, chain.tip.hash)
})
