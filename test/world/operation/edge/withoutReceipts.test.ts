// @shares
/** A network whose archives had no receipts, while blocks are added to it. */
import { join } from 'node:path'
import t from 'tap'
import { Chain, ChainView } from '../../../../src/data/chain/chain.js'
import { EpochTree } from '../../../../src/data/ssz/epochTree.js'
import { ChainReader } from '../../../../src/data/store/chainReader.js'
import { bytesToHex } from '../../../../src/primitives/bytes.js'
import { createDispatcher } from '../../../../src/serving/rpc/dispatch/dispatch.js'
import { PolledFilters } from '../../../../src/serving/rpc/logs/polledFilters.js'
import type { Network } from '../../../../src/serving/rpc/network.js'
import { methods } from '../../../../src/serving/rpc/registry.js'
import { NetworkStreams } from '../../../../src/serving/streams/networkStreams.js'
import { archivedConfig, type MadeBlock, makeBlocks, writeEre } from '../../../ingest/eraArchives.js'
import { makeFolder, writeInto } from '../../../library/folder.js'
import { runProgram, storePathOf } from '../../../service/program.js'
import { wideDispatchLimits, wideFilterLimits } from '../../../transport/serverLimits.js'
import { settle, TestClient } from '../../../unit/serving/streams/testClient.js'

/** An epoch and the beginning of the next; block 16,389 has a log. */
const blocks = makeBlocks(8_192 + 10, 8_192)
const folder = makeFolder(t)
const genesis = { config: archivedConfig, difficulty: '0x1', gasLimit: '0x1', alloc: {} }
const genesisPath = writeInto(folder, 'genesis.json', genesis)

/** Imports in another process, because LMDB cannot make a writer of an environment that is open for reading. */
async function importEpoch(name: string, part: readonly MadeBlock[]): Promise<void> {
  const path = join(folder, `${name}-noreceipts.ere`)
  writeEre(path, part, { receipts: false, accumulator: new EpochTree(part).root })
  const words = ['--network', 'old', '--genesis', genesisPath, '--data', folder, path]
  const { status, err } = await runProgram(['import', ...words])
  if (status !== 0) throw new Error(err)
}

t.test('who asks for logs to come is refused as one who asks for those there are', async (t) => {
  await importEpoch('first', blocks.slice(0, 8_192))
  const store = ChainReader.open({ path: storePathOf(folder, 'old') })
  t.teardown(() => store.close())
  const options = { supportsSafe: true, safeLag: 0, finalizedLag: 0, answerCacheBytes: 2 ** 20 }
  const chain = new Chain(store, options)
  const streams = new NetworkStreams(chain, { replayBlocksMax: 100 }, (error) => t.fail(String(error)))
  t.teardown(() => streams.close())
  const filters = new PolledFilters(() => views.current, wideFilterLimits)
  const views = {
    get current(): Network {
      const view = new ChainView(chain, chain.head, false)
      const limits = { logsMax: 10_000, logBytesMax: 2 ** 24 }
      const parts = { name: 'old', head: chain.head, chain: view, streams, filters, limits }
      return parts as unknown as Network
    },
    pinned: () => undefined,
  }
  const endpoint = createDispatcher<Network>({
    methods: Object.values(methods),
    limits: wideDispatchLimits,
    log: ({ error }) => t.fail(String(error)),
  }).endpoint(views)
  const client = new TestClient(endpoint)
  const error = { code: -32000, message: 'this network holds no receipts' }
  for (const [method, params] of [
    ['eth_getLogs', [{}]],
    ['eth_newFilter', [{}]],
    ['eth_newFilter', [{ fromBlock: '0x9000' }]],
    ['eth_subscribe', ['logs', {}]],
    ['eth_subscribe', ['logs', { address: `0x${'10'.repeat(20)}`, replayFrom: '0x3fff' }]],
  ] as const) {
    t.strictSame(client.call(method, params).error, error, `${method} ${JSON.stringify(params)}`)
  }
  const heads = client.subscribe('newHeads')
  const filter = client.call('eth_newBlockFilter').result
  await importEpoch('second', blocks.slice(8_192))
  chain.refreshHead()
  await settle()
  const added = blocks.slice(8_192).map(({ hash }) => bytesToHex(hash))
  t.strictSame(
    client.results(heads).map(({ hash }) => hash),
    added,
  )
  t.strictSame((await client.answer('eth_getFilterChanges', [filter])).result, added)
})
