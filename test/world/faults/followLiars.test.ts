/** A follower with nodes of which some lie, lag or die. Their actions end nothing, and unwind no valid block. */
import t, { type Test } from 'tap'
import { reachesTip } from '../../faults/storm.js'
import { type StormBlock, StormChain } from '../../faults/stormChain.js'
import { answerFrom, HonestNode, LyingNode } from '../../faults/stormNodes.js'
import { makeFolder, writeInto } from '../../library/folder.js'
import { Dice, someOf } from '../../library/property.js'
import { waitFor } from '../../library/until.js'
import type { Service } from '../../service/service.js'
import { type FollowOptions, HeadListener, startFollower } from '../../upstream/followedNode.js'
import type { WeatherNode } from '../../upstream/weatherNode.js'

interface Rig {
  readonly chain: StormChain
  readonly honest: readonly HonestNode[]
  readonly liar: LyingNode
  /** A follower of these nodes, at the newest block, with the events of a subscriber. */
  follow(
    nodes: readonly { readonly node: WeatherNode }[],
    options?: Partial<FollowOptions>,
  ): Promise<{ readonly service: Service; readonly listener: HeadListener }>
}

/** Three honest nodes, of which the last is three steps behind, and a lying node, which is honest at first. */
async function openRig(t: Test): Promise<Rig> {
  const chain = await StormChain.fromSeed(1)
  const honest = [0, 0, 3].map((lagSteps) => new HonestNode(chain, { lagSteps, hasRaw: true }))
  const liar = new LyingNode(chain, new Dice(2))
  await liar.turnTo('otherState')
  for (const { node } of [...honest, liar]) {
    await node.start()
    t.teardown(() => node.stop())
  }
  const folder = makeFolder(t)
  const genesisPath = writeInto(folder, 'genesis.json', JSON.parse(chain.maker.genesisText))
  return {
    chain,
    honest,
    liar,
    async follow(nodes, options = {}) {
      const urls = nodes.map(({ node }) => node.url)
      const service = await startFollower(t, makeFolder(t), {
        urls,
        genesisPath,
        timeoutMs: 1_000,
        ...options,
      })
      await reachesTip(service, chain)
      return { service, listener: await HeadListener.open(t, service) }
    },
  }
}

async function health(service: Service) {
  return JSON.parse(await (await fetch(`${service.origin}/health`)).text())
}

async function isOk(service: Service): Promise<void> {
  await waitFor('the health of it', async () => (await health(service)).status === 'ok')
}

t.test('an invalid block of one node is held against it, and the others are followed', async (t) => {
  const { chain, honest, liar, follow } = await openRig(t)
  const [one] = honest as [HonestNode]
  const { service } = await follow([liar, one], { quorum: 1 })
  for (let round = 0; round < 2; round++) {
    await liar.turnTo('invalidBlock')
    const seen = service.said.err.length
    await waitFor('the log line', () => / lied: .* is invalid: /.test(service.said.err.slice(seen)))
    await liar.turnTo('otherState')
    await chain.advance(0)
    await reachesTip(service, chain)
    await isOk(service)
  }
  const name = (node: WeatherNode) => node.url.slice('http://'.length)
  t.match(service.said.err, `${name(liar.node)} lied: block 81`)
  t.notMatch(service.said.err, `${name(one.node)} lied`)
  t.notMatch(service.said.err, 'the source ended')
})

t.test('where the only node has an invalid block, that is told, and the node is asked again', async (t) => {
  const { chain, liar, follow } = await openRig(t)
  const { service } = await follow([liar])
  await liar.turnTo('invalidBlock')
  await waitFor('the health of it', async () => (await health(service)).networks.dev.trouble !== undefined)
  t.match(await health(service), { status: 'failing', networks: { dev: { trouble: /is invalid: / } } })
  t.match(service.said.err, /"level":50,.*block 81 \(0x[0-9a-f]{64}\) is invalid/)
  await liar.turnTo('otherState')
  await chain.advance(0)
  await reachesTip(service, chain)
  await isOk(service)
  t.equal((await health(service)).networks.dev.trouble, undefined)
})

