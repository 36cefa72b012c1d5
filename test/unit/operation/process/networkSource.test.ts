import t from 'tap'
import { resolveDevConfig, resolveServeConfig } from '../../../../src/operation/config/config.js'
import { taskOf } from '../../../../src/operation/process/networkSource.js'
import type { IngestStore } from '../../../../src/sources/ingest/thread/messages.js'
import { makeFolder, writeInto } from '../../../library/folder.js'

const store = {} as IngestStore
const fork = { url: 'http://127.0.0.1:1', block: 7, chainId: undefined, balance: '0' }

function devSettings(dataDir: string, base: typeof fork | undefined, isTemporary: boolean) {
  const chain = { genesis: 'genesis.json', accounts: 1, blockSeconds: 0, mining: true }
  return { ...chain, port: 0, logLevel: undefined, dataDir, isTemporary, fork: base }
}

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
  t.match(taskOf(gateway, store, limits.fetchMsMax), { fetchMsMax: 1_234 })

  const dev = resolveDevConfig(devSettings(folder, fork, false))
  const [forked] = dev.networks
  if (forked === undefined) throw new Error('no network')
  t.match(taskOf(forked, store, 5_678), { develop: { fork: { block: 7, fetchMsMax: 5_678 } } })
})

t.test('only commits to a folder that is removed do not wait for the disk', async (t) => {
  const folder = makeFolder(t)
  for (const base of [undefined, fork]) {
    for (const isTemporary of [true, false]) {
      const { networks } = resolveDevConfig(devSettings(folder, base, isTemporary))
      for (const network of networks) t.match(taskOf(network, store, 1), { isTemporary })
      t.equal(networks.length, 1)
    }
  }
})
