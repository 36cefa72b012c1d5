import t from 'tap'
import { addressOfNumber, chainTo, type ForkBlock, growFrom } from './forkingChain.js'
import { openStreams } from './openStreams.js'
import { type Event, settle, TestClient } from './testClient.js'

/** Approximate length of a head, to compute how many fit. */
const headBytes = 1_500

const numberOf = ({ number }: Event) => Number(number)
const skippedOf = ({ skipped }: Event) =>
  skipped && { ...skipped, from: Number(skipped.from), to: Number(skipped.to) }

/** A client that has stopped reading, and whose socket buffers are full. */
async function stoppedClient(t: Parameters<typeof openStreams>[0], options: unknown) {
  const open = openStreams(t)
  const client = new TestClient(open.endpoint)
  const id = client.subscribe('newHeads', options)
  await settle()
  client.isReading = false
  open.forks.extend(...Array.from({ length: 20 }, () => []))
  await settle()
  const sent = client.results(id).length
  t.ok(sent > 5 && sent < 20, `${sent} heads went out before the socket was full`)
  return { ...open, client, id, sent }
}

t.test('close: a reader too slow is closed with what to do, and loses nothing', async (t) => {
  const { forks, endpoint, client, id, sent } = await stoppedClient(t, { queueBytes: 30 * headBytes })
  t.equal(client.closed, undefined, 'what waits fits')
  const room = client.bufferedBytes
  for (let i = 0; i < 40; i++) forks.extend([])
  await settle()
  t.strictSame(client.closed, {
    code: 1013,
    reason: 'slow reader: events exceed queueBytes; resume with fromBlock, or choose another policy',
  })
  t.equal(client.bufferedBytes, room, 'nothing was handed over meanwhile')
  t.equal(client.results(id).length, sent)
  const again = new TestClient(endpoint)
  const fromBlock = client.results(id).at(-1)?.hash
  const resumed = again.subscribe('newHeads', { fromBlock })
  await settle()
  t.strictSame(
    [...client.results(id), ...again.results(resumed)].map(({ hash }) => hash),
    chainTo(forks.head)
      .slice(1)
      .map(({ hash }) => hash),
  )
})

t.test('close: a reader who is only behind gets everything', async (t) => {
  const { forks, client, id } = await stoppedClient(t, {})
  forks.extend(...Array.from({ length: 100 }, () => []))
  await settle()
  while (client.results(id).length < 120) {
    const before = client.sent.length
    client.read(4 * headBytes)
    await settle()
    if (client.bufferedBytes === 0 && client.sent.length === before) break
  }
  t.strictSame(
    client.results(id).map(numberOf),
    Array.from({ length: 120 }, (_, index) => index + 1),
  )
})

t.test('conflate: then only the newest head, and before it how many were skipped', async (t) => {
  const { forks, client, id, sent } = await stoppedClient(t, { policy: 'conflate', queueBytes: 0 })
  forks.extend(...Array.from({ length: 30 }, () => []))
  await settle()
  client.isReading = true
  client.read()
  forks.extend([])
  await settle()
  const later = client.results(id).slice(sent)
  t.strictSame(skippedOf(later[0]), { from: sent + 1, to: 49, count: 49 - sent })
  t.strictSame(later.slice(1).map(numberOf), [50, 51], 'and after it all heads again')
  t.strictSame(
    client.events(id).map(({ seq }) => seq),
    Array.from({ length: sent + 3 }, (_, index) => index + 1),
  )
})

t.test('conflate: while nothing exceeds the queue, nothing is skipped', async (t) => {
  const { forks, client, id } = await stoppedClient(t, { policy: 'conflate' })
  forks.extend([], [])
  await settle()
  client.isReading = true
  client.read()
  await settle()
  t.strictSame(
    client.results(id).map(numberOf),
    Array.from({ length: 22 }, (_, index) => index + 1),
  )
})

