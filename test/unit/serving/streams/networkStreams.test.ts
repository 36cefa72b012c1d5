import t from 'tap'
import { until } from '../../../library/until.js'
import { type ForkBlock, growFrom, makeBlock } from './forkingChain.js'
import { openStreams } from './openStreams.js'
import { type Event, limits, settle, TestClient } from './testClient.js'

const alice = `0x${'a1'.repeat(20)}`
const bob = `0x${'b0'.repeat(20)}`
const transfer = `0x${'dd'.repeat(32)}`
const byAlice = { address: alice, topics: [transfer] }
const byBob = { address: bob, topics: [] }

/** Heads as one line: each event with its block. */
function headLines(results: readonly Event[]): string[] {
  return results.map(({ hash, removed }) => `${removed ? '-' : '+'}${hash}`)
}

function logLines(results: readonly Event[]): string[] {
  return results.map(
    ({ blockHash, logIndex, removed }) => `${removed ? '-' : '+'}${blockHash} ${Number(logIndex)}`,
  )
}

const added = ({ hash }: ForkBlock) => `+${hash}`
const removed = ({ hash }: ForkBlock) => `-${hash}`

t.test('the answer goes out first, then each event with the next sequence number', async (t) => {
  const { forks, endpoint } = openStreams(t)
  const client = new TestClient(endpoint)
  const id = client.subscribe('newHeads')
  t.match(id, /^0x[0-9a-f]{32}$/)
  const blocks = forks.extend(...Array.from({ length: 12 }, () => []))
  await settle()
  t.match(JSON.parse(client.sent[0] ?? ''), { id: 1, result: id })
  t.strictSame(headLines(client.results(id)), blocks.map(added))
  t.strictSame(
    client.events(id).map(({ seq }) => seq),
    blocks.map((_, index) => index + 1),
  )
  const [head] = blocks
  const event =
    `{"jsonrpc":"2.0","method":"eth_subscription","params":{"subscription":"${id}","result":` +
    `${Buffer.from(forks.chain.headJson(head?.blockDiff.hash as never) ?? '')},"seq":1}}`
  t.equal(client.sent[1], event, 'nothing else stands in an event')
})

t.test('no event overtakes the answer of its own request, however long that takes', async (t) => {
  const { forks, streams, endpoint } = openStreams(t)
  const client = new TestClient(endpoint)
  const delivery = { policy: 'close', queueBytes: 1000 } as const
  const early = streams.subscribe(client.subscriber, {
    delivery,
    filter: undefined,
    from: undefined,
    within: undefined,
  })
  const blocks = forks.extend([], [])
  client.call('eth_unsubscribe', ['0x1'])
  await settle()
  t.strictSame(client.results(early.id), [])
  early.start()
  await settle()
  t.strictSame(headLines(client.results(early.id)), blocks.map(added), 'and what came meanwhile is not lost')
})

t.test('a reorganisation is told in full to who asked from a block, and heads alone to others', async (t) => {
  const { forks, endpoint } = openStreams(t)
  const trunk = forks.extend([], [byAlice])
  const client = new TestClient(endpoint)
  const plain = client.subscribe('newHeads')
  const resumable = client.subscribe('newHeads', { fromBlock: 'latest' })
  const logs = client.subscribe('logs', { address: alice })
  const left = forks.extend([byAlice, byBob, byAlice], [], [byAlice])
  await settle()
  const branch = growFrom(trunk[1] as ForkBlock, [[byAlice], [], [], [byBob]])
  forks.write(branch[3] as ForkBlock)
  forks.chain.refreshHead()
  await settle()
  const back = [...left].reverse()
  t.strictSame(headLines(client.results(plain)), [...left, ...branch].map(added))
  t.strictSame(headLines(client.results(resumable)), [
    ...[trunk[1] as ForkBlock, ...left].map(added),
    ...back.map(removed),
    ...branch.map(added),
  ])
  t.strictSame(logLines(client.results(logs)), [
    `${added(left[0] as ForkBlock)} 0`,
    `${added(left[0] as ForkBlock)} 2`,
    `${added(left[2] as ForkBlock)} 0`,
    `${removed(left[2] as ForkBlock)} 0`,
    `${removed(left[0] as ForkBlock)} 2`,
    `${removed(left[0] as ForkBlock)} 0`,
    `${added(branch[0] as ForkBlock)} 0`,
  ])
  const rollback = client.results(resumable).find((head) => head.removed)
  const { removed: flag, ...header } = rollback
  t.equal(flag, true)
  t.strictSame(
    header,
    client.results(plain).find(({ hash }) => hash === header.hash),
    'a removed head is the head itself with one member more',
  )
})