t.test(
  'a branch that parts too deep, of one node, does not keep the others from being followed',
  async (t) => {
    const { chain, honest, liar, follow } = await openRig(t)
    const [one, other] = honest as [HonestNode, HonestNode]
    const { service, listener } = await follow([liar, one, other], { quorum: 1, reorgDepthMax: 5 })
    const base = chain.tip
    await chain.advance(0)
    await reachesTip(service, chain)
    const branch = await StormChain.fromSeed(9)
    for (let count = 0; count < 4; count++) await branch.advance(0)
    const { answer } = liar.node
    liar.node.answer = (call) =>
      call.params[0] === '0x0'
        ? answer(call)
        : answerFrom(branch, { tip: branch.tip, has: () => true }, true, call)
    await waitFor('the log line', () => service.said.err.includes('more than 5 blocks below the head'))
    await chain.advance(0)
    await reachesTip(service, chain)
    await isOk(service)
    await waitFor('the news', () => listener.events.at(-1)?.hash === chain.tip.hash)
    t.equal(listener.follow(base.hash).length, 3, 'block by block, none of the other branch')
    t.notMatch(service.said.err, 'the source ended')
  },
)

t.test('when the leading of two nodes dies, nothing is taken back', async (t) => {
  const { chain, honest, follow } = await openRig(t)
  const [leading, , lagging] = honest as [HonestNode, HonestNode, HonestNode]
  const { service, listener } = await follow([leading, lagging], { quorum: 1, revertAfterMs: 100 })
  for (let step = 0; step < 3; step++) await chain.advance(0)
  await reachesTip(service, chain)
  const held = chain.tip
  await leading.node.stop()
  await waitFor('the log line', () => service.said.err.includes('does not answer'))
  const asked = lagging.polls
  // Polls are 20 ms apart.
  await waitFor('more polls', () => lagging.polls > asked + 60)
  t.equal((await service.call('eth_getBlockByNumber', ['latest', false])).result.hash, held.hash)
  for (let step = 0; step < 4; step++) await chain.advance(0)
  await waitFor('the next block', () => listener.events.at(-1)?.parentHash === held.hash)
  t.notOk(
    listener.events.some(({ removed }) => removed),
    'no block was taken back',
  )
})

t.test('a head that is nowhere stops nobody', async (t) => {
  for (const lie of someOf(['ghost', 'farGhost'] as const, 1)) {
    const { chain, honest, liar, follow } = await openRig(t)
    const [one] = honest as [HonestNode]
    await liar.turnTo(lie)
    const { service } = await follow([liar, one], { quorum: 1 })
    for (let step = 0; step < 2; step++) {
      await chain.advance(step)
      await liar.onStep()
      await reachesTip(service, chain)
    }
    await isOk(service)
    t.equal((await service.call('eth_syncing')).result, false, lie)
  }
})

t.test('the hash of an old block under a new number is a lie', async (t) => {
  const { chain, honest, liar, follow } = await openRig(t)
  const [one] = honest as [HonestNode]
  const { service, listener } = await follow([liar, one], { quorum: 1 })
  const { answer } = liar.node
  const old = chain.tipAt(0).parent as StormBlock
  liar.node.answer = async (call) => {
    const reported = await answer(call)
    if (call.params[0] !== 'latest' || !('result' in reported)) return reported
    return { result: { ...(reported.result as object), number: '0x60', hash: old.hash } }
  }
  await waitFor('the log line', () => service.said.err.includes('lied'))
  await chain.advance(0)
  await reachesTip(service, chain)
  t.notOk(listener.events.some(({ removed }) => removed))
})

t.test(
  'while many blocks are missing, what one node has under their numbers leads nobody astray',
  async (t) => {
    const { chain, honest, liar, follow } = await openRig(t)
    const branch = await StormChain.fromSeed(9)
    const { answer } = liar.node
    let numbers = 0
    // The other nodes are slower, so that this one is asked.
    for (const { node } of honest) {
      const right = node.answer
      node.answer = (call) => new Promise((resolve) => setTimeout(() => resolve(right(call)), 5))
    }
    liar.node.answer = (call) => {
      const id = String(call.params[0])
      const isNumber =
        /^(eth_getBlockByNumber|debug_getRawBlock)$/.test(call.method) && /^0x[1-9a-f]/.test(id)
      if (!isNumber || id.length === 66) return answer(call)
      numbers++
      return answerFrom(branch, { tip: branch.tip, has: () => true }, true, call)
    }
    const { service } = await follow([liar, ...honest])
    t.ok(numbers > 0)
    await chain.advance(0)
    await reachesTip(service, chain)
    await isOk(service)
    const names = honest.map(({ node }) => node.url.slice('http://'.length))
    for (const name of names) t.notMatch(service.said.err, `${name} lied`)
  },
)

t.test('a silent first node does not keep a new store from its genesis', async (t) => {
  const { honest, liar, follow } = await openRig(t)
  await liar.turnTo('silent')
  const { service } = await follow([liar, ...honest.slice(0, 2)])
  t.equal((await service.call('eth_blockNumber')).result, '0x50')
})
