import t from 'tap'
import { Chain } from '../../../src/data/chain/chain.js'
import type { ChainStep } from '../../../src/data/chain/chainSteps.js'
import { LogFilter } from '../../../src/data/chain/logFilter.js'
import { ChainReader } from '../../../src/data/store/chainReader.js'
import { type Hash32, hexToBytes } from '../../../src/primitives/bytes.js'
import { BlockEvents } from '../../../src/serving/streams/blockEvents.js'
import type { ChainRequest } from '../../../src/serving/streams/chainRequest.js'
import { NetworkStreams } from '../../../src/serving/streams/networkStreams.js'
import { waitFor } from '../../library/until.js'
import { expectedBlock, findBadHex } from '../../rpc/blockOracle.js'
import type { Json } from '../../rpc/demoChain.js'
import { blockAt, blocks, type DemoBlock, headBlock } from '../../rpc/demoChain.js'
import { startService } from '../../service/service.js'
import { demoStorePath } from '../../store/storedMessages.js'
import { endpointOver } from '../../unit/serving/streams/openStreams.js'
import { settle, TestClient } from '../../unit/serving/streams/testClient.js'

/** Members of `types.Header` in go-ethereum, in its order. */
const headMembers = [
  'parentHash',
  'sha3Uncles',
  'miner',
  'stateRoot',
  'transactionsRoot',
  'receiptsRoot',
  'logsBloom',
  'difficulty',
  'number',
  'gasLimit',
  'gasUsed',
  'timestamp',
  'extraData',
  'mixHash',
  'nonce',
  'baseFeePerGas',
  'withdrawalsRoot',
  'blobGasUsed',
  'excessBlobGas',
  'parentBeaconBlockRoot',
  'requestsHash',
  'blockAccessListHash',
  'slotNumber',
  'hash',
]

function openDemo() {
  const store = ChainReader.open({ path: demoStorePath })
  t.teardown(() => store.close())
  const chain = new Chain(store, {
    supportsSafe: true,
    safeLag: 0,
    finalizedLag: 0,
    answerCacheBytes: 2 ** 24,
  })
  const streams = new NetworkStreams(chain, { replayBlocksMax: 10_000 }, (error) => t.fail(String(error)))
  t.teardown(() => streams.close())
  return { chain, client: new TestClient(endpointOver(chain, streams)) }
}

/** Replays are cut by time, so that a busy machine takes more turns for them. */
async function untilCount(client: TestClient, count: number): Promise<void> {
  await waitFor(`${count} messages`, () => client.sent.length >= count)
  await settle()
}

function expectedHead(block: DemoBlock): Json {
  const members = expectedBlock(block, false)
  return Object.fromEntries(headMembers.map((name) => [name, members[name] ?? null]))
}

t.test('HTTP has no connection that events could come by', async (t) => {
  const service = await startService()
  t.teardown(() => service.stop())
  const refusal = { code: -32601, message: 'notifications not supported' }
  for (const params of [['newHeads'], ['nonsense'], [], ['logs', 5]]) {
    t.strictSame((await service.call('eth_subscribe', params)).error, refusal)
  }
})

t.test('every head of the demo chain is as go-ethereum sends it, whatever its fork', async (t) => {
  const { client } = openDemo()
  const id = client.subscribe('newHeads', { fromBlock: '0x1' })
  await untilCount(client, 1 + blocks.length)
  const heads = client.results(id)
  t.equal(heads.length, headBlock.number)
  for (const [index, block] of blocks.entries()) {
    t.strictSame(Object.keys(heads[index]), headMembers)
    t.strictSame(heads[index], expectedHead(block))
  }
  t.strictSame(findBadHex(heads), [])
})

t.test('whoever pauses within a block gets each event once, of whatever kind', async (t) => {
  const { chain } = openDemo()
  const events = new BlockEvents(chain)
  const plain = { delivery: { policy: 'close', queueBytes: 0 }, from: undefined, within: undefined } as const
  const requests: readonly ChainRequest[] = [
    { ...plain, filter: undefined },
    { ...plain, filter: undefined, receipts: 'all' },
    { ...plain, filter: new LogFilter({ addresses: [], topics: [] }) },
  ]
  for (const block of [blocks[9], blocks[99], headBlock] as readonly DemoBlock[]) {
    const hash = hexToBytes(blockAt(block.number - 1).hash) as Hash32
    const step = chain.nextStep({ number: block.number - 1, hash }) as ChainStep
    for (const request of requests) {
      const isEvent = <T>(each: T | number): each is T => typeof each !== 'number'
      const all = [...events.of(request, step)].filter(isEvent).map(({ index }) => index)
      for (let first = 0; first <= all.length; first++) {
        const found = [...events.of(request, step, first)].filter(isEvent).map(({ index }) => index)
        t.strictSame(
          found,
          all.filter((index) => index >= first),
        )
      }
    }
  }
})

t.test('logs are those of the receipts, byte for byte', async (t) => {
  const { chain, client } = openDemo()
  const all = client.subscribe('logs', { replayFrom: 'earliest' })
  const expected: string[] = []
  for (let number = 0; number <= headBlock.number; number++) {
    const block = chain.resolve({ kind: 'number', number }, 0)
    const receipts = JSON.parse(Buffer.from((block && chain.receiptsJson(block.hash)) ?? '').toString())
    expected.push(
      ...receipts.flatMap(({ logs }: { logs: unknown[] }) => logs.map((log) => JSON.stringify(log))),
    )
  }
  t.ok(expected.length > 500, `${expected.length} logs`)
  await untilCount(client, 1 + expected.length)
  t.strictSame(
    client.results(all).map((log) => JSON.stringify(log)),
    expected,
  )
  const { address, topics } = JSON.parse(expected[400] ?? '')
  const some = client.subscribe('logs', { replayFrom: 'earliest', address, topics: [[topics[0]]] })
  const wanted = expected.filter((text) => {
    const log = JSON.parse(text)
    return log.address === address && log.topics[0] === topics[0]
  })
  t.ok(wanted.length > 1 && wanted.length < expected.length, `${wanted.length} logs`)
  await untilCount(client, 2 + expected.length + wanted.length)
  t.strictSame(
    client.results(some).map((log) => JSON.stringify(log)),
    wanted,
  )
})
