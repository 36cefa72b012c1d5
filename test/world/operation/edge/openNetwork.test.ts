// @shares
import t from 'tap'
import { resolveServeConfig } from '../../../../src/operation/config/config.js'
import { type OpenOptions, openNetwork } from '../../../../src/operation/edge/openNetwork.js'
import { startSource } from '../../../../src/operation/process/networkSource.js'
import { makeReplayedChain } from '../../../ingest/replayedChain.js'

t.test('each head of a replay reaches the network by a message of its own', async (t) => {
  const { configPath, heads } = await makeReplayedChain(t, {
    length: 20,
    from: 2,
    intervalMs: 20,
    reorganisations: [{ after: 10, back: 2, blocks: 3 }],
  })
  const { networks, limits } = resolveServeConfig({ config: configPath })
  const [config] = networks
  if (config === undefined) throw new Error('no network')
  const mapBytes = 2 ** 30
  const source = startSource(config, { mapBytes, limits })
  if (source === undefined) throw new Error('no source')
  await source.opened
  const filters = () => undefined
  const options = { mapBytes, answerCacheBytes: 2 ** 20, proofCacheBytes: 0, filters, feed: source }
  // A network also looks by itself now and then; without that, only messages move its head.
  const { setInterval } = globalThis
  globalThis.setInterval = (() => ({ unref() {} })) as never
  const network = openNetwork(config, options as unknown as OpenOptions)
  globalThis.setInterval = setInterval
  t.teardown(async () => {
    await source.close()
    await network.close()
  })
  let messages = 0
  source.listen(() => {
    messages++
  })
  await source.caughtUp
  t.equal(network.current.syncing, undefined)
  await source.ingested
  t.equal(network.current.head.number, 20)
  t.ok(messages >= heads.length, `${messages} messages for ${heads.length} heads`)
})
