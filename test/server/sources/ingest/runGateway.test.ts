// @alone it closes the pool of the demo network, which its support module opens once
/** The end of a gateway's source. */
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import t from 'tap'
import { toHash32 } from '../../../../src/primitives/bytes.js'
import { defer } from '../../../../src/primitives/deferred.js'
import { runGateway } from '../../../../src/sources/ingest/gateway/runGateway.js'
import { type CallAnswerer, sourceEnded } from '../../../../src/sources/ingest/thread/callAnswerer.js'
import type { IngestMessage } from '../../../../src/sources/ingest/thread/messages.js'
import { inTime, waitFor } from '../../../library/until.js'
import { answersOf, demoEndpoint, opened } from '../../../unit/serving/rpc/demoRig.js'
import { type NodeAnswer, WeatherNode } from '../../../upstream/weatherNode.js'

const answerOf = answersOf(demoEndpoint(opened))

t.test('a fetch that comes while the source ends, or after, is refused', async (t) => {
  const asked = defer<void>()
  const node = new WeatherNode(async (call) => {
    if (call.method !== 'eth_getTransactionByHash') return answerOf(call)
    asked.resolve()
    return new Promise<NodeAnswer>(() => {})
  })
  await node.start()
  t.teardown(() => node.stop())
  const stop = new AbortController()
  const messages: IngestMessage[] = []
  const ready = defer<CallAnswerer>()
  const task = {
    storePath: join(t.testdir(), 'chain.mdb'),
    mapBytes: 2 ** 30,
    genesis: undefined,
    network: 'main',
    forks: {},
    chainId: undefined,
    upstreams: [{ url: node.url, timeoutMs: 100_000, answerBytesMax: 2 ** 24 }],
    quorum: 1,
    pollMs: 50,
    historyBlocks: 8,
    fetchMsMax: 100_000,
  }
  const report = (message: IngestMessage): void => void messages.push(message)
  const onReady = (calls: CallAnswerer) => ready.resolve(calls)
  const run = runGateway(task, { report, signal: stop.signal, onReady })
  const calls = await inTime('the store', ready.promise)
  await waitFor('the first head', () => messages.some(({ type }) => type === 'opened'))
  const ask = (serial: number) =>
    calls.take({
      type: 'call',
      serial,
      name: 'fetch',
      args: [{ kind: 'location', hash: toHash32(randomBytes(32)) }],
    })
  ask(1)
  await inTime('the question', asked.promise)
  stop.abort()
  await inTime('the end', run)
  ask(2)
  const outcomeOf = (serial: number) =>
    messages.find((message) => 'serial' in message && message.serial === serial)
  t.match(outcomeOf(1), { type: 'refused', fault: { kind: 'UpstreamsFailed' } })
  t.match(outcomeOf(2), { type: 'refused', fault: sourceEnded })
  t.notMatch(
    messages.filter(({ type }) => type === 'said'),
    [{ text: /defect|closed/ }],
  )
})
