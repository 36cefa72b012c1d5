import t from 'tap'
import { resolveDevConfig, resolveServeConfig } from '../../../../src/operation/config/config.js'
import { taskOf } from '../../../../src/operation/process/networkSource.js'
import type { IngestStore } from '../../../../src/sources/ingest/thread/messages.js'
import { makeFolder, writeInto } from '../../../library/folder.js'

const store = {} as IngestStore

t.test('each limit of the gap under a consensus client comes to its source', async (t) => {
  const folder = makeFolder(t)
  writeInto(folder, 'genesis.json', '{}')
  const given = {
    engineReceivedMax: 1,
    engineWindowBlocks: 2,
    engineBatchBlocks: 3,
    engineBatchBytes: 4_000,
    engineTurnMs: 5,
    engineRetryMs: 60,
    engineMissingMs: 700,
  }
  const config = writeInto(folder, 'tidegate.json', {
    dataDir: 'data',
    limits: { ...given, fetchMsMax: 800 },
    networks: [{ name: 'mine', genesis: 'genesis.json', source: { type: 'consensus' } }],
  })
  const { networks, limits } = resolveServeConfig({ config })
  const [mine] = networks
  if (mine === undefined) throw new Error('no network')
  const gap = {
    receivedMax: 1,
    windowBlocks: 2,
    batchBlocks: 3,
    batchBytes: 4_000,
    turnMs: 5,
    retryMs: 60,
    missingMs: 700,
  }
  t.match(taskOf(mine, store, limits), { consensus: { fetchMsMax: 800, gap } })
})

t.test('limits.fetchMsMax bounds the fetches of a gateway and of a fork', async (t) => {
  const folder = makeFolder(t)
  const network = { name: 'gate', kind: 'gateway', upstreams: ['http://127.0.0.1:1'] }
  const config = writeInto(folder, 'tidegate.json', {
    dataDir: 'data',
    limits: { fetchMsMax: 1_234 },
    networks: [network],
  })
  const { networks, limits } = resolveServeConfig({ config })
  const gateway = networks.find(({ name }) => name === 'gate')
  if (gateway === undefined) throw new Error('no network')
  t.match(taskOf(gateway, store, limits), { fetchMsMax: 1_234 })

  const fork = { url: 'http://127.0.0.1:1', block: 7, chainId: undefined, balance: '0' }
  const dev = resolveDevConfig({
    port: 0,
    logLevel: undefined,
    dataDir: folder,
    genesis: 'genesis.json',
    fork,
    accounts: 1,
    blockSeconds: 0,
    mining: true,
  })
  const [forked] = dev.networks
  if (forked === undefined) throw new Error('no network')
  t.match(taskOf(forked, store, { ...dev.limits, fetchMsMax: 5_678 }), {
    develop: { fork: { block: 7, fetchMsMax: 5_678 } },
  })
})