t.test('fromBlock: a number or tag is the first block sent, a hash the last one had', async (t) => {
  const { forks, endpoint } = openStreams(t)
  const blocks = [forks.genesis, ...forks.extend([], [], [], [], [])]
  const left = blocks.at(-1) as ForkBlock
  const branch = growFrom(blocks[3] as ForkBlock, [[], [], []])
  forks.write(branch[2] as ForkBlock)
  forks.chain.refreshHead()
  const chain = [...blocks.slice(0, 4), ...branch]
  const from = async (fromBlock: unknown) => {
    const client = new TestClient(endpoint)
    const id = client.subscribe('newHeads', { fromBlock })
    await settle()
    return headLines(client.results(id))
  }
  t.strictSame(await from('earliest'), chain.map(added))
  t.strictSame(await from('0x0'), chain.map(added))
  t.strictSame(await from('0x5'), chain.slice(5).map(added))
  t.strictSame(await from({ blockNumber: '0x5' }), chain.slice(5).map(added))
  t.strictSame(await from('latest'), chain.slice(6).map(added))
  t.strictSame(await from('pending'), [])
  t.strictSame(await from('0x7'), [], 'the block after the head is the first that will come')
  t.strictSame(await from(chain[2]?.hash), chain.slice(3).map(added))
  t.strictSame(await from({ blockHash: chain[2]?.hash, requireCanonical: true }), chain.slice(3).map(added))
  t.strictSame(await from(chain[6]?.hash), [])
  t.strictSame(await from(left.hash), [removed(left), removed(blocks[4] as ForkBlock), ...branch.map(added)])
  t.strictSame(await from(blocks[4]?.hash), [removed(blocks[4] as ForkBlock), ...branch.map(added)])
})

t.test('a block out of range is refused, and the range named', async (t) => {
  const { forks, endpoint } = openStreams(t, 4)
  const blocks = forks.extend(...Array.from({ length: 9 }, () => []))
  const client = new TestClient(endpoint)
  const fault = (kind: string, replayFrom: unknown) => {
    const { error } = client.call('eth_subscribe', [kind, { replayFrom }])
    t.equal(error.code, -32602)
    return error.message
  }
  const range = 'blocks 0x5 to 0x9 are retained'
  const unknown = `0x${'77'.repeat(32)}`
  t.equal(fault('newHeads', '0x4'), `invalid argument 1: block 0x4 is out of range; ${range}`)
  t.equal(fault('logs', 'earliest'), `invalid argument 1: block 0x0 is out of range; ${range}`)
  t.equal(fault('newHeads', '0xb'), `invalid argument 1: block 0xb is out of range; ${range}`)
  t.equal(fault('newHeads', blocks[3]?.hash), `invalid argument 1: block 0x4 is out of range; ${range}`)
  t.equal(fault('newHeads', unknown), `invalid argument 1: block ${unknown} is not known; ${range}`)
  t.match(client.call('eth_subscribe', ['newHeads', { fromBlock: '0x5' }]), { result: /^0x/ })
  t.match(client.call('eth_subscribe', ['newHeads', { fromBlock: blocks[4]?.hash }]), { result: /^0x/ })
  const side = makeBlock(blocks[5], [])
  forks.writeSide(side)
  t.equal(
    fault('logs', side.hash),
    `invalid argument 1: block ${side.hash} was never part of this chain; ${range}`,
  )
  const id = client.subscribe('newHeads', { fromBlock: side.hash })
  await settle()
  t.strictSame(headLines(client.results(id)), [removed(side), ...blocks.slice(6).map(added)])
  const { error } = client.call('eth_subscribe', [
    'newHeads',
    { fromBlock: { blockHash: side.hash, requireCanonical: true } },
  ])
  t.match(error, { code: -32000, message: 'hash is not currently canonical' })
})

t.test('an ended subscription is silent, and an id of another connection is not known', async (t) => {
  const { forks, endpoint } = openStreams(t)
  const client = new TestClient(endpoint)
  const other = new TestClient(endpoint)
  const ids = [client.subscribe('newHeads'), client.subscribe('logs'), client.subscribe('newHeads')]
  const notFound = { code: -32000, message: 'subscription not found' }
  t.strictSame(other.call('eth_unsubscribe', [ids[0]]).error, notFound)
  forks.extend([byAlice])
  await settle()
  t.equal(client.call('eth_unsubscribe', [ids[0]]).result, true)
  t.strictSame(client.call('eth_unsubscribe', [ids[0]]).error, notFound)
  t.equal(client.call('eth_unsubscribe', [ids[1]]).result, true)
  forks.extend([byAlice])
  await settle()
  t.strictSame(
    ids.map((id) => client.events(id).length),
    [1, 1, 2],
  )
  const before = client.sent.length
  client.subscriber.close()
  forks.extend([byAlice])
  await settle()
  t.equal(client.sent.length, before)
  t.strictSame(client.call('eth_unsubscribe', ['nonsense']).error, notFound)
  t.match(client.call('eth_unsubscribe', [5]), {
    error: { code: -32602, message: 'invalid argument 0: want a subscription id, got number' },
  })
  t.match(client.call('eth_unsubscribe'), {
    error: { code: -32602, message: 'missing value for required argument 0' },
  })
})

