import t from 'tap'
import { makeFolder, waitFor, writeInto } from '../program.js'
import { type Service, startService } from '../service.js'
import { blockAt, blockBytes, genesisPath } from './demoChain.js'
import { checkRefusals } from './questions.js'

const method = 'eth_syncing'

/** Where the source ends: some seconds of execution. */
const sourceHead = blockAt(60)

/** A network that takes a part of the demo chain in while it is served. */
async function startSyncing(folder: string): Promise<Service> {
  writeInto(folder, 'chain.rlp', Buffer.concat(blockBytes.slice(0, sourceHead.number)))
  const config = writeInto(folder, 'tidegate.json', {
    dataDir: 'data',
    networks: [{ name: 'tides', genesis: genesisPath, source: { type: 'file', path: 'chain.rlp' } }],
  })
  return startService(['--config', config, '--no-auth'])
}

async function healthOf({ origin }: Service): Promise<{ head: number; syncing: boolean }> {
  const health = JSON.parse(await (await fetch(`${origin}/health`)).text())
  return health.networks.tides
}

t.test('a network without a source, or whose source is done, is not syncing', async (t) => {
  const service = await startService()
  t.teardown(() => service.stop())
  t.strictSame(await service.call(method), { jsonrpc: '2.0', id: 1, result: false })
  await checkRefusals(t, service, method, [
    [['latest'], -32602, 'too many arguments, want at most 0'],
    [{}, -32602, 'non-array args: params must be an array'],
  ])
})

t.test('a network shows how far its source is, until that is done, also after a restart', async (t) => {
  const folder = makeFolder(t)
  const first = await startSyncing(folder)
  await waitFor('some blocks', async () => Number((await first.call('eth_blockNumber')).result) > 5)
  t.equal(await first.stop(), 0)
  const service = await startSyncing(folder)
  t.teardown(() => service.stop())
  t.ok(Number((await service.call('eth_blockNumber')).result) > 5, 'it goes on from there')
  const numberOf = async () => Number((await service.call('eth_blockNumber')).result)
  const seen: { startingBlock: string; currentBlock: string; highestBlock: string }[] = []
  const health: { head: number; syncing: boolean }[] = []
  await waitFor('the end of the source', async () => {
    const { result } = await service.call(method)
    if (result !== false) {
      seen.push(result)
      health.push(await healthOf(service))
      // What is told is there to be read.
      const number = Number(result.currentBlock)
      if ((await numberOf()) < number) t.fail(`block ${number} is told before it can be read`)
    }
    return result === false && (await numberOf()) === sourceHead.number
  })
  t.ok(seen.length > 0)
  t.ok(health.some(({ syncing }) => syncing))
  let last = 0
  for (const progress of seen) {
    t.strictSame(Object.keys(progress), ['startingBlock', 'currentBlock', 'highestBlock'])
    t.strictSame(
      Object.values(progress).filter((text) => !/^0x(?:0|[1-9a-f][0-9a-f]*)$/.test(text)),
      [],
    )
    const [starting, current, highest] = Object.values(progress).map(Number) as [number, number, number]
    if (starting > current || current > highest) t.fail(JSON.stringify(progress))
    if (current < last) t.fail(`back from ${last} to ${current}`)
    last = current
  }
  t.strictSame(await healthOf(service), { head: sourceHead.number, syncing: false })
  t.equal((await service.call('eth_getBlockByNumber', ['latest', false])).result.hash, sourceHead.hash)
})
