import t, { type Test } from 'tap'
import { defer } from '../../../src/primitives/deferred.js'
import { OperatorError } from '../../../src/primitives/faults.js'
import type { HeadListener } from '../../../src/upstream/headChoice.js'
import { NodeError } from '../../../src/upstream/upstream.js'
import { NoAnswerError, Upstreams } from '../../../src/upstream/upstreams.js'
import { waitFor } from '../../library/until.js'
import { fine, type WeatherNode } from '../../upstream/weatherNode.js'
import { blockHash, openNode, optionsOf, soon, ToyChain, toyChain, toyHeader } from './toyNodes.js'

interface Opened {
  readonly upstreams: Upstreams
  readonly lines: string[]
}

function open(
  t: Test,
  nodes: readonly WeatherNode[],
  more: { readonly quorum?: number; readonly timeoutMs?: number } = {},
): Opened {
  const lines: string[] = []
  const { timeoutMs = 30_000, ...options } = more
  const upstreams = new Upstreams(
    nodes.map((node) => optionsOf(node, { timeoutMs })),
    { chain: toyChain, pollMs: 5, log: (text) => lines.push(text), ...options },
  )
  t.teardown(() => upstreams.close())
  return { upstreams, lines }
}

/** Resolves once the followed head has this hash. */
function headOf(upstreams: Upstreams, hash: string): Promise<void> {
  return new Promise((resolve) => {
    const listener: HeadListener = (claim) => {
      if (claim.hash !== hash) return
      unlisten()
      resolve()
    }
    const unlisten = upstreams.onHead(listener)
    const { head } = upstreams
    if (head !== undefined) listener(head.claim, head.upstream)
  })
}

t.test('identical questions under way are one', async (t) => {
  const chain = new ToyChain()
  const received = defer<void>()
  const release = defer<void>()
  const node = await openNode(t, async (call) => {
    if (call.method !== 'eth_getCode') return chain.answer(call)
    received.resolve()
    await release.promise
    return chain.answer(call)
  })
  const { upstreams } = open(t, [node])
  await headOf(upstreams, blockHash('a', 1))
  const asked = [1, 2, 3].map(() => upstreams.ask('eth_getCode', ['0x1'], { deadline: soon() }))
  await received.promise
  asked.push(upstreams.ask('eth_getCode', ['0x1'], { deadline: soon() }))
  release.resolve()
  for (const { result } of await Promise.all(asked)) t.equal(result, '0x1')
  t.equal(node.calls.filter(({ method }) => method === 'eth_getCode').length, 1)
})

t.test('a question is asked again until the node is back', async (t) => {
  const node = await openNode(t)
  const { upstreams, lines } = open(t, [node])
  await headOf(upstreams, blockHash('a', 1))
  await node.stop()
  const asked = upstreams.ask('eth_getCode', ['0x1'], { deadline: soon() })
  while (lines.length === 0) await upstreams.poll()
  await node.start()
  t.equal((await asked).result, '0x1')
  t.match(lines[0], /^127\.0\.0\.1:\d+ does not answer/)
})

t.test('a question goes to another node where one fails, is slow or is excluded', async (t) => {
  const nodes = [await openNode(t), await openNode(t)]
  const { upstreams } = open(t, nodes)
  await headOf(upstreams, blockHash('a', 1))
  const ask = (not: Parameters<Upstreams['ask']>[2]['not'] = []) =>
    upstreams.ask('eth_getCode', ['0x1'], { deadline: soon(), not })
  const [first, second] = nodes as [WeatherNode, WeatherNode]
  const { upstream } = await ask()
  t.not((await ask([upstream])).upstream, upstream, 'excluded')
  for (const kind of ['drop', 'silent'] as const) {
    for (const [bad, good] of [
      [first, second],
      [second, first],
    ] as const) {
      bad.weather = (calls) => (calls.some(({ method }) => method === 'eth_getCode') ? { kind } : fine)
      t.equal(`http://${(await ask()).upstream.name}`, good.url, kind)
      bad.weather = () => fine
    }
  }
})

t.test('two silent nodes do not hold up a question', async (t) => {
  const nodes = [await openNode(t), await openNode(t), await openNode(t)]
  const { upstreams } = open(t, nodes)
  await headOf(upstreams, blockHash('a', 1))
  let silent = 2
  for (const node of nodes) {
    node.weather = (calls) =>
      calls.some(({ method }) => method === 'eth_getCode') && silent-- > 0 ? { kind: 'silent' } : fine
  }
  const start = performance.now()
  t.equal((await upstreams.ask('eth_getCode', ['0x1'], { deadline: soon() })).result, '0x1')
  t.ok(performance.now() - start < 15_000, 'long before a node has to answer')
})