t.test('a connection has room for so many subscriptions and no more', async (t) => {
  const { endpoint } = openStreams(t)
  const client = new TestClient(endpoint)
  const ids = Array.from({ length: limits.subscriptionsMax }, (_, index) =>
    client.subscribe(...(index % 2 === 0 ? ['newHeads'] : ['syncing'])),
  )
  t.equal(new Set(ids).size, 1024)
  const refusal = {
    code: -32005,
    message: 'limit exceeded: at most 1024 subscriptions on one connection',
    data: { limit: 1024 },
  }
  for (const kind of ['newHeads', 'logs', 'syncing']) {
    t.strictSame(client.call('eth_subscribe', [kind]).error, refusal)
  }
  t.equal(client.call('eth_unsubscribe', [ids[7]]).result, true)
  t.match(client.call('eth_subscribe', ['logs']), { result: /^0x/ })
})

t.test('syncing says when the source falls behind and when it is done', async (t) => {
  const { streams, endpoint } = openStreams(t)
  const client = new TestClient(endpoint)
  const id = client.subscribe('syncing')
  streams.reportSyncing(undefined)
  const progress = { startingBlock: 1, currentBlock: 10, highestBlock: 26 }
  streams.reportSyncing(progress)
  streams.reportSyncing({ ...progress, currentBlock: 11 })
  streams.reportSyncing(undefined)
  const status = { startingBlock: '0x1', currentBlock: '0xa', highestBlock: '0x1a' }
  t.strictSame(client.results(id), [{ syncing: true, status }, false])
})

t.test('thousands hear of each head in order, also those who come while it is told', async (t) => {
  const { forks, endpoint } = openStreams(t)
  const clients = Array.from({ length: 2000 }, () => new TestClient(endpoint))
  const ids = clients.map((client) => client.subscribe('newHeads', { fromBlock: '0x1' }))
  const blocks = forks.extend([], [], [])
  const late = Array.from({ length: 50 }, () => new TestClient(endpoint))
  const lateIds = late.map((client) => client.subscribe('newHeads', { fromBlock: '0x1' }))
  blocks.push(...forks.extend([], []))
  await until(() => [...clients, ...late].every((client) => client.sent.length === 6))
  const expected = blocks.map(added).join()
  t.ok(clients.every((client, index) => headLines(client.results(ids[index] ?? '')).join() === expected))
  t.ok(late.every((client, index) => headLines(client.results(lateIds[index] ?? '')).join() === expected))
})

/** A client whose socket takes its time: 0.2 ms an event. */
class LazyClient extends TestClient {
  override send(message: Uint8Array): void {
    const end = performance.now() + 0.2
    while (performance.now() < end);
    super.send(message)
  }
}

t.test('who comes while a block is told gets the whole of it, and others their turn meanwhile', async (t) => {
  const { forks, endpoint } = openStreams(t)
  const lazy = Array.from({ length: 100 }, () => new LazyClient(endpoint))
  const ids = lazy.map((client) => client.subscribe('logs'))
  const last = forks.head
  const [block] = forks.extend([byAlice, byBob, byAlice])
  const reported = lazy.filter((client) => client.sent.length > 1).length
  t.ok(reported > 0 && reported < 100, `${reported} have heard of it when the head event is over`)
  const late = Array.from({ length: 5 }, () => new TestClient(endpoint))
  const lateIds = late.map((client) => client.subscribe('logs', { fromBlock: last.hash }))
  const [leaving] = lazy.splice(-1)
  leaving?.subscriber.close()
  const [next] = forks.extend([byBob])
  await until(() => [...lazy, ...late].every((client) => client.sent.length === 5))
  const expected = [0, 1, 2].map((index) => `+${block?.hash} ${index}`).concat(`+${next?.hash} 0`)
  for (const [index, client] of lazy.entries()) {
    if (logLines(client.results(ids[index] ?? '')).join() !== expected.join()) t.fail(`client ${index}`)
  }
  for (const [index, client] of late.entries()) {
    t.strictSame(logLines(client.results(lateIds[index] ?? '')), expected)
  }
  t.equal(leaving?.sent.length, 1, 'who has gone hears nothing')
})
