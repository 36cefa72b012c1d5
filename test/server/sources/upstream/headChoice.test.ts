import t from 'tap'
import { HeadChoice } from '../../../../src/sources/upstream/headChoice.js'
import { HeadClaimer } from '../../../../src/sources/upstream/headClaimer.js'
import { NodePolicy } from '../../../../src/sources/upstream/nodePolicy.js'
import type { Upstream } from '../../../../src/sources/upstream/upstream.js'
import { waitFor } from '../../../library/until.js'
import { fine, type WeatherNode } from '../../../upstream/weatherNode.js'
import { blockHash, headOf, openToys, toyHeader } from './toyNodes.js'

t.test('the followed head is the highest that a quorum has', async (t) => {
  const { chains, upstreams } = await openToys(t, 3, { quorum: 2 })
  const [first, second] = chains
  await headOf(upstreams, blockHash('a', 1))
  first.head = toyHeader('a', 5)
  while (upstreams.states()[0]?.head !== 5) await upstreams.poll()
  t.equal(upstreams.head?.claim.number, 1)
  second.head = toyHeader('a', 3)
  await headOf(upstreams, blockHash('a', 3))
})

t.test('nodes on different branches have no head that two of them have', async (t) => {
  const { chains, upstreams } = await openToys(t, 2, { quorum: 2 })
  const [first, second] = chains
  await headOf(upstreams, blockHash('a', 1))
  const claimed = async (...heads: number[]) => {
    while (upstreams.states().some(({ head }, index) => head !== heads[index])) await upstreams.poll()
    await upstreams.poll()
  }
  first.head = toyHeader('a', 4)
  second.head = toyHeader('b', 3)
  await claimed(4, 3)
  t.equal(upstreams.head?.claim.hash, blockHash('a', 1))
  second.head = toyHeader('b', 4)
  await claimed(4, 4)
  t.equal(upstreams.head?.claim.hash, blockHash('a', 1), 'as high, and another')
  first.head = toyHeader('b', 6)
  await headOf(upstreams, blockHash('b', 4))
})

t.test('two branches of one height do not take turns', async (t) => {
  const { chains, upstreams } = await openToys(t, 2, { quorum: 1 })
  const [first, second] = chains
  first.head = toyHeader('a', 3)
  await headOf(upstreams, blockHash('a', 3))
  second.head = toyHeader('b', 4)
  await headOf(upstreams, blockHash('b', 4))
  first.head = toyHeader('a', 4)
  while (upstreams.states()[0]?.head !== 4) await upstreams.poll()
  await upstreams.poll()
  t.equal(upstreams.head?.claim.hash, blockHash('b', 4))
  first.head = toyHeader('a', 5)
  await headOf(upstreams, blockHash('a', 5))
})

t.test('without a quorum, a majority of all leads', async (t) => {
  for (const [count, quorum] of [
    [1, 1],
    [2, 2],
    [3, 2],
    [4, 3],
    [5, 3],
  ] as const) {
    t.equal((await openToys(t, count)).upstreams.quorum, quorum, `${quorum} of ${count}`)
  }
})

t.test('a head that one of three claims leads nobody, and its node is not asked first', async (t) => {
  const { chains, nodes, upstreams } = await openToys(t, 3)
  await headOf(upstreams, blockHash('a', 1))
  const [first, second, third] = chains
  third.head = toyHeader('b', 1_000)
  while (upstreams.states()[2]?.head !== 1_000) await upstreams.poll()
  first.head = toyHeader('a', 2)
  second.head = toyHeader('a', 2)
  await headOf(upstreams, blockHash('a', 2))
  t.equal(upstreams.head?.claim.number, 2)
  // By its answers, this node is the last.
  const ghost = nodes[2] as WeatherNode
  ghost.weather = () => ({ kind: 'status', status: 500 })
  const errors = () => upstreams.figures().find(({ name }) => ghost.url.endsWith(name))?.failed ?? 0
  while (errors() < 4) await upstreams.poll()
  ghost.weather = () => fine
  while (upstreams.answering.length < 3) await upstreams.poll()
  t.ok(ghost.url.endsWith(upstreams.answering.at(-1)?.name as string))
})

t.test('nodes that do not vote delay no head', async (t) => {
  const { chains, nodes, upstreams } = await openToys(t, 5, { timeoutMs: 600_000 })
  await headOf(upstreams, blockHash('a', 1))
  // Three nodes are enough for a head. The other two must have reported this chain before they fall silent.
  while (upstreams.states().some(({ head }) => head !== 1)) await upstreams.poll()
  // Two nodes claim a higher block, and do not report the blocks below.
  for (const [index, chain] of chains.entries()) {
    if (index < 3) continue
    chain.head = toyHeader('b', 50 + index)
    const node = nodes[index] as WeatherNode
    node.weather = (calls) =>
      calls.every(({ params }) => params[0] === 'latest') ? fine : { kind: 'silent' }
  }
  while (upstreams.states().filter(({ head }) => Number(head) > 50).length < 2) await upstreams.poll()
  for (const chain of chains.slice(0, 3)) chain.head = toyHeader('a', 5)
  await headOf(upstreams, blockHash('a', 5))
  t.ok(
    upstreams.figures().every(({ failed }) => failed === 0),
    'long before a node has to answer',
  )
})