t.test('what each node was asked is counted: answers, failures, hedges and lies', async (t) => {
  const nodes = [await openNode(t), await openNode(t)]
  const { upstreams } = open(t, nodes)
  await headOf(upstreams, blockHash('a', 1))
  const before = upstreams.figures()
  let kind: 'silent' | 'drop' | undefined = 'silent'
  for (const node of nodes) {
    node.weather = (calls) => {
      const weather =
        kind !== undefined && calls.some(({ method }) => method === 'eth_getCode') ? { kind } : fine
      if (weather !== fine) kind = undefined
      return weather
    }
  }
  const { upstream } = await upstreams.ask('eth_getCode', ['0x1'], { deadline: soon() })
  const hedges = upstreams.figures().map(({ name, hedges }) => [name, hedges])
  t.strictSame(
    new Map(hedges as [string, number][]).get(upstream.name),
    1,
    'it was asked because another is slow',
  )
  t.equal(
    hedges.reduce((sum, [, count]) => sum + Number(count), 0),
    1,
  )
  kind = 'drop'
  await upstreams.ask('eth_getCode', ['0x2'], { deadline: soon() })
  upstream.accuse('code of another hash')
  const after = upstreams.figures()
  const grown = (name: 'answered' | 'seconds' | 'failed' | 'lies') =>
    [after, before]
      .map((figures) => figures.reduce((sum, each) => sum + each[name], 0))
      .reduce((a, b) => a - b)
  t.ok(grown('answered') >= 2)
  t.ok(grown('seconds') > 0)
  t.ok(grown('failed') >= 1)
  t.equal(grown('lies'), 1)
})

t.test('a question that may not be repeated is asked once', async (t) => {
  const node = await openNode(t)
  const { upstreams } = open(t, [node])
  await headOf(upstreams, blockHash('a', 1))
  node.weather = (calls) => (calls.some(({ method }) => method === 'evm_mine') ? { kind: 'drop' } : fine)
  await t.rejects(upstreams.ask('evm_mine', [], { deadline: soon() }), NoAnswerError)
  t.equal(node.requests.flat().filter(({ method }) => method === 'evm_mine').length, 1)
})

t.test("a node's error is the answer; with no answer every node is named", async (t) => {
  const nodes = [await openNode(t), await openNode(t)]
  const { upstreams } = open(t, nodes)
  await headOf(upstreams, blockHash('a', 1))
  await t.rejects(upstreams.ask('eth_getNothing', [], { deadline: soon() }), NodeError)
  for (const node of nodes) node.weather = () => ({ kind: 'status', status: 500 })
  const error = await upstreams
    .ask('eth_getCode', ['0x1'], { deadline: performance.now() + 300 })
    .catch((thrown: Error) => thrown)
  t.ok(error instanceof NoAnswerError)
  for (const { url } of nodes) t.match(String(error), url.slice('http://'.length))
})

t.test('a liar is named and not asked', async (t) => {
  const node = await openNode(t)
  const { upstreams, lines } = open(t, [node])
  const { upstream } = await upstreams.ask('eth_getCode', ['0x1'], { deadline: soon() })
  upstream.accuse('code of another hash')
  t.match(lines.join(), /^127\.0\.0\.1:\d+ lied: code of another hash; it is not asked for 5 s/)
  await t.rejects(upstreams.ask('eth_getCode', ['0x1'], { deadline: performance.now() + 100 }), {
    message: /quarantined/,
  })
  t.match(upstreams.states(), [{ isQuarantined: true, lies: ['code of another hash'] }])
})

