import t from 'tap'
import { defer } from '../../../../src/primitives/deferred.js'
import { OperatorError } from '../../../../src/primitives/faults.js'
import { backOffMs } from '../../../../src/sources/upstream/retry.js'
import { NodeError } from '../../../../src/sources/upstream/upstream.js'
import { NoAnswerError, Upstreams } from '../../../../src/sources/upstream/upstreams.js'
import { waitFor } from '../../../library/until.js'
import { fine, type WeatherNode } from '../../../upstream/weatherNode.js'
import {
  blockHash,
  headOf,
  openNode,
  openToys,
  openUpstreams,
  optionsOf,
  soon,
  ToyChain,
  toyChain,
  toyHeader,
} from './toyNodes.js'

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
  const { upstreams } = openUpstreams(t, [node])
  await headOf(upstreams, blockHash('a', 1))
  const asked = [1, 2, 3].map(() => upstreams.ask('eth_getCode', ['0x1'], { deadline: soon() }))
  await received.promise
  asked.push(upstreams.ask('eth_getCode', ['0x1'], { deadline: soon() }))
  release.resolve()
  for (const { result } of await Promise.all(asked)) t.equal(result, '0x1')
  t.equal(node.calls.filter(({ method }) => method === 'eth_getCode').length, 1)
})

t.test('questions are asked again until the node is back, however many they are', async (t) => {
  const node = await openNode(t)
  const { upstreams, lines } = openUpstreams(t, [node])
  await headOf(upstreams, blockHash('a', 1))
  const warnings = t.capture(process, 'emitWarning').args
  await node.stop()
  const codes = Array.from({ length: 20 }, (_, index) => `0x${index + 1}`)
  const asked = codes.map((code) => upstreams.ask('eth_getCode', [code], { deadline: soon() }))
  while (lines.length === 0) await upstreams.poll()
  await node.start()
  t.strictSame(
    (await Promise.all(asked)).map(({ result }) => result),
    codes,
  )
  t.match(lines[0], /^127\.0\.0\.1:\d+ does not answer/)
  t.strictSame(warnings(), [], 'Node.js warns of more than ten waits for the same signal')
})

t.test('after each pause a node is asked twice: the next one behind its address may answer', (t) => {
  for (let failed = 1, longestMs = 50; failed < 40; failed += 2, longestMs = Math.min(2 * longestMs, 2_000)) {
    t.equal(backOffMs(failed), 0, `after ${failed} rounds`)
    const ms = backOffMs(failed + 1)
    t.ok(ms >= longestMs / 2 && ms <= longestMs * 1.5, `after ${failed + 1} rounds: ${ms} ms`)
  }
  t.end()
})

t.test('a node that fails ten times in a row is asked until it answers', async (t) => {
  const node = await openNode(t)
  const { upstreams } = openUpstreams(t, [node])
  await headOf(upstreams, blockHash('a', 1))
  let asked = 0
  node.weather = (calls) =>
    calls.some(({ method }) => method === 'eth_getCode') && ++asked < 11 ? { kind: 'drop' } : fine
  t.equal((await upstreams.ask('eth_getCode', ['0x1'], { deadline: soon() })).result, '0x1')
  t.equal(asked, 11)
})

t.test('a question goes to another node where one fails, is slow or is excluded', async (t) => {
  const nodes = [await openNode(t), await openNode(t)]
  const { upstreams } = openUpstreams(t, nodes)
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
  const { upstreams } = openUpstreams(t, nodes, { timeoutMs: 600_000 })
  await headOf(upstreams, blockHash('a', 1))
  let silent = 2
  for (const node of nodes) {
    node.weather = (calls) =>
      calls.some(({ method }) => method === 'eth_getCode') && silent-- > 0 ? { kind: 'silent' } : fine
  }
  t.equal((await upstreams.ask('eth_getCode', ['0x1'], { deadline: soon() })).result, '0x1')
  t.ok(
    upstreams.figures().every(({ failed }) => failed === 0),
    'long before a node has to answer',
  )
})

t.test('what each node was asked is counted: answers, failures, hedges and lies', async (t) => {
  const nodes = [await openNode(t), await openNode(t)]
  const { upstreams } = openUpstreams(t, nodes)
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
  upstream.policy.accuse('code of another hash')
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
  const { upstreams } = openUpstreams(t, [node])
  await headOf(upstreams, blockHash('a', 1))
  node.weather = (calls) => (calls.some(({ method }) => method === 'evm_mine') ? { kind: 'drop' } : fine)
  await t.rejects(upstreams.ask('evm_mine', [], { deadline: soon() }), NoAnswerError)
  t.equal(node.requests.flat().filter(({ method }) => method === 'evm_mine').length, 1)
})