t.test('of two nodes both are needed, and the other one where one says nothing for a while', async (t) => {
  const { chains, nodes, upstreams } = await openToys(t, 2)
  const [first, second] = chains
  await headOf(upstreams, blockHash('a', 1))
  first.head = toyHeader('a', 9)
  second.head = toyHeader('a', 3)
  await headOf(upstreams, blockHash('a', 3))
  await nodes[1]?.stop()
  await headOf(upstreams, blockHash('a', 9))
  t.equal(upstreams.quorum, 1)
})

t.test('where one node leads, a head that nobody has is followed once', async (t) => {
  const { chains, upstreams } = await openToys(t, 2, { quorum: 1 })
  const [first, second] = chains
  await headOf(upstreams, blockHash('a', 1))
  second.head = toyHeader('b', 7)
  await headOf(upstreams, blockHash('b', 7))
  first.head = toyHeader('a', 2)
  while (upstreams.states()[0]?.head !== 2) await upstreams.poll()
  t.equal(upstreams.head?.claim.number, 7)
  upstreams.choice.doubt()
  await headOf(upstreams, blockHash('a', 2))
  second.head = toyHeader('b', 8)
  while (upstreams.states()[1]?.head !== 8) await upstreams.poll()
  await upstreams.poll()
  t.equal(upstreams.head?.claim.hash, blockHash('a', 2), 'also as another one')
  second.head = toyHeader('a', 3)
  first.head = toyHeader('a', 3)
  await headOf(upstreams, blockHash('a', 3))
})

t.test('where all are doubted, who is doubted least leads', async (t) => {
  const { chains, upstreams } = await openToys(t, 2, { quorum: 1 })
  const [first, second] = chains
  await headOf(upstreams, blockHash('a', 1))
  second.head = toyHeader('b', 7)
  await headOf(upstreams, blockHash('b', 7))
  first.head = toyHeader('a', 2)
  while (upstreams.states()[0]?.head !== 2) await upstreams.poll()
  for (const next of [blockHash('a', 2), blockHash('b', 7), blockHash('a', 2)]) {
    upstreams.choice.doubt()
    await headOf(upstreams, next)
    t.equal(upstreams.head?.claim.hash, next)
  }
})

t.test('of those that have a doubted head another one leads', async (t) => {
  const { chains, upstreams } = await openToys(t, 3)
  await headOf(upstreams, blockHash('a', 1))
  for (const chain of chains) chain.head = toyHeader('a', 2)
  await headOf(upstreams, blockHash('a', 2))
  while (upstreams.states().some(({ head }) => head !== 2)) await upstreams.poll()
  const leader = upstreams.head?.upstream
  upstreams.choice.doubt()
  await waitFor('another leader', () => upstreams.head?.upstream !== leader)
  t.equal(upstreams.head?.claim.hash, blockHash('a', 2))
})

t.test('a single node leads also when it is doubted', async (t) => {
  const { chains, upstreams } = await openToys(t, 1)
  await headOf(upstreams, blockHash('a', 1))
  upstreams.choice.doubt()
  chains[0].head = toyHeader('a', 2)
  await headOf(upstreams, blockHash('a', 2))
  t.equal(upstreams.head?.claim.number, 2)
})

t.test('a node that claims without end has the others asked now and then', async (t) => {
  const asked: unknown[] = []
  const ask: Upstream['ask'] = async (_method, [number]) => void asked.push(number)
  const [one, other, flood] = ['one', 'other', 'flood'].map(
    (name) =>
      new HeadClaimer({ name, policy: new NodePolicy(name), ask } as Partial<Upstream> as Upstream, 1_000),
  ) as [HeadClaimer, HeadClaimer, HeadClaimer]
  const choice = new HeadChoice([one, other, flood], 2)
  const claimOf = (branch: string, number: number) => {
    const { hash, parentHash } = toyHeader(branch, number)
    return { number, hash, parentHash }
  }
  for (const honest of [one, other]) honest.take(claimOf('a', 10_000))
  choice.claimed(one)
  await waitFor('the head', () => choice.head?.claim.number === 10_000)
  for (let number = 1; number <= 5_000; number++) {
    flood.take(claimOf('b', number))
    choice.claimed(flood)
    // Answers come in between.
    await Promise.resolve()
  }
  await waitFor('the newest claim', () => asked.filter((number) => number === '0x1388').length === 2)
  t.ok(asked.length < 1_000, `${asked.length} questions`)
  // The wait for one node does not delay another.
  for (const honest of [one, other]) honest.take(claimOf('a', 10_001))
  choice.claimed(other)
  await waitFor('the next head', () => choice.head?.claim.number === 10_001)
})