t.test('a node of another chain is refused by name', async (t) => {
  for (const [change, why] of [
    [(chain: ToyChain) => Object.assign(chain, { chainId: '0x8' }), /its chain id is 8, this network's is 7/],
    [
      (chain: ToyChain) =>
        Object.assign(chain, { genesis: { ...toyHeader('a', 0), hash: blockHash('b', 0) } }),
      /its genesis is 0xbb/,
    ],
  ] as const) {
    const chain = new ToyChain()
    change(chain)
    const other = await openNode(t, chain.answer)
    const good = await openNode(t)
    const { upstreams } = open(t, [good, other])
    const error = await upstreams.check(60_000).catch((thrown: Error) => thrown)
    t.ok(error instanceof OperatorError)
    t.match(String(error), why)
    t.match(String(error), other.url.slice('http://'.length))
    t.equal(
      `http://${(await upstreams.ask('eth_getCode', ['0x1'], { deadline: soon() })).upstream.name}`,
      good.url,
    )
  }
})

t.test('a node that comes back as another chain is refused', async (t) => {
  const chain = new ToyChain()
  const node = await openNode(t, chain.answer)
  const { upstreams, lines } = open(t, [node])
  t.equal(await upstreams.check(60_000), true)
  await headOf(upstreams, blockHash('a', 1))
  await node.stop()
  while (lines.length === 0) await upstreams.poll()
  chain.chainId = '0x8'
  chain.head = toyHeader('b', 9)
  await node.start()
  while (!lines.some((line) => line.includes('another chain'))) await upstreams.poll()
  t.equal(upstreams.head?.claim.hash, blockHash('a', 1))
})

for (const hasSockets of [true, false]) {
  t.test(`heads ${hasSockets ? 'by subscription' : 'by polling'}, also after a restart`, async (t) => {
    const chain = new ToyChain()
    const node = await openNode(t, chain.answer)
    node.hasSockets = hasSockets
    const { upstreams } = open(t, [node])
    await headOf(upstreams, blockHash('a', 1))
    while (hasSockets && node.subscribers === 0) await upstreams.poll()
    chain.head = toyHeader('a', 2)
    node.tell(chain.head)
    await headOf(upstreams, blockHash('a', 2))
    await node.stop()
    chain.head = toyHeader('a', 3)
    await node.start()
    await headOf(upstreams, blockHash('a', 3))
    t.match(upstreams.states(), [{ head: 3, isAnswering: true }])
  })
}

t.test('the followed head is the highest that a quorum has', async (t) => {
  const chains = [new ToyChain(), new ToyChain(), new ToyChain()]
  const nodes = await Promise.all(chains.map((chain) => openNode(t, chain.answer)))
  for (const node of nodes) node.hasSockets = false
  const { upstreams } = open(t, nodes, { quorum: 2 })
  await headOf(upstreams, blockHash('a', 1))
  const [first, second] = chains as [ToyChain, ToyChain]
  first.head = toyHeader('a', 5)
  while (upstreams.states()[0]?.head !== 5) await upstreams.poll()
  t.equal(upstreams.head?.claim.number, 1)
  second.head = toyHeader('a', 3)
  await headOf(upstreams, blockHash('a', 3))
})

t.test('nodes on different branches have no head that two of them have', async (t) => {
  const chains = [new ToyChain(), new ToyChain()]
  const nodes = await Promise.all(chains.map((chain) => openNode(t, chain.answer)))
  for (const node of nodes) node.hasSockets = false
  const { upstreams } = open(t, nodes, { quorum: 2 })
  const [first, second] = chains as [ToyChain, ToyChain]
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
  const chains = [new ToyChain(), new ToyChain()]
  const nodes = await Promise.all(chains.map((chain) => openNode(t, chain.answer)))
  for (const node of nodes) node.hasSockets = false
  const { upstreams } = open(t, nodes, { quorum: 1 })
  const [first, second] = chains as [ToyChain, ToyChain]
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

/** Nodes of toy chains that are only polled, and what asks them. */
async function openToys(t: Test, count: number, more: Parameters<typeof open>[2] = {}) {
  const chains = Array.from({ length: count }, () => new ToyChain())
  const nodes = await Promise.all(chains.map((chain) => openNode(t, chain.answer)))
  for (const node of nodes) node.hasSockets = false
  return { chains: chains as [ToyChain, ToyChain, ToyChain], nodes, ...open(t, nodes, more) }
}

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
  // By what they answered it is the last.
  const ghost = nodes[2] as WeatherNode
  ghost.weather = () => ({ kind: 'status', status: 500 })
  const errors = () => upstreams.figures().find(({ name }) => ghost.url.endsWith(name))?.failed ?? 0
  while (errors() < 4) await upstreams.poll()
  ghost.weather = () => fine
  while (upstreams.answering.length < 3) await upstreams.poll()
  t.ok(ghost.url.endsWith(upstreams.answering.at(-1)?.name as string))
})

t.test('nodes that do not vote delay no head', async (t) => {
  const { chains, nodes, upstreams } = await openToys(t, 5)
  await headOf(upstreams, blockHash('a', 1))
  // Three are enough for a head; the other two have to be known as nodes of this chain before they fall silent.
  while (upstreams.states().some(({ head }) => head !== 1)) await upstreams.poll()
  // Two claim a higher block, and do not say what is below.
  for (const [index, chain] of chains.entries()) {
    if (index < 3) continue
    chain.head = toyHeader('b', 50 + index)
    const node = nodes[index] as WeatherNode
    node.weather = (calls) =>
      calls.every(({ params }) => params[0] === 'latest') ? fine : { kind: 'silent' }
  }
  while (upstreams.states().filter(({ head }) => Number(head) > 50).length < 2) await upstreams.poll()
  const start = performance.now()
  for (const chain of chains.slice(0, 3)) chain.head = toyHeader('a', 5)
  await headOf(upstreams, blockHash('a', 5))
  t.ok(performance.now() - start < 15_000, 'long before a node has to answer')
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
  upstreams.doubtHead()
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
    upstreams.doubtHead()
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
  upstreams.doubtHead()
  await waitFor('another leader', () => upstreams.head?.upstream !== leader)
  t.equal(upstreams.head?.claim.hash, blockHash('a', 2))
})

t.test('a single node leads also when it is doubted', async (t) => {
  const { chains, upstreams } = await openToys(t, 1)
  await headOf(upstreams, blockHash('a', 1))
  upstreams.doubtHead()
  chains[0].head = toyHeader('a', 2)
  await headOf(upstreams, blockHash('a', 2))
  t.equal(upstreams.head?.claim.number, 2)
})