t.test('dropOldest: the newest events that fit, and before them how many were skipped', async (t) => {
  const { forks, client, id, sent } = await stoppedClient(t, {
    policy: 'dropOldest',
    queueBytes: 10 * headBytes,
  })
  for (let i = 0; i < 30; i++) forks.extend([])
  await settle()
  client.isReading = true
  client.read()
  await settle()
  const [notice, ...kept] = client.results(id).slice(sent)
  const first = numberOf(kept[0])
  t.strictSame(skippedOf(notice), { from: sent + 1, to: first - 1, count: first - 1 - sent })
  t.strictSame(
    kept.map(numberOf),
    Array.from({ length: 50 - first + 1 }, (_, index) => first + index),
  )
  t.ok(kept.length > 5 && kept.length < 15, `${kept.length} kept`)
  t.strictSame(
    client.events(id).map(({ seq }) => seq),
    Array.from({ length: sent + 1 + kept.length }, (_, index) => index + 1),
  )
})

t.test('what is skipped of a reorganisation names every block that it touched', async (t) => {
  const options = { policy: 'dropOldest', queueBytes: 0, fromBlock: 'latest' }
  const { forks, client, id } = await stoppedClient(t, options)
  const before = client.results(id).map(numberOf)
  // A reorganisation from 20 back to 15, and up to 23.
  const base = chainTo(forks.head)[15] as ForkBlock
  forks.write(
    growFrom(
      base,
      Array.from({ length: 8 }, () => []),
    ).at(-1) as ForkBlock,
  )
  forks.chain.refreshHead()
  await settle()
  client.isReading = true
  client.read()
  await settle()
  const later = client.results(id).slice(before.length)
  const notice = skippedOf(later[0])
  // Blocks from the first unsent one to 20 added, five removed, eight added: all but the last.
  t.strictSame(notice, { from: Math.min(before.length, 16), to: 22, count: 21 - before.length + 5 + 8 - 1 })
  t.strictSame(later.slice(1).map(numberOf), [23])
})

t.test('a block with more logs than the queue holds closes nobody who reads them', async (t) => {
  const { forks, endpoint } = openStreams(t)
  const client = new TestClient(endpoint)
  const id = client.subscribe('logs', { queueBytes: 5_000 })
  client.isReading = false
  const log = { address: addressOfNumber(1), topics: [] }
  forks.extend(Array(200).fill(log))
  await settle()
  const sent = client.results(id).length
  t.ok(sent < 50, `${sent} went out at once`)
  for (let i = 0; i < 100; i++) {
    client.read(10_000)
    await settle()
  }
  forks.extend([log])
  await settle()
  client.read()
  await settle()
  t.equal(client.closed, undefined)
  t.strictSame(
    client.results(id).map(({ logIndex }) => Number(logIndex)),
    [...Array.from({ length: 200 }, (_, index) => index), 0],
  )
})

t.test('a reader who has stopped costs a bounded part of memory and delays nobody', async (t) => {
  const { forks, endpoint } = openStreams(t)
  const slow = Array.from({ length: 20 }, () => new TestClient(endpoint))
  const quick = new TestClient(endpoint)
  for (const [index, client] of slow.entries()) {
    client.subscribe('newHeads', index % 2 === 0 ? { policy: 'dropOldest' } : { fromBlock: 'earliest' })
    client.isReading = false
  }
  const id = quick.subscribe('newHeads')
  for (let i = 1; i <= 300; i++) {
    forks.extend([])
    if (quick.results(id).length !== i) throw new Error(`head ${i} was not told at once`)
  }
  await settle()
  for (const client of slow) t.ok(client.bufferedBytes < 20_000, `${client.bufferedBytes} bytes unsent`)
})

t.test('subscriptions of one slow connection take turns', async (t) => {
  const { forks, endpoint } = openStreams(t)
  const client = new TestClient(endpoint)
  const ids = Array.from({ length: 5 }, () => client.subscribe('newHeads', { fromBlock: 'earliest' }))
  client.isReading = false
  forks.extend(...Array.from({ length: 100 }, () => []))
  await settle()
  const countsOf = () => ids.map((id) => client.results(id).length)
  // Several turns of each, of which a busy machine makes some short, and most is still to come.
  while (countsOf().reduce((sum, count) => sum + count) < 300) {
    client.read(20 * headBytes)
    await settle()
  }
  const counts = countsOf()
  t.ok(Math.min(...counts) * 3 > Math.max(...counts), counts.join())
})