t.test("a node's error is the answer; with no answer every node is named", async (t) => {
  const nodes = [await openNode(t), await openNode(t)]
  const { upstreams } = openUpstreams(t, nodes)
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
  const { upstreams, lines } = openUpstreams(t, [node])
  const { upstream } = await upstreams.ask('eth_getCode', ['0x1'], { deadline: soon() })
  upstream.policy.accuse('code of another hash')
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
    const { upstreams } = openUpstreams(t, [good, other])
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

t.test('a front that answers every question with an error is told of, once', async (t) => {
  const unauthorized = {
    jsonrpc: '2.0',
    id: null,
    error: { code: -32001, message: 'unauthorized: no such key' },
  }
  const node = await openNode(t)
  node.weather = () => ({ kind: 'status', status: 401, body: JSON.stringify(unauthorized) })
  const { upstreams, lines } = openUpstreams(t, [node])
  for (let times = 0; times < 3; times++) t.equal(await upstreams.check(60_000), false)
  t.match(lines, [
    /^upstream 127\.0\.0\.1:\d+ does not say which chain it has: eth_chainId: error .*unauthorized: no such key$/,
  ])
  t.equal(lines.length, 1)
})

t.test('a node that comes back as another chain is refused', async (t) => {
  const chain = new ToyChain()
  const node = await openNode(t, chain.answer)
  const { upstreams, lines } = openUpstreams(t, [node])
  t.equal(await upstreams.check(60_000), true)
  await headOf(upstreams, blockHash('a', 1))
  await node.stop()
  while (lines.length === 0) await upstreams.poll()
  chain.chainId = '0x8'
  chain.head = toyHeader('b', 9)
  await node.start()
  const reported = () => lines.filter((line) => line.includes('another chain'))
  while (reported().length === 0) await upstreams.poll()
  t.equal(upstreams.head?.claim.hash, blockHash('a', 1))
  for (let times = 0; times < 20; times++) await upstreams.poll()
  t.equal(reported().length, 1, 'the log says so once')
  t.match(upstreams.states(), [{ isAnswering: true, isQuarantined: true }])
  chain.chainId = '0x7'
  chain.head = toyHeader('a', 2)
  await headOf(upstreams, blockHash('a', 2))
  t.match(upstreams.states(), [{ isAnswering: true, isQuarantined: false }])
})

for (const hasSockets of [true, false]) {
  t.test(`heads ${hasSockets ? 'by subscription' : 'by polling'}, also after a restart`, async (t) => {
    const chain = new ToyChain()
    const node = await openNode(t, chain.answer)
    node.hasSockets = hasSockets
    const { upstreams } = openUpstreams(t, [node])
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

t.test('the WebSocket beside a path with a key is found', async (t) => {
  for (const [path, socketPath] of [
    ['/v3/KEY', '/ws/v3/KEY'],
    ['/net/v3/KEY', '/net/ws/v3/KEY'],
    ['/rpc/', '/rpc/ws'],
    ['', '/'],
  ] as const) {
    const node = await openNode(t, new ToyChain().answer)
    node.socketPath = socketPath
    const lines: string[] = []
    const upstreams = new Upstreams([optionsOf(node, { url: `${node.url}${path}` })], {
      chain: toyChain,
      pollMs: 5,
      log: (text: string) => lines.push(text),
    })
    t.teardown(() => upstreams.close())
    upstreams.onHead(() => undefined)
    await waitFor(socketPath, () => node.subscribers === 1)
    t.strictSame(lines, [], path)
  }
})

t.test('that a node has no WebSocket is said once, with the setting that names one', async (t) => {
  const { upstreams, lines, nodes } = await openToys(t, 1)
  upstreams.onHead(() => undefined)
  await waitFor('the line', () => lines.length > 0)
  const asked = nodes[0]?.calls.length ?? 0
  await waitFor('further polls', () => (nodes[0]?.calls.length ?? 0) > asked + 20)
  t.equal(lines.length, 1)
  t.match(lines[0], /^upstream 127\.0\.0\.1:\d+ has no WebSocket .* name it as socketUrl/)
})

t.test('a socket that is lost while its node is polled begins no second watch', async (t) => {
  const chain = new ToyChain()
  const held = defer<void>()
  const received = defer<void>()
  let polls = 0
  const node = await openNode(t, async (call) => {
    if (call.params[0] !== 'latest' || ++polls !== 2) return chain.answer(call)
    // The poll that follows the subscription.
    received.resolve()
    await held.promise
    return chain.answer(call)
  })
  // The watch of this node continues when its socket is lost: it polls and subscribes again, and so would the first
  // node's.
  const other = await openNode(t)
  const { upstreams } = openUpstreams(t, [node, other])
  upstreams.onHead(() => undefined)
  await received.promise
  await waitFor('the other to be watched', () => other.subscribers === 1)
  const before = other.calls.length
  for (const each of [node, other]) each.dropSockets()
  await waitFor('it to be watched again', () => other.subscribers === 1 && other.calls.length >= before + 3)
  t.equal(polls, 2, 'a poll is under way')
  held.resolve()
  await waitFor('the watch to go on', () => polls > 2)
})
